package kubesim

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podFrom makes the pod of a template; owner becomes its controller.
func podFrom(t *corev1.PodTemplateSpec, owner *entry) *corev1.Pod {
	t = t.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       owner.obj.GetNamespace(),
			GenerateName:    owner.obj.GetName() + "-",
			Labels:          t.Labels,
			Annotations:     t.Annotations,
			OwnerReferences: []metav1.OwnerReference{controllerRef(owner)},
		},
		Spec: t.Spec,
	}
}

func controllerRef(owner *entry) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: owner.kind.apiVersion(), Kind: owner.kind.name, Name: owner.obj.GetName(), UID: owner.obj.GetUID(),
		Controller: &yes, BlockOwnerDeletion: &yes}
}

// createPod creates a controller's pod. A refusal (its namespace is going, its
// priority class does not exist) leaves the controller short of a pod; it tries
// again at its next turn.
func (c *Cluster) createPod(pod *corev1.Pod, owner *entry) {
	if _, err := c.store.create(kindOf(pod), pod, false); err != nil && owner.obj.GetDeletionTimestamp() == nil {
		c.work.mark(owner.kind.resource, owner.key)
	}
}

// activePods returns the pods of a controller that are neither finished nor going.
func (c *Cluster) activePods(owner *entry) []*entry {
	return slices.DeleteFunc(c.store.owners.owned(owner.obj.GetUID(), "pods"), func(e *entry) bool {
		pod := e.obj.(*corev1.Pod)
		return finished(pod) || pod.DeletionTimestamp != nil
	})
}

func countReady(pods []*entry) int32 {
	var n int32
	for _, e := range pods {
		if ready(e.obj.(*corev1.Pod)) {
			n++
		}
	}
	return n
}

func (c *Cluster) reconcileReplicaSet(e *entry) {
	rs := e.obj.(*appsv1.ReplicaSet)
	pods := c.activePods(e)
	if rs.DeletionTimestamp == nil {
		want := int(*rs.Spec.Replicas)
		for range want - len(pods) {
			c.createPod(podFrom(&rs.Spec.Template, e), e)
		}
		if surplus := len(pods) - want; surplus > 0 {
			slices.SortStableFunc(pods, surplusFirst)
			for _, p := range pods[:surplus] {
				_, _ = c.store.delete(p, &metav1.DeleteOptions{})
			}
		}
		pods = c.activePods(e)
	}
	n := countReady(pods)
	revised(c.store, e, func(rs *appsv1.ReplicaSet) {
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
