package cluster_test

import (
	"encoding/json"
	"testing"
	"time"

	. "sluice.dev/sluice/cluster/clustertest"

	"sluice.dev/sluice/cluster"
)

func TestAPodIsHeardOfOnce(t *testing.T) {
	first := Start.Add(1234567 * time.Microsecond)
	p := Pod("a")
	if got := p.Observed(); !got.Equal(p.Created()) {
		t.Errorf("a pod that nobody noted was heard of at %s, want when it was made, %s", got, p.Created())
	}
	p.Hear(nil, first)
	again := Pod("a")
	again.Hear(p, first.Add(time.Minute))
	if got := again.Observed(); !got.Equal(first) {
		t.Errorf("its next record was heard of at %s, want %s", got, first)
	}
	if !again.Equal(Pod("a")) {
		t.Error("a pod is another one because of when it was heard of")
	}
	other := Pod("b")
	other.Hear(p, first.Add(time.Minute))
	if got, want := other.Observed(), first.Add(time.Minute); !got.Equal(want) {
		t.Errorf("another pod of that name was heard of at %s, want %s", got, want)
	}

	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var read cluster.Pod
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if got := new(cluster.Classes).Again(&read); !got.Observed().Equal(first) || !got.Equal(p) {
		t.Errorf("on paper it is heard of at %s, want %s", got.Observed(), first)
	}
}
