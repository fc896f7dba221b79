package actuate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// slow performs plans where each look at what is known takes three seconds. Nothing is sent: what the plans name is not there.
func slow(c *silent) *Actuator {
	now := Start
	return &Actuator{
		Cloud: c, Ledger: c.book, Policy: policy.Default(), Now: func() time.Time { return now }, Started: Start.Add(-time.Hour),
		Objects: func() (cluster.Objects, error) {
			now = now.Add(3 * time.Second)
			return cluster.Objects{}, nil
		},
	}
}

// TestWhatIsTriedInVainKeepsNothingElseFromBeingTried has a plan of five actions of which a cycle has time for two, and none of which comes to an end.
func TestWhatIsTriedInVainKeepsNothingElseFromBeingTried(t *testing.T) {
	a, tried := slow(newSilent(func() time.Time { return Start })), map[string]int{}
	p := action.Plan{Time: Start}
	for i := range 5 {
		p.Actions = append(p.Actions, action.Cordon{Node: fmt.Sprint(i)})
	}
	var order []string
	for range 5 {
		for i, r := range a.Perform(t.Context(), cluster.New(Start, cluster.Objects{}, nil), p) {
			if r.Status != memory.Deferred {
				tried[p.Actions[i].(action.Cordon).Node]++
			}
		}
		order = append(order, fmt.Sprint(tried))
	}
	want := []string{"map[0:1 1:1]", "map[0:1 1:1 2:1 3:1]", "map[0:2 1:1 2:1 3:1 4:1]", "map[0:2 1:2 2:2 3:1 4:1]", "map[0:3 1:2 2:2 3:2 4:1]"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("tried after each cycle (-want +got):\n%s", diff)
	}
}

// TestGrowthsAreNeverLeft has growths after actions that took all the time, and one in the next cycle beside what was left.
func TestGrowthsAreNeverLeft(t *testing.T) {
	c := newSilent(func() time.Time { return Start })
	a := slow(c)
	s := cluster.New(Start, cluster.Objects{}, []*cluster.Group{Group("a", 0, 5), Group("b", 0, 5), Group("c", 0, 5)})
	actions := []action.Action{action.Cordon{Node: "0"}, action.Cordon{Node: "1"}, action.DeleteInstances{Group: "a"}, action.SetCapacity{Group: "b", To: 1}}
	statuses := func() (all []memory.Status) {
		for _, r := range a.Perform(t.Context(), s, action.Plan{Time: Start, Actions: actions}) {
			all = append(all, r.Status)
		}
		return all
	}
	if diff := cmp.Diff([]memory.Status{memory.Refused, memory.Refused, memory.Deferred, memory.Asked}, statuses()); diff != "" {
		t.Errorf("what became of the actions (-want +got):\n%s", diff)
	}
	actions[3] = action.SetCapacity{Group: "c", To: 1}
	if diff := cmp.Diff([]memory.Status{memory.Refused, memory.Deferred, memory.Refused, memory.Asked}, statuses()); diff != "" {
		t.Errorf("what became of those of the next cycle (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.GroupID{"b", "c"}, c.taken); diff != "" {
		t.Errorf("groups that were asked (-want +got):\n%s", diff)
	}
}
