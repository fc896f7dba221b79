package kubesim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podState is what the cluster remembers of a pod besides the object: what it
// asks of a node, and when its kubelet will act on it (zero: not planned).
type podState struct {
	uid     types.UID
	born    uint64 // resource version of its creation
	pod     *corev1.Pod
	asks    demand
	startAt time.Time
	stopAt  time.Time

	finishAt time.Time
	expelAt  time.Time // by taints of its node
}

// podIndex is what the cluster remembers of pods.
type podIndex struct {
	byKey  map[string]*podState
	onNode map[string]map[string]*podState // by node name and pod key
}

func (p *podIndex) onto(node, key string, st *podState) {
	m := p.onNode[node]
	if m == nil {
		m = map[string]*podState{}
		p.onNode[node] = m
	}
	m[key] = st
}

func (p *podIndex) offNode(node, key string) {
	delete(p.onNode[node], key)
	if len(p.onNode[node]) == 0 {
		delete(p.onNode, node)
	}
}

// keysOn returns the keys of the pods that a node holds, in order.
func (p *podIndex) keysOn(node string) []string { return slices.Sorted(maps.Keys(p.onNode[node])) }

// finished reports whether all containers of a pod have exited for good.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ready(pod *corev1.Pod) bool {
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

// setCondition replaces the pod's condition of the same type; the transition
// time moves only with the status.
func setCondition(pod *corev1.Pod, now metav1.Time, cond corev1.PodCondition) {
	cond.LastTransitionTime = now
	for i, have := range pod.Status.Conditions {
		if have.Type == cond.Type {
			if have.Status == cond.Status {
				cond.LastTransitionTime = have.LastTransitionTime
			}
			pod.Status.Conditions[i] = cond
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, cond)
}
