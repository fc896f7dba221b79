package kubesim

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// serveEviction deletes a pod if its disruption budget allows it. A pod that
// waits, has finished or is going already needs no leave.
func (s *apiServer) serveEviction(q *call) (answer, error) {
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
	e, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	if err := unmetPrecondition(e, opts.Preconditions); err != nil {
		return answer{}, err
	}
	pod := e.obj.(*corev1.Pod)
	if pod.Status.Phase != corev1.PodPending && !finished(pod) && pod.DeletionTimestamp == nil {
		if err := s.budgets.spend(pod, len(opts.DryRun) > 0); err != nil {
			return answer{}, err
		}
	}
	if len(opts.DryRun) == 0 {
		now := s.store.stamp()
		e = revised(s.store, e, func(p *corev1.Pod) {
			setCondition(p, now, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		})
		opts.Preconditions = nil // met, and the condition moved the resource version
	}
	if _, err := s.store.delete(e, opts); err != nil {
		return answer{}, err
	}
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// serveBinding puts a pod on a node, for a scheduler that is a client.
func (s *apiServer) serveBinding(q *call) (answer, error) {
	binding := &corev1.Binding{}
	if err := json.Unmarshal(q.body, binding); err != nil {
		return answer{}, apierrors.NewBadRequest(err.Error())
	}
	e, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	pod := e.obj.(*corev1.Pod)
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return answer{}, apierrors.NewConflict(q.kind.groupResource(), q.name, fmt.Errorf("pod %s cannot be assigned to node %q now", q.name, binding.Target.Name))
	}
	bind(s.store, e, binding.Target.Name)
	return status(metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}
