package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

const (
	ourselves = "kube-system/sluice"
	others    = "batch/sluice"
)

// ownedBy puts the name of a sluice on a node, "" for none.
func ownedBy(name string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		if name != "" {
			n.Annotations[cluster.OwnerAnnotation] = name
		}
	}
}

// TestNodesOfAGroupThatIsManagedNoMoreAreGivenBack begins with an empty memory, as a new process does, beside a node that was on its way
// out.
func TestNodesOfAGroupThatIsManagedNoMoreAreGivenBack(t *testing.T) {
	leaving := cluster.Machine{Group: "b", ID: "7", UID: "vm-7"}
	ladder, soft := Removing(Start.Add(-time.Minute), leaving), func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, cluster.CandidateSince(Start))
	}
	mark := func(n *corev1.Node) { n.Annotations = map[string]string{cluster.MachineAnnotation: leaving.String()} }
	for name, c := range map[string]struct {
		change []func(*corev1.Node)
		after  time.Duration
		own    string // this sluice's name, if another one than usual; "-" for none
		joins  bool   // the group is managed in the second cycle
		want   []string
	}{
		"when it has been so for ten minutes":         {change: []func(*corev1.Node){ladder, ownedBy(ourselves)}, after: 10 * time.Minute, want: []string{"uncordon b-7: NodeHandedOver"}},
		"with what steers pods away":                  {change: []func(*corev1.Node){ladder, soft, ownedBy(ourselves)}, after: 10 * time.Minute, want: []string{"uncordon b-7: NodeHandedOver", "soft-untaint b-7: NodeHandedOver"}},
		"that alone":                                  {change: []func(*corev1.Node){soft, ownedBy(ourselves)}, after: 10 * time.Minute, want: []string{"soft-untaint b-7: NodeHandedOver"}},
		"the mark alone":                              {change: []func(*corev1.Node){mark, ownedBy(ourselves)}, after: 10 * time.Minute, want: []string{"uncordon b-7: NodeHandedOver"}},
		"not a moment earlier":                        {change: []func(*corev1.Node){ladder, soft, ownedBy(ourselves)}, after: 10*time.Minute - time.Second},
		"not what another sluice has put there":       {change: []func(*corev1.Node){ladder, soft, ownedBy(others)}, after: time.Hour},
		"not what nobody says he has put there":       {change: []func(*corev1.Node){ladder, soft}, after: time.Hour},
		"not by a sluice that has no name":            {change: []func(*corev1.Node){ladder, soft, ownedBy("")}, own: "-", after: time.Hour},
		"not while its machine stops":                 {change: []func(*corev1.Node){ladder, ownedBy(ourselves), NotReady(Start)}, after: time.Hour},
		"not when the group is there again meanwhile": {change: []func(*corev1.Node){ladder, ownedBy(ourselves)}, after: 10 * time.Minute, joins: true},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if allowed.Installation = ourselves; c.own != "" {
				allowed.Installation = ""
			}
			objects := []any{Node("a-0"), Node("a-1"), Node("a-2"), Node("b-7", c.change...)}
			a := joined(three(), objects)
			a.Min = 3
			_, m := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{a}), allowed, memory.Memory{})
			groups := []*cluster.Group{a}
			if c.joins {
				groups = append(groups, Group("b", 0, 5, Machine("7", "b-7")))
			}
			p, m := plan.Decide(cluster.New(Start.Add(c.after), Objects(objects...), groups), allowed, m)
			var got []string
			for _, act := range p.Actions {
				switch a := act.(type) {
				case action.Uncordon:
					got = append(got, "uncordon "+a.Node+": "+string(a.Because.Code))
				case action.CandidateUntaint:
					got = append(got, "soft-untaint "+a.Node+": "+string(a.Because.Code))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if c.joins && len(m.HandedOver) > 0 {
				t.Errorf("a node whose group is back is handed over still: %v", m.HandedOver)
			}
		})
	}
}

// TestARemovalThatAnotherSluiceBeganBearsTheNameOfTheOneThatGoesOn hands a group with a node on its way out to another sluice.
func TestARemovalThatAnotherSluiceBeganBearsTheNameOfTheOneThatGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		owner, own string
		want       []string
	}{
		"of another sluice":     {others, ourselves, []string{"mark a-2: NodeAdopted"}},
		"of an earlier version": {"", ourselves, []string{"mark a-2: NodeAdopted"}},
		"its own":               {ourselves, ourselves, []string{"delete a 2(a-2)"}},
		"while it has none":     {others, "", []string{"delete a 2(a-2)"}},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			allowed.Installation = c.own
			g := three()
			objects := []any{Node("a-0"), Node("a-1"), Node("a-2", Removing(Start.Add(-time.Hour), g.Instances[2].Machine()), ownedBy(c.owner))}
			p, _ := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{joined(g, objects)}), allowed, memory.Memory{})
			got := told(p)
			for _, act := range p.Actions {
				if a, is := act.(action.Mark); is {
					got = append(got, "mark "+a.Node+": "+string(a.Because.Code))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
