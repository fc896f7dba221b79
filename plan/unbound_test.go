package plan_test

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestAPodThatIsNotBoundHoldsNoNode has a pod wait that fits the one node that is there, minute after minute.
func TestAPodThatIsNotBoundHoldsNoNode(t *testing.T) {
	absent := func(p *corev1.Pod) { p.Spec.SchedulerName, p.Status.Conditions = "absent", nil }
	refused := func(at time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(Start.Add(at))}}
		}
	}
	nominated := func(p *corev1.Pod) { p.Status.NominatedNodeName = "a-0" }
	gated := func(p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: cluster.CapacityGate}}
	}
	for name, c := range map[string]struct {
		pod   []func(*corev1.Pod)
		again time.Duration // when its scheduler turns it down anew; 0 for never
		want  map[int]string
	}{
		"its scheduler is not there": {[]func(*corev1.Pod){absent}, 0, map[int]string{
			0: "scheduling FitsNode", 10: "scheduling FitsNode", 11: "ignored PodNotBound", 20: "ignored PodNotBound",
			21: "scheduling FitsNode", 30: "scheduling FitsNode", 31: "ignored PodNotBound", 50: "ignored PodNotBound", 51: "scheduling FitsNode"}},
		"its scheduler has turned it down": {[]func(*corev1.Pod){refused(0)}, 0, map[int]string{10: "scheduling FitsNode", 11: "stuck PodNotBound", 21: "scheduling FitsNode"}},
		"and turns it down anew":           {[]func(*corev1.Pod){absent}, 15 * time.Minute, map[int]string{11: "ignored PodNotBound", 14: "ignored PodNotBound", 16: "scheduling FitsNode"}},
		"its scheduler has made room":      {[]func(*corev1.Pod){nominated}, 0, map[int]string{10: "scheduling PodNominated", 11: "stuck PodNotBound"}},
		"it waits behind sluice's gate":    {[]func(*corev1.Pod){gated}, 0, map[int]string{11: "scheduling GateOpens", 30: "scheduling GateOpens"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := memory.Memory{Removing: memory.Removing{Removable: map[string]time.Time{"a-0": Start}}}
			var planner plan.Planner
			for minute := range 52 {
				at := time.Duration(minute) * time.Minute
				pod := Pod("p", append([]func(*corev1.Pod){func(p *corev1.Pod) { p.CreationTimestamp.Time = Start }}, c.pod...)...)
				if c.again > 0 && at >= c.again {
					pod = Changed(pod, refused(c.again))
				}
				s := cluster.New(Start.Add(at), Objects(Node("a-0"), pod), []*cluster.Group{Group("a", 0, 1, Machine("0", "a-0"))})
				p, next := planner.Decide(s, policy.Default(), m)
				got := verdictOf(p, reason.Pod("default", "p"))
				if want, asked := c.want[minute]; asked && got != want {
					t.Errorf("minute %d: %q, want %q", minute, got, want)
				}
				if _, holds := p.Counted["a-0"]; holds == strings.Contains(got, "PodNotBound") {
					t.Errorf("minute %d: %q, and the node is held: %t", minute, got, holds)
				}
				m = next
			}
		})
	}
}

// TestAPodThatFitsNoNodeAnyMoreHasItsTimeAnew has the node of a pod filled for a while.
func TestAPodThatFitsNoNodeAnyMoreHasItsTimeAnew(t *testing.T) {
	var m memory.Memory
	for minute := range 17 {
		objects := []any{Node("a-0"), Pod("p", CPU("3"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start })}
		if minute == 5 {
			objects = append(objects, Pod("full", CPU("3"), On("a-0")))
		}
		s := cluster.New(Start.Add(time.Duration(minute)*time.Minute), Objects(objects...), []*cluster.Group{Group("a", 0, 1, Machine("0", "a-0"))})
		var p action.Plan
		p, m = plan.Decide(s, policy.Default(), m)
		want := "scheduling FitsNode"
		switch minute {
		case 5:
			want = "stuck NoGroupGrows GroupAtMax"
		case 16:
			want = "stuck PodNotBound"
		}
		if got := verdictOf(p, reason.Pod("default", "p")); got != want {
			t.Errorf("minute %d: %q, want %q", minute, got, want)
		}
	}
}

// TestAGroupOnWhoseNodesAPodWasNotBoundComesLast has a pod fit groups a, which is cheaper, and b.
func TestAGroupOnWhoseNodesAPodWasNotBoundComesLast(t *testing.T) {
	for name, c := range map[string]struct {
		refused []cluster.GroupID
		groups  []string
		want    string
	}{
		"none has refused it":        {nil, []string{"a", "b"}, "a"},
		"the cheaper one has":        {[]cluster.GroupID{"a"}, []string{"a", "b"}, "b"},
		"both have":                  {[]cluster.GroupID{"a", "b"}, []string{"a", "b"}, "a"},
		"the only one has":           {[]cluster.GroupID{"a"}, []string{"a"}, "a"},
		"one that is not there, too": {[]cluster.GroupID{"a", "c"}, []string{"a", "b"}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			var groups []*cluster.Group
			for i, id := range c.groups {
				g := Group(id, 0, 5)
				g.Template, g.PriceUSDPerHour = Node("template"), 0.1*float64(i+1)
				groups = append(groups, g)
			}
			pod := Pod("p", CPU("3"))
			m := memory.Memory{Placing: memory.Placing{Unbound: map[string]memory.Unbound{string(pod.UID): {Rest: 10 * time.Minute, Refused: c.refused}}}}
			p, m := plan.Decide(cluster.New(Start, Objects(pod), groups), policy.Default(), m)
			v, _ := p.Verdict(reason.Pod("default", "p"))
			if got := v.Because[0].Facts["group"]; v.Outcome != action.PodGrows || got != c.want {
				t.Errorf("%s of group %q, want %q", v.Outcome, got, c.want)
			}
			if diff := gocmp.Diff(c.refused, m.Unbound[string(pod.UID)].Refused); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheGroupsOnWhoseNodesAPodWasNotBoundAreRemembered leaves a pod that has fitted nodes of group a.
func TestTheGroupsOnWhoseNodesAPodWasNotBoundAreRemembered(t *testing.T) {
	var m memory.Memory
	for minute := range 12 {
		s := cluster.New(Start.Add(time.Duration(minute)*time.Minute), Objects(Node("a-0"), Pod("p", CPU("3"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start })),
			[]*cluster.Group{Group("a", 0, 1, Machine("0", "a-0"))})
		_, m = plan.Decide(s, policy.Default(), m)
	}
	for _, u := range m.Unbound {
		if diff := gocmp.Diff([]cluster.GroupID{"a"}, u.Refused); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if len(m.Unbound) != 1 {
		t.Errorf("remembered is %v, want one pod", m.Unbound)
	}
}
