package kubesim

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
)

// serveEviction deletes a pod if its disruption budget allows it. A pod that
// waits, has finished or is going already needs no leave.
func (c *Cluster) serveEviction(q *call) (answer, error) {
	eviction := &policyv1.Eviction{}
	if err := json.Unmarshal(q.body, eviction); err != nil {
		return answer{}, apierrors.NewBadRequest(err.Error())
	}
	if eviction.Name != q.name {
		return answer{}, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	opts := eviction.DeleteOptions
	if opts == nil {
		opts = &metav1.DeleteOptions{}
	}
	if q.dryRun() {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	e, err := c.find(q)
	if err != nil {
		return answer{}, err
	}
	if err := unmetPrecondition(e, opts.Preconditions); err != nil {
		return answer{}, err
	}
	pod := e.obj.(*corev1.Pod)
	if pod.Status.Phase != corev1.PodPending && !finished(pod) && pod.DeletionTimestamp == nil {
		if err := c.spendBudget(pod, len(opts.DryRun) > 0); err != nil {
			return answer{}, err
		}
	}
	if len(opts.DryRun) == 0 {
		now := c.store.stamp()
		e = revised(c.store, e, func(p *corev1.Pod) {
			setCondition(p, now, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		})
		opts.Preconditions = nil // met, and the condition moved the resource version
	}
	if _, err := c.store.delete(e, opts); err != nil {
		return answer{}, err
	}
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// spendBudget takes one disruption from the budget over a pod, or refuses.
func (c *Cluster) spendBudget(pod *corev1.Pod, dryRun bool) error {
	over := c.budgetsOver(pod)
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
	now := c.store.stamp()
	revised(c.store, over[0], func(b *policyv1.PodDisruptionBudget) {
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
func (c *Cluster) budgetsOver(pod *corev1.Pod) []*entry {
	var over []*entry
	for _, e := range c.store.tables["poddisruptionbudgets"].inNamespace(pod.Namespace) {
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

// serveBinding puts a pod on a node, for a scheduler that is a client.
func (c *Cluster) serveBinding(q *call) (answer, error) {
	binding := &corev1.Binding{}
	if err := json.Unmarshal(q.body, binding); err != nil {
		return answer{}, apierrors.NewBadRequest(err.Error())
	}
	e, err := c.find(q)
	if err != nil {
		return answer{}, err
	}
	pod := e.obj.(*corev1.Pod)
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return answer{}, apierrors.NewConflict(q.kind.groupResource(), q.name, fmt.Errorf("pod %s cannot be assigned to node %q now", q.name, binding.Target.Name))
	}
	c.bind(e, binding.Target.Name)
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}
