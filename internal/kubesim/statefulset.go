package kubesim

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reconcileStatefulSet keeps pods name-0, name-1, ... with their claims. In
// order: the next one is created when the one before is ready, and the last
// goes first; all at once under the Parallel policy.
func (ws *workloads) reconcileStatefulSet(e *entry) {
	set := e.obj.(*appsv1.StatefulSet)
	if set.DeletionTimestamp != nil {
		return
	}
	parallel := set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	want := int(*set.Spec.Replicas)
	for i := range want {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		have := ws.store.entryOf("pods", key(set.Namespace, name))
		if have == nil {
			ws.createReplica(set, e, i, name)
		} else if finished(have.obj.(*corev1.Pod)) {
			_, _ = ws.store.delete(have, &metav1.DeleteOptions{})
		}
		if !parallel && (have == nil || !ready(have.obj.(*corev1.Pod))) {
			break
		}
	}
	for i := len(ws.store.owners.owned(set.UID, "pods")) + want; i >= want; i-- {
		if have := ws.store.entryOf("pods", key(set.Namespace, fmt.Sprintf("%s-%d", set.Name, i))); have != nil {
			if have.obj.GetDeletionTimestamp() == nil {
				_, _ = ws.store.delete(have, &metav1.DeleteOptions{})
			}
			if !parallel {
				break
			}
		}
	}
	pods := ws.activePods(e)
	n := countReady(pods)
	revised(ws.store, e, func(s *appsv1.StatefulSet) {
		s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: int32(len(pods)), CurrentReplicas: int32(len(pods)),
			UpdatedReplicas: int32(len(pods)), ReadyReplicas: n, AvailableReplicas: n}
	})
}

// createReplica creates the i-th pod and the claims it needs.
func (ws *workloads) createReplica(set *appsv1.StatefulSet, e *entry, i int, name string) {
	pod := podFrom(&set.Spec.Template, e)
	pod.Name, pod.GenerateName = name, ""
	pod.Spec.Hostname, pod.Spec.Subdomain = name, set.Spec.ServiceName
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(i)
	for _, t := range set.Spec.VolumeClaimTemplates {
		claim := t.DeepCopy()
		claim.Namespace, claim.Name = set.Namespace, t.Name+"-"+name
		if ws.store.entryOf("persistentvolumeclaims", keyOf(claim)) == nil {
			_, _ = ws.store.create(kindOf(claim), claim, false) // refused in a namespace that is going, as the pod will be
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
	}
	ws.createPod(pod, e)
}
