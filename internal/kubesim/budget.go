package kubesim

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// markBudgets has the budgets over a pod computed again.
func (c *Cluster) markBudgets(pod *corev1.Pod) {
	for _, e := range c.budgetsOver(pod) {
		c.mark("poddisruptionbudgets", e.key)
	}
}

// markBudgetsOver does the same for the pods of an owner that changed.
func (c *Cluster) markBudgetsOver(owner types.UID) {
	if len(c.store.tables["poddisruptionbudgets"].sorted) == 0 {
		return
	}
	for _, e := range c.store.owners.owned(owner, "pods") {
		c.markBudgets(e.obj.(*corev1.Pod))
	}
}

// reconcileBudget computes the status of a disruption budget.
func (c *Cluster) reconcileBudget(e *entry) {
	b := e.obj.(*policyv1.PodDisruptionBudget)
	sel := e.budgetSelector()
	var selected []*corev1.Pod
	healthy := 0
	disrupted := map[string]metav1.Time{}
	for _, p := range c.store.tables["pods"].inNamespace(b.Namespace) {
		pod := p.obj.(*corev1.Pod)
		if !sel.Matches(labels.Set(pod.Labels)) {
			continue
		}
		selected = append(selected, pod)
		if pod.DeletionTimestamp != nil {
			continue
		}
		if at, ok := b.Status.DisruptedPods[pod.Name]; ok {
			disrupted[pod.Name] = at // evicted, its deletion still to come
			continue
		}
		if ready(pod) {
			healthy++
		}
	}
	expected, desired, ok := c.expectation(b, selected)
	allowed := max(healthy-desired, 0)
	if expected <= 0 || !ok {
		allowed = 0
	}
	now := c.store.stamp()
	revised(c.store, e, func(b *policyv1.PodDisruptionBudget) {
		s := &b.Status
		cond := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: b.Generation, LastTransitionTime: now}
		switch {
		case !ok:
			cond.Reason = policyv1.SyncFailedReason
			s.DisruptionsAllowed = 0
		case allowed > 0:
			cond.Status, cond.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
		}
		meta.SetStatusCondition(&s.Conditions, cond)
		if !ok {
			return
		}
		s.ObservedGeneration = b.Generation
		s.ExpectedPods = int32(expected)
		s.DesiredHealthy = int32(desired)
		s.CurrentHealthy = int32(healthy)
		s.DisruptionsAllowed = int32(allowed)
		s.DisruptedPods = nil
		if len(disrupted) > 0 {
			s.DisruptedPods = disrupted
		}
	})
}

// expectation returns how many pods there should be and how many must be
// healthy; not ok when a share is asked of pods whose owner has no scale.
func (c *Cluster) expectation(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int, ok bool) {
	if least := b.Spec.MinAvailable; least != nil && least.StrVal == "" {
		return len(pods), int(least.IntVal), true
	}
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		ref := metav1.GetControllerOf(pod)
		if ref == nil || seen[ref.UID] {
			continue // a bare pod has no scale and does not count
		}
		seen[ref.UID] = true
		n, ok := c.scaleOf(ref.UID)
		if !ok {
			return 0, 0, false
		}
		expected += n
	}
	switch {
	case b.Spec.MaxUnavailable != nil:
		return expected, max(expected-percentOrCount(b.Spec.MaxUnavailable, expected), 0), true
	case b.Spec.MinAvailable != nil:
		return expected, percentOrCount(b.Spec.MinAvailable, expected), true
	default:
		return expected, 0, true
	}
}

// scaleOf returns the replicas that a controller wants.
func (c *Cluster) scaleOf(owner types.UID) (int, bool) {
	e := c.store.owners.byUID[owner]
	if e == nil {
		return 0, false
	}
	switch o := e.obj.(type) {
	case *appsv1.ReplicaSet:
		return int(*o.Spec.Replicas), true
	case *appsv1.StatefulSet:
		return int(*o.Spec.Replicas), true
	case *corev1.ReplicationController:
		if o.Spec.Replicas != nil {
			return int(*o.Spec.Replicas), true
		}
		return 1, true
	default:
		return 0, false
	}
}
