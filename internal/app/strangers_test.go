package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

func TestAFlagForAGroupThatIsNotThereIsWarnedOfOnce(t *testing.T) {
	p, _, err := read("--headroom=agents2=machines:1", "--headroom=agents=machines:1")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := &Autoscaler{parts: Parts{Policy: p, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	with := func(names ...cluster.GroupID) *cluster.Snapshot {
		var groups []*cluster.Group
		for _, name := range names {
			groups = append(groups, Group(string(name), 0, 1))
		}
		return cluster.New(Start, cluster.Objects{}, groups)
	}
	for _, step := range []struct {
		groups []cluster.GroupID
		want   int // warnings so far
	}{{[]cluster.GroupID{"agents"}, 1}, {[]cluster.GroupID{"agents"}, 1}, {[]cluster.GroupID{"agents", "agents2"}, 1}, {[]cluster.GroupID{"agents"}, 2}} {
		a.warnOfStrangers(with(step.groups...))
		if got := strings.Count(log.String(), "--headroom names agents2"); got != step.want || strings.Contains(log.String(), "names agents\"") {
			t.Errorf("with %v: %d warnings so far, want %d:\n%s", step.groups, got, step.want, log.String())
		}
	}
}
