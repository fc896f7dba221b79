package kubesim

import (
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// budgets is the disruption controller: the status of a budget says how many pods may go, and an eviction spends of it.
type budgets struct {
	store *store
	work  workQueue
}

// mark has the budgets over a pod computed again.
func (bs *budgets) mark(pod *corev1.Pod) {
	for _, e := range budgetsOver(bs.store, pod) {
		bs.work.mark("poddisruptionbudgets", e.key)
	}
}

// markOver does the same for the pods of an owner that changed.
func (bs *budgets) markOver(owner types.UID) {
	if len(bs.store.tables["poddisruptionbudgets"].sorted) == 0 {
		return
	}
	for _, e := range bs.store.owners.owned(owner, "pods") {
		bs.mark(e.obj.(*corev1.Pod))
	}
}

// reconcile computes the status of a disruption budget.
func (bs *budgets) reconcile(e *entry) {
	b := e.obj.(*policyv1.PodDisruptionBudget)
	sel := e.budgetSelector()
	var selected []*corev1.Pod
	healthy := 0
	disrupted := map[string]metav1.Time{}
	for _, p := range bs.store.tables["pods"].inNamespace(b.Namespace) {
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
	expected, desired, ok := bs.expectation(b, selected)
	allowed := max(healthy-desired, 0)
	if expected <= 0 || !ok {
		allowed = 0
	}
	now := bs.store.stamp()
	revised(bs.store, e, func(b *policyv1.PodDisruptionBudget) {
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
func (bs *budgets) expectation(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int, ok bool) {
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
		n, ok := bs.scaleOf(ref.UID)
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
func (bs *budgets) scaleOf(owner types.UID) (int, bool) {
	e := bs.store.owners.byUID[owner]
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

// spend takes one disruption from the budget over a pod, or refuses.
func (bs *budgets) spend(pod *corev1.Pod, dryRun bool) error {
	over := budgetsOver(bs.store, pod)
	if len(over) == 0 {
		return nil
	}
	if len(over) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	}
	b := over[0].obj.(*policyv1.PodDisruptionBudget)
	if !ready(pod) {
		if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
			return nil
		}
		if b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	if b.Status.ObservedGeneration < b.Generation {
		return refusedByBudget(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name))
	}
	if b.Status.DisruptionsAllowed <= 0 {
		return refusedByBudget(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy))
	}
	if dryRun {
		return nil
	}
	now := bs.store.stamp()
	revised(bs.store, over[0], func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[pod.Name] = now
	})
	return nil
}

func refusedByBudget(retryAfter int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}

// budgetsOver returns the disruption budgets that select a pod, by name.
func budgetsOver(s *store, pod *corev1.Pod) []*entry {
	var over []*entry
	for _, e := range s.tables["poddisruptionbudgets"].inNamespace(pod.Namespace) {
		if e.budgetSelector().Matches(labels.Set(pod.Labels)) {
			over = append(over, e)
		}
	}
	return over
}

// budgetSelector returns the selector of a disruption budget. An empty one
// selects every pod of the namespace, none at all selects nothing.
func (e *entry) budgetSelector() labels.Selector {
	if e.selects == nil {
		e.selects = selectorOf(e.obj.(*policyv1.PodDisruptionBudget).Spec.Selector)
	}
	return e.selects
}
