package actuate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestWhatBecameOfAnActionIsTold(t *testing.T) {
	below := reason.New(reason.ScaleUpBelowMachines, reason.Group("a"), "to", 1, "machines", 2).By("S-01")
	a := &Actuator{Now: func() time.Time { return Start }}
	cases := map[string]struct {
		err  error
		want memory.Result
	}{
		"it was taken":              {nil, memory.Result{Status: memory.Accepted}},
		"the guard refused it":      {fmt.Errorf("grow: %w", &guard.Refusal{Property: "S-01", Reason: below}), memory.Result{Status: memory.Refused, Property: "S-01", Code: "ScaleUpBelowMachines", Reason: &below, Message: below.Sentence()}},
		"the cloud refused it":      {&cloud.Error{Kind: cloud.Throttled, Code: "TooManyRequests", Message: "later", RetryAfter: time.Minute}, memory.Result{Status: memory.Failed, Kind: "throttled", Code: "TooManyRequests", Message: "later", RetryAfter: time.Minute}},
		"a budget says wait":        {&kube.WriteError{Verb: "evict", Object: "pod d/x", Kind: kube.ErrBudget}, memory.Result{Status: memory.Skipped, Message: "evict pod d/x: a disruption budget forbids it now"}},
		"a right is missing":        {&kube.WriteError{Verb: "cordon", Object: "node n", Kind: kube.ErrForbidden}, memory.Result{Status: memory.Failed, Kind: "kubernetes", Code: Forbidden, Message: "cordon node n: sluice's service account lacks the right"}},
		"there is no answer yet":    {&cloud.Error{Kind: cloud.Unanswered, Code: "NoAnswerYet", Message: "wait"}, memory.Result{Status: memory.Asked, Code: "NoAnswerYet", Message: "wait"}},
		"the answer took too long":  {context.DeadlineExceeded, memory.Result{Status: memory.Failed, Kind: "transient", Message: "the API server did not answer in time"}},
		"something else went wrong": {errors.New("odd"), memory.Result{Status: memory.Failed, Kind: "kubernetes", Message: "odd"}},
	}
	for name, c := range cases {
		c.want.At = Start
		if diff := cmp.Diff(c.want, a.result(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestADryRunTouchesNoClient has no client to touch: any request would be a nil dereference.
func TestADryRunTouchesNoClient(t *testing.T) {
	groups := []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))}
	marked := cluster.Machine{Group: "a", ID: "1", UID: "vm-1"}
	s := cluster.New(Start, Objects(Node("a-0"), Pod("w", On("a-0"), CPU("3")), Pod("big", CPU("4")), Node("a-1", Removing(Start.Add(-time.Minute), marked)), Pod("x", On("a-1"), CPU("2"))), groups)
	p, _ := plan.Decide(s, policy.Default(), memory.Memory{})
	if len(p.Actions) == 0 {
		t.Fatal("the plan has no action: the test shows nothing")
	}
	a := &Actuator{DryRun: true, Now: func() time.Time { return Start }, Policy: policy.Default()}
	for i, r := range a.Perform(t.Context(), s, p) {
		if r.Status != memory.Skipped || r.Message != "dry run" {
			t.Errorf("%s came back as %+v", action.KindOf(p.Actions[i]), r)
		}
	}
}

// silent is a cloud that has empty groups, takes growths, and answers none.
type silent struct {
	cloud.Provider
	book  *ledger.Book
	taken []cluster.GroupID
}

func newSilent(now func() time.Time) *silent { return &silent{book: ledger.New(fleet.Usual(), now)} }

func (c *silent) Group(_ context.Context, id cluster.GroupID) (*cluster.Group, error) {
	at := c.book.Instant()
	c.book.Observe(fleet.Nodes{Group: fleet.GroupID(id), At: at}, fleet.Listed{Group: fleet.GroupID(id), Asked: at, Counted: true, Whole: true})
	return Group(string(id), 0, 5), nil
}

func (c *silent) SetCapacity(_ context.Context, g *cluster.Group, _ int) error {
	c.taken = append(c.taken, g.ID)
	return &cloud.Error{Kind: cloud.Unanswered, Code: "NoAnswerYet", Message: "wait"}
}

// TestWhatTheCloudWasAskedForCountsForTheNextGroup has a plan ask for one machine more than the cluster may have: what the first group was asked for is
// not heard of until the second one's turn (S-06).
func TestWhatTheCloudWasAskedForCountsForTheNextGroup(t *testing.T) {
	for most, want := range map[int][]cluster.GroupID{3: {"a", "b"}, 2: {"a"}} {
		provider, allowed := newSilent(func() time.Time { return Start }), policy.Default()
		allowed.Growth.Max.Nodes = most
		a := &Actuator{
			Cloud: provider, Ledger: provider.book, Policy: allowed, Now: func() time.Time { return Start }, Started: Start.Add(-time.Hour),
			Objects: func() (cluster.Objects, error) { return cluster.Objects{}, nil },
		}
		p := action.Plan{Time: Start, Actions: []action.Action{action.SetCapacity{Group: "a", To: 2}, action.SetCapacity{Group: "b", To: 1}}}
		results := a.Perform(t.Context(), cluster.New(Start, cluster.Objects{}, []*cluster.Group{Group("a", 0, 5), Group("b", 0, 5)}), p)
		if diff := cmp.Diff(want, provider.taken); diff != "" {
			t.Errorf("with %d nodes at most, groups that were asked (-want +got):\n%s\n%+v", most, diff, results)
		}
	}
}
