package actuate

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// TestAWriteToAGroupMakesOlderReadsOfItNoEvidence holds what the guard compares reads with (S-01).
func TestAWriteToAGroupMakesOlderReadsOfItNoEvidence(t *testing.T) {
	now := Start
	a := &Actuator{Now: func() time.Time { return now }}
	a.sent("agents")
	now = now.Add(time.Minute)
	a.sent("spot")
	if got := a.lastWrite["agents"]; !got.Equal(Start) {
		t.Errorf("the last write to agents was at %s, want %s", got, Start)
	}
	if got := a.lastWrite["spot"]; !got.Equal(now) {
		t.Errorf("the last write to spot was at %s, want %s", got, now)
	}
}

// TestANodeThatWasWrittenToIsUnseenUntilTheAPIServerShowsIt holds what is known of nodes to be at least as new as what was done to them (S-20).
func TestANodeThatWasWrittenToIsUnseenUntilTheAPIServerShowsIt(t *testing.T) {
	seen := uint64(6)
	a := &Actuator{Seen: func(string) uint64 { return seen }}
	a.nodes().Wrote("agents-0", "7")
	if !a.unseen()["agents-0"] {
		t.Error("a node is taken for seen that was written to since")
	}
	seen = 7
	if a.unseen()["agents-0"] {
		t.Error("a node is taken for unseen that the API server has shown as it was written")
	}
}

// TestWhatWasEmptiedCountsForAsLongAsTheBudgetGoesBack holds what the budget of disruptions is spent on (S-19).
func TestWhatWasEmptiedCountsForAsLongAsTheBudgetGoesBack(t *testing.T) {
	allowed := policy.Default()
	a := &Actuator{Policy: allowed}
	empty := func(node string, at time.Time) {
		objects := Objects(Node("a-0"), Node("a-1"), Pod("x", On("a-0")), Pod("y", On("a-1")))
		seen := cluster.New(at, objects, []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))})
		a.emptying(guard.Cordon{Node: node, UID: seen.Node(node).Object.UID, Why: "underused"}, a.known(seen, seen, plan.Plan{}))
	}
	empty("a-0", Start)
	empty("a-0", Start.Add(time.Minute))
	if e := a.known(nil, nil, plan.Plan{}).Emptied; len(e) != 1 || !e[0].At.Equal(Start.Add(time.Minute)) {
		t.Fatalf("emptied are %v, want a-0 once, when it was last", e)
	}
	empty("a-1", Start.Add(2*time.Minute))
	if e := a.known(nil, nil, plan.Plan{}).Emptied; len(e) != 2 {
		t.Errorf("emptied are %v, want both", e)
	}
	empty("a-1", Start.Add(time.Minute+allowed.Removal.Window))
	if e := a.known(nil, nil, plan.Plan{}).Emptied; len(e) != 1 {
		t.Errorf("emptied are %v once the window has gone past a-0, want a-1 alone", e)
	}
}
