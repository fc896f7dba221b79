package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// TestWhatIsRememberedYieldsToWhatHappens lets one thing happen between two cycles of a planner, none of it to the node that is asked about.
func TestWhatIsRememberedYieldsToWhatHappens(t *testing.T) {
	web, full := Pod("web", On("a-0")), Pod("full", On("a-1"), CPU("3500m"))
	apart := func(p *corev1.Pod) { spread(p); Labelled("app", "s")(p) }
	cases := map[string]struct {
		objects       []any
		before, after string
		happens       func(all []any) []any
	}{
		"nothing": {
			objects: []any{web, full}, before: "keep PodNowhereToGo", after: "keep PodNowhereToGo",
			happens: func(all []any) []any { return all },
		},
		"a pod ends elsewhere and makes room": {
			objects: []any{web, full}, before: "keep PodNowhereToGo", after: "idle NodeUnderused",
			happens: func(all []any) []any { return without(all, full) },
		},
		"a pod lands elsewhere and takes the room": {
			objects: []any{web}, before: "idle NodeUnderused", after: "keep PodNowhereToGo",
			happens: func(all []any) []any { return append(all, full) },
		},
		"a pod lands elsewhere that pods spread away from": {
			objects: []any{Pod("s", On("a-0"), apart), Pod("r", On("other"), CPU("3500m"), apart)}, before: "idle NodeUnderused", after: "keep PodNowhereToGo",
			happens: func(all []any) []any { return append(all, Pod("s-1", On("a-1"), apart), Pod("s-2", On("a-1"), apart)) },
		},
		"a pod begins to wait for the node that another one did not fit": {
			objects: []any{web, full, Pod("huge", CPU("64"))}, before: "keep PodNowhereToGo", after: "idle NodeCounted NodeUnderused",
			happens: func(all []any) []any {
				return append(without(all, full), Pod("huge-1", CPU("3"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a-0"} }))
			},
		},
		"a disruption budget is used up": {
			objects: []any{Pod("web", On("a-0"), Labelled("app", "web")), Budget("b", "app", "web", 1)}, before: "idle NodeUnderused", after: "keep PodBudget",
			happens: func(all []any) []any { return append(all[:len(all)-1:len(all)-1], Budget("b", "app", "web", 0)) },
		},
		"a disruption budget begins to select its pods": {
			objects: []any{Pod("web", On("a-0"), Labelled("app", "web")), Budget("b", "app", "other", 0)}, before: "idle NodeUnderused", after: "keep PodBudget",
			happens: func(all []any) []any { return append(all[:len(all)-1:len(all)-1], Budget("b", "app", "web", 0)) },
		},
		"the node to which its pods would go is cordoned": {
			objects: []any{web}, before: "idle NodeUnderused", after: "keep PodNowhereToGo",
			happens: func(all []any) []any {
				all[1] = Node("a-1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
				return all
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fixed := []any{Node("a-0"), Node("a-1", func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
			}), Node("other", taken)}
			group := func() *cluster.Group { return Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1")) }
			objects := append(fixed, c.objects...)
			first := cluster.New(Start, Objects(objects...), []*cluster.Group{group()})
			second := first.Next(Start.Add(10*time.Second), Objects(c.happens(append([]any{}, objects...))...), []*cluster.Group{group()})
			var planner plan.Planner
			p, m := planner.Decide(first, policy.Default(), plan.Memory{})
			if got := verdictOf(p, ref("node a-0")); got != c.before {
				t.Errorf("before: %q, want %q", got, c.before)
			}
			p, _ = planner.Decide(second, policy.Default(), m)
			if got := verdictOf(p, ref("node a-0")); got != c.after {
				t.Errorf("after: %q, want %q", got, c.after)
			}
		})
	}
}

// taken keeps all pods away.
func taken(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "taken", Effect: corev1.TaintEffectNoSchedule}}
}

func without(all []any, gone any) []any {
	var out []any
	for _, o := range all {
		if o != gone {
			out = append(out, o)
		}
	}
	return out
}
