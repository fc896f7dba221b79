package plan_test

import (
	"fmt"
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
	"sluice.dev/sluice/reason"
)

// created is when a pod was made.
func created(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-ago)) }
}

// TestADecisionHasABound has so many pods that keep away from each other that one cycle cannot look at all: the next ones go on where it
// stopped, with places that were found kept, and no idle node leaves before each pod was looked at.
func TestADecisionHasABound(t *testing.T) {
	const many = 2500
	var objects []any
	for i := range many {
		app := fmt.Sprintf("p%04d", i)
		objects = append(objects, Pod(app, CPU("99"), Labelled("app", app), created(time.Duration(many-i)*time.Second), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}}}}
		}))
	}
	objects = append(objects, Node("a-0"))
	m, planner := removable("a-0"), &plan.Planner{}
	waits := func() (p action.Plan, later int) {
		t.Helper()
		s := cluster.New(Start, Objects(objects...), []*cluster.Group{Group("a", 0, 1, Machine("0", "a-0"))})
		s.Fleet = Ledger(s, time.Hour)
		p, m = planner.Decide(s, policy.Default(), m)
		for _, v := range p.Verdicts {
			if v.Outcome == action.PodWaiting && v.Because[0].Code == reason.PodLater {
				later++
			}
		}
		return p, later
	}
	p, first := waits()
	if oldest := verdictOf(p, ref("pod p0000")); first < 500 || first > 1500 || oldest == "waiting PodLater" {
		t.Fatalf("%d of %d pods wait for a later cycle, and the oldest is %s", first, many, oldest)
	}
	if got := verdictOf(p, ref("node a-0")); got != "idle NodePodsUnseen NodeIdle" {
		t.Errorf("the idle node is %s while pods were never looked at", got)
	}
	p, second := waits()
	if youngest := verdictOf(p, ref(fmt.Sprintf("pod p%04d", many-1))); second != first || youngest == "waiting PodLater" {
		t.Errorf("%d pods wait for a later cycle then, and the youngest is %s", second, youngest)
	}
	if got := verdictOf(p, ref("node a-0")); got != "cordoned NodeIdleFor" {
		t.Errorf("the idle node is %s when each pod was looked at", got)
	}
	objects = objects[many-first:]
	if _, third := waits(); third != 0 || m.Looked != (memory.Looked{}) {
		t.Errorf("%d pods wait where a cycle can look at all: %+v", third, m.Looked)
	}
}
