package kubesim

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (ws *workloads) reconcileReplicaSet(e *entry) {
	rs := e.obj.(*appsv1.ReplicaSet)
	pods := ws.activePods(e)
	if rs.DeletionTimestamp == nil {
		want := int(*rs.Spec.Replicas)
		for range want - len(pods) {
			ws.createPod(podFrom(&rs.Spec.Template, e), e)
		}
		if surplus := len(pods) - want; surplus > 0 {
			slices.SortStableFunc(pods, surplusFirst)
			for _, p := range pods[:surplus] {
				_, _ = ws.store.delete(p, &metav1.DeleteOptions{})
			}
		}
		pods = ws.activePods(e)
	}
	n := countReady(pods)
	revised(ws.store, e, func(rs *appsv1.ReplicaSet) {
		rs.Status = appsv1.ReplicaSetStatus{Replicas: int32(len(pods)), FullyLabeledReplicas: int32(len(pods)), ReadyReplicas: n, AvailableReplicas: n,
			ObservedGeneration: rs.Generation, Conditions: rs.Status.Conditions}
	})
}

// surplusFirst orders pods by how gladly a ReplicaSet parts with them: not
// placed, waiting, not ready, cheap to delete, young.
func surplusFirst(a, b *entry) int {
	rank := func(e *entry) int {
		switch pod := e.obj.(*corev1.Pod); {
		case pod.Spec.NodeName == "":
			return 0
		case pod.Status.Phase == corev1.PodPending:
			return 1
		case !ready(pod):
			return 2
		default:
			return 3
		}
	}
	cost := func(e *entry) int {
		n, _ := strconv.Atoi(e.obj.GetAnnotations()[corev1.PodDeletionCost]) // none, and nonsense, cost 0
		return n
	}
	born := func(e *entry) int64 { return e.obj.GetCreationTimestamp().Unix() }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(cost(a), cost(b)), cmp.Compare(born(b), born(a)), cmp.Compare(a.key, b.key))
}
