package journal

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

func TestTheRankingOfGroupsIsRecorded(t *testing.T) {
	ranking := &corev1.ConfigMap{Data: map[string]string{"priorities": "10: [a]"}}
	ranking.Name = cluster.RankingName
	var b bytes.Buffer
	e := NewEncoder(&b)
	for _, objects := range []cluster.Objects{{ConfigMaps: []*corev1.ConfigMap{ranking}}, {}} {
		if err := e.Encode(Entry{Cycle: 1, Seen: cluster.New(Start, objects, nil), Policy: policy.Default()}); err != nil {
			t.Fatal(err)
		}
	}
	d := NewDecoder(&b)
	for _, want := range []string{"10: [a]", ""} {
		entry, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r := entry.Seen.Objects.Ranking(); r != nil {
			got = r.Data["priorities"]
		}
		if got != want {
			t.Errorf("the ranking reads %q, want %q", got, want)
		}
	}
}
