package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestWhatIsRememberedYieldsToWhatHappens lets one thing happen between two cycles of a planner, none of it to the node that is asked
// about.
func TestWhatIsRememberedYieldsToWhatHappens(t *testing.T) {
	web, full := Pod("web", On("a-0")), Pod("full", On("a-1"), CPU("3500m"))
	apart := func(p *corev1.Pod) { spread(p); Labelled("app", "s")(p) }
	cases := map[string]struct {
		idle          bool // the other node may go as well
		objects       []any
		before, after string
		happens       func(all []any) []any
		group         func(*cluster.Group) // afterwards
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
		"nothing, and its pod keeps others like it out of the zone that it is in": {
			objects: []any{Pod("lone", On("a-0"), Labelled("app", "lone"), alone)}, before: "idle NodeUnderused", after: "idle NodeUnderused",
			happens: func(all []any) []any { return all },
		},
		"a pod begins to run that a waiting one wants near": {
			objects: []any{Node("a", zoned), web, Pod("near", near)}, before: "idle NodeUnderused", after: "idle NodeCounted NodeUnderused",
			happens: func(all []any) []any { return append(all, Pod("db", On("a"), CPU("4"), Labelled("app", "db"))) },
		},
		"its group begins to need the idle node": {
			idle: true, objects: []any{web}, before: "keep PodNowhereToGo", after: "idle GroupAtMin NodeUnderused",
			happens: func(all []any) []any { return all },
			group:   func(g *cluster.Group) { g.Min = 2 },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stays := func(n *corev1.Node) {
				n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": fmt.Sprint(!c.idle)}
			}
			objects := append([]any{Node("a-0", zoned), Node("a-1", zoned, stays), Node("other", taken)}, c.objects...)
			group, then := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1")), Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))
			if c.group != nil {
				c.group(then)
			}
			allowed := policy.Default()
			first := cluster.New(Start, Objects(objects...), []*cluster.Group{group})
			then.Learned = first.Group("a").Learned
			second := first.Next(Start.Add(10*time.Second), Objects(c.happens(slices.Clone(objects))...), []*cluster.Group{then})
			var planner plan.Planner
			p, m := planner.Decide(first, allowed, memory.Memory{})
			if got := verdictOf(p, ref("node a-0")); got != c.before {
				t.Errorf("before: %q, want %q", got, c.before)
			}
			p, _ = planner.Decide(known(second), allowed, m)
			if got := verdictOf(p, ref("node a-0")); got != c.after {
				t.Errorf("after: %q, want %q", got, c.after)
			}
		})
	}
}

// TestAnEmptyGroupIsReadAnew has no machine by whose list the planner could tell that the cloud says something else.
func TestAnEmptyGroupIsReadAnew(t *testing.T) {
	for name, unread := range map[string]func(*cluster.Group){
		"it could not be read":      func(g *cluster.Group) { g.Problem = "forbidden" },
		"its read was not whole":    func(g *cluster.Group) { g.Read.Complete = false },
		"its capacity was not told": func(g *cluster.Group) { g.Capacity = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			before := Group("b", 0, 5)
			unread(before)
			allowed := policy.Default()
			first := cluster.New(Start, cluster.Objects{}, []*cluster.Group{before})
			second := first.Next(Start.Add(10*time.Second), cluster.Objects{}, []*cluster.Group{Group("b", 0, 5)})
			var planner plan.Planner
			p, m := planner.Decide(first, allowed, memory.Memory{})
			if v, _ := p.Verdict(ref("group b")); v.Outcome != action.GroupHold {
				t.Errorf("before: %q, want %q", v.Outcome, action.GroupHold)
			}
			p, _ = planner.Decide(known(second), allowed, m)
			if got, want := verdictOf(p, ref("group b")), "steady GroupSteady"; got != want {
				t.Errorf("after: %q, want %q", got, want)
			}
		})
	}
}

func zoned(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "1" }

// alone keeps pods of its name out of the zone.
func alone(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lone"}}, TopologyKey: corev1.LabelTopologyZone,
	}}}}
}

// near wants to be in the zone of a pod of that name.
func near(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, TopologyKey: corev1.LabelTopologyZone,
	}}}}
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

// TestHostsHaveOneOrder has three nodes that stay, of a dear group, of none and of a cheap one: whatever the order is in which a planner
// comes to know them, pods that move look at them in the same.
func TestHostsHaveOneOrder(t *testing.T) {
	dear, cheap := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1")), Group("c", 0, 5, Machine("2", "c-0"))
	dear.PriceUSDPerHour, cheap.PriceUSDPerHour = 2, 1
	stays := func(n *corev1.Node) {
		n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
	}
	nodes := []*corev1.Node{Node("a-0", stays), Node("b"), Node("c-0", stays)}
	already := []any{Pod("x", On("a-0"), CPU("3500m")), Pod("y", On("b"), CPU("3500m")), Pod("z", On("c-0"), CPU("3500m")), Node("a-1"), Pod("web", On("a-1"), CPU("1"))}
	said := map[string][]string{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		objects, allowed := slices.Clone(already), policy.Default()
		s := cluster.New(Start, Objects(objects...), []*cluster.Group{dear, cheap})
		var planner plan.Planner
		p, m := planner.Decide(s, allowed, memory.Memory{})
		for i, at := range order {
			objects = append(objects, nodes[at])
			s = s.Next(Start.Add(time.Duration(i+1)*time.Second), Objects(objects...), []*cluster.Group{dear, cheap})
			p, m = planner.Decide(s, allowed, m)
		}
		v, _ := p.Verdict(ref("node a-1"))
		why := fmt.Sprint(v.Because)
		said[why] = append(said[why], fmt.Sprint(order))
	}
	if len(said) != 1 {
		t.Errorf("what is said of the pod that fits nowhere depends on the order: %v", said)
	}
}
