package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finished says whether the pod will never run again: it holds no resources.
func Finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Owner is the pod's controller, nil for a bare pod.
func Owner(p *corev1.Pod) *metav1.OwnerReference { return metav1.GetControllerOf(p) }

// overstay is how long a pod may outlive its grace period before it counts as gone, as cluster-autoscaler allows 30 s and
// a slow kubelet needs more.
const overstay = time.Minute

// Overstayed says whether the pod should have ended by now: its grace period, which the deletion timestamp includes, is over by a
// minute. Its kubelet is dead or its object is stuck; nothing waits for it any longer.
func Overstayed(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && now.After(p.DeletionTimestamp.Add(overstay))
}

// Mirror says whether the pod is a static pod's image: it lives and dies with its node.
func Mirror(p *corev1.Pod) bool {
	_, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// Daemon says whether the pod belongs to its node rather than to a workload: a DaemonSet's, a static one's, or one that is
// annotated to be treated so.
func Daemon(p *corev1.Pod) bool {
	if Mirror(p) || p.Annotations["cluster-autoscaler.kubernetes.io/daemonset-pod"] == "true" {
		return true
	}
	o := Owner(p)
	return o != nil && o.Kind == "DaemonSet"
}

// Unschedulable says whether the scheduler has judged the pod and found no node.
func Unschedulable(p *corev1.Pod) bool {
	c := scheduled(p)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// UnschedulableSince is when the scheduler first found no node for the pod; zero when it has not.
func UnschedulableSince(p *corev1.Pod) metav1.Time {
	if !Unschedulable(p) {
		return metav1.Time{}
	}
	return scheduled(p).LastTransitionTime
}

func scheduled(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// Key is the pod's "namespace/name".
func Key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
