package guard_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
)

func toleratesAll(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func early(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-time.Hour)) } // before its node was cordoned
func late(p *corev1.Pod)  { p.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute)) }

func unready(p *corev1.Pod) {
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// returning has the machine of a node deleted with a pod that tolerates all taints, and whose budget allows one disruption.
func returning() *world {
	w := deleting()
	w.objects.Pods = append(w.objects.Pods, Pod("monitor", On("agents-1"), OwnedBy("ReplicaSet", "monitor"), Labelled("app", "monitor"), toleratesAll, early))
	w.objects.Budgets = append(w.objects.Budgets, Budget("monitor", "app", "monitor", 1))
	return w
}

// TestAPodThatWouldReturnGoesWithItsMachine holds what may go with a machine without an eviction (S-15): only what would come back, what
// nobody keeps, and what its disruption budget lets go, all of them that are away counted.
func TestAPodThatWouldReturnGoesWithItsMachine(t *testing.T) {
	pod := func(w *world, how ...func(*corev1.Pod)) {
		last := len(w.objects.Pods) - 1
		for _, h := range how {
			w.objects.Pods[last] = Changed(w.objects.Pods[last], h)
		}
	}
	for name, c := range map[string]struct {
		change  func(*world)
		refused bool
	}{
		"one that its budget lets go": {func(*world) {}, false},
		"one without a budget":        {func(w *world) { w.objects.Budgets = nil }, false},
		"one that its budget holds":   {func(w *world) { w.objects.Budgets[0].Status.DisruptionsAllowed = 0 }, true},
		"one that is not Ready, which its budget holds": {func(w *world) {
			w.objects.Budgets[0].Status.DisruptionsAllowed = 0
			pod(w, unready)
		}, true},
		"one that is not Ready, which its budget always lets go": {func(w *world) {
			w.objects.Budgets[0].Status.DisruptionsAllowed = 0
			w.objects.Budgets[0].Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
			pod(w, unready)
		}, false},
		"one that tolerates no taint": {func(w *world) { pod(w, func(p *corev1.Pod) { p.Spec.Tolerations = nil }) }, true},
		"one that tolerates the cordon": {func(w *world) {
			pod(w, func(p *corev1.Pod) { p.Spec.Tolerations[0].Key = corev1.TaintNodeUnschedulable })
		}, true},
		"one that is not to be evicted": {func(w *world) { pod(w, Annotated("karpenter.sh/do-not-disrupt", "true")) }, true},
		"one that nobody makes again":   {func(w *world) { pod(w, func(p *corev1.Pod) { p.OwnerReferences = nil }) }, true},
		"one of a Job":                  {func(w *world) { pod(w, OwnedBy("Job", "j")) }, true},
		"one whose controller is away": {func(w *world) {
			pod(w, func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "apps/v1" })
			w.objects.Controllers = cluster.Controllers{Known: true}
		}, true},
		"one that has come since the cordon": {func(w *world) { pod(w, late) }, true},
		"one that had no node until then": {func(w *world) {
			pod(w, func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(Start)) })
		}, true},
		"one that has come since, where a person asked for it": {func(w *world) {
			pod(w, late)
			For(cluster.AskedFor)(w.objects.Nodes[1])
			w.objects.Nodes[1].Annotations[cluster.DrainAnnotation] = "2026-01-01T00:00:00Z"
		}, false},
		"one beside another of its kind": {func(w *world) {
			w.objects.Pods = append(w.objects.Pods, Pod("monitor-1", On("agents-1"), OwnedBy("ReplicaSet", "monitor"), Labelled("app", "monitor"), toleratesAll))
		}, true},
		"one while another is lost with its node": {func(w *world) {
			w.objects.Pods = append(w.objects.Pods, Pod("monitor-1", On("agents-9"), OwnedBy("ReplicaSet", "monitor"), Labelled("app", "monitor"), toleratesAll))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := returning()
			c.change(w)
			var r *guard.Refusal
			if err := w.check(); errors.As(err, &r) != c.refused || r != nil && r.Property != "S-15" {
				t.Errorf("refused: %v, want S-15: %t", err, c.refused)
			}
		})
	}
}
