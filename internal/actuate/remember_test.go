package actuate

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/plan/action"
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

// TestEachStepOfADrainIsCharged holds what the budget of removals is charged for (S-19): the cordon, and each eviction after it.
func TestEachStepOfADrainIsCharged(t *testing.T) {
	now := Start
	book := ledger.New(fleet.Usual(), func() time.Time { return now })
	a := &Actuator{Policy: policy.Default(), Ledger: book}
	seen := cluster.New(Start, Objects(Node("a-0"), Pod("x", On("a-0"))), []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))})
	book.Observe(fleet.Listed{Group: "a", Asked: book.Instant(), Counted: true, Capacity: 1, Whole: true, Machines: []fleet.Sighted{{UID: "vm-0", State: fleet.Running}}})
	book.See(seen, a.Policy)
	target := []fleet.Target{{UID: "vm-0", Clear: true}}
	charged := func(at time.Time) bool { now = at; return len(book.View().Charged("a", target)) == 0 }
	if charged(Start) {
		t.Fatal("the budget is charged before anything is done")
	}
	a.emptying(guard.Cordon{Node: "a-0", UID: seen.Node("a-0").Object.UID, Why: "underused"}, a.known(seen, seen, action.Plan{}))
	if !charged(Start.Add(9 * time.Minute)) {
		t.Error("the budget is not charged for a cordon")
	}
	a.emptying(guard.Evict{Namespace: "default", Pod: "x", UID: "uid-x", Node: "a-0"}, a.known(seen, seen, action.Plan{}))
	if !charged(Start.Add(18*time.Minute)) || charged(Start.Add(20*time.Minute)) {
		t.Error("the budget is not charged for an eviction for as long as its window is")
	}
}
