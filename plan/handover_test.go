package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// TestNodesOfAGroupThatIsManagedNoMoreAreGivenBack leaves a group out that was managed in the cycle before, with one of its nodes on the ladder.
func TestNodesOfAGroupThatIsManagedNoMoreAreGivenBack(t *testing.T) {
	leaving := cluster.Machine{Group: "b", ID: "7", UID: "vm-7"}
	for name, c := range map[string]struct {
		managed []cluster.GroupID // by this process
		since   time.Time         // of the taint
		change  func(*corev1.Node)
		after   time.Duration
		want    []string
	}{
		"when it has been so for ten minutes":     {managed: []cluster.GroupID{"a", "b"}, after: 10 * time.Minute, want: []string{"uncordon b-7: GroupHandedOver"}},
		"not a moment earlier":                    {managed: []cluster.GroupID{"a", "b"}, after: 10*time.Minute - time.Second},
		"not when this process never managed it":  {managed: []cluster.GroupID{"a"}, after: time.Hour},
		"not what somebody has put on since then": {managed: []cluster.GroupID{"a", "b"}, since: Start.Add(time.Minute), after: time.Hour},
		"not while its machine stops":             {managed: []cluster.GroupID{"a", "b"}, change: NotReady(Start), after: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			if c.since.IsZero() {
				c.since = Start.Add(-time.Minute)
			}
			node := Node("b-7", Removing(c.since, leaving))
			if c.change != nil {
				c.change(node)
			}
			objects := []any{Node("a-0"), Node("a-1"), Node("a-2"), node}
			a := joined(three(), objects)
			a.Min = 3
			_, m := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{a}), policy.Default(), plan.Memory{Managed: c.managed})
			p, m := plan.Decide(cluster.New(Start.Add(c.after), Objects(objects...), []*cluster.Group{a}), policy.Default(), m)
			got := []string{}
			for _, action := range told(p) {
				if action[:2] != "so" { // soft taints are another matter
					got = append(got, action)
				}
			}
			if c.want == nil {
				c.want = []string{}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			b := Group("b", 0, 5, Machine("7", "b-7"))
			if _, m = plan.Decide(cluster.New(Start.Add(c.after), Objects(objects...), []*cluster.Group{a, b}), policy.Default(), m); len(m.HandedOver) > 0 {
				t.Errorf("a group that is back is handed over still: %v", m.HandedOver)
			}
		})
	}
}
