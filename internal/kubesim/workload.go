package kubesim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workloads are the controllers that keep pods for what owns them: Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs.
type workloads struct {
	store  *store
	timers *timers
	work   workQueue

	tallies map[types.UID]*tally // what became of a Job's pods, by the Job's UID
}

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
func (ws *workloads) createPod(pod *corev1.Pod, owner *entry) {
	if _, err := ws.store.create(kindOf(pod), pod, false); err != nil && owner.obj.GetDeletionTimestamp() == nil {
		ws.work.mark(owner.kind.resource, owner.key)
	}
}

// activePods returns the pods of a controller that are neither finished nor going.
func (ws *workloads) activePods(owner *entry) []*entry {
	return slices.DeleteFunc(ws.store.owners.owned(owner.obj.GetUID(), "pods"), func(e *entry) bool {
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

func (ws *workloads) deletePods(pods []*entry) {
	for _, p := range pods {
		if p.obj.GetDeletionTimestamp() == nil {
			_, _ = ws.store.delete(p, &metav1.DeleteOptions{})
		}
	}
}
