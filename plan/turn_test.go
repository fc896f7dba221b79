package plan_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestADeletionThatRestsWaitsForNobody has a node be ready for its machine's deletion and another one be due. The deletion waits for the
// other one, so that both go by one request; not so when no request may be made: then the first one is on its way still, and the only one
// that may be.
func TestADeletionThatRestsWaitsForNobody(t *testing.T) {
	for name, c := range map[string]struct {
		rest time.Time
		want string
	}{
		"the group's deletions rest": {Start.Add(time.Minute), "idle RemovalBudget NodeIdle"},
		"they do not":                {time.Time{}, "cordoned NodeIdleFor"},
	} {
		leaves := Machine("0", "a-0")
		g := Group("a", 0, 5, leaves, Machine("1", "a-1"))
		allowed := policy.Default()
		allowed.Removal.Parallelism = 1
		m := memory.Memory{
			Since:    Start.Add(-time.Hour),
			Groups:   map[cluster.GroupID]memory.GroupMemory{"a": {Rest: memory.Backoff{Until: c.rest, Message: "the cloud is busy"}}},
			Removing: memory.Removing{Removable: map[string]time.Time{"a-1": Start.Add(-time.Hour)}},
		}
		objects := []any{Node("a-0", Removing(Start.Add(-10*time.Second), leaves.Machine())), Node("a-1")}
		p, _ := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{g}), allowed, sawCordons(m, objects))
		if got := verdictOf(p, ref("node a-1")); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
