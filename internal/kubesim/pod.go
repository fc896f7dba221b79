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

// observePod follows a pod's change: who is to look at it, and when its
// kubelet is to act.
func (c *Cluster) observePod(ch change, pod *corev1.Pod) {
	k := ch.after.key
	c.controllers.markOwner(pod)
	c.controllers.budgets.mark(pod)
	if ch.before != nil {
		c.controllers.budgets.mark(ch.before.obj.(*corev1.Pod))
	}
	st := c.pods.byKey[k]
	if ch.deleted {
		if st != nil {
			c.controllers.workloads.tallyLoss(st.pod)
		}
		delete(c.pods.byKey, k)
		c.pods.offNode(pod.Spec.NodeName, k)
		c.scheduler.forget(k)
		c.controllers.volumes.markAttachments(pod)
		c.controllers.deviceClaims.mark(pod)
		c.scheduler.wake()
		return
	}
	if st == nil {
		st = &podState{uid: pod.UID, born: ch.after.rv, asks: demandOf(pod)}
		c.pods.byKey[k] = st
		c.controllers.markParts(k, pod)
	}
	was := st.pod
	st.pod = pod
	if pod.Spec.NodeName == "" {
		c.scheduler.observeUnplaced(k, was, pod)
		return
	}
	if was == nil || was.Spec.NodeName == "" {
		c.pods.onto(pod.Spec.NodeName, k, st)
		if c.store.entryOf("nodes", pod.Spec.NodeName) == nil {
			c.timers.remind(c.store.now().Add(orDefault(c.OrphanAfter, defaultOrphanAfter)), podsOrphaned, pod.Spec.NodeName, "")
		}
		c.scheduler.forget(k)
		c.controllers.volumes.markAttachments(pod)
		c.scheduler.wakeAffine()
	}
	if finished(pod) && (was == nil || !finished(was)) {
		c.controllers.volumes.markAttachments(pod)
		c.controllers.deviceClaims.mark(pod)
		c.scheduler.wake()
	}
	c.kubeletSees(k, st)
}

func (c *Cluster) kubeletSees(key string, st *podState) {
	c.kubelets.sees(key, st, orDefault(c.PodStart, defaultPodStart), orDefault(c.PodStop, defaultPodStop))
}

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
