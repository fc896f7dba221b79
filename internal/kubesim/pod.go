package kubesim

import (
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

// observePod follows a pod's change: who is to look at it, and when its
// kubelet is to act.
func (c *Cluster) observePod(ch change, pod *corev1.Pod) {
	k := ch.after.key
	c.markOwner(pod)
	c.markBudgets(pod)
	if ch.before != nil {
		c.markBudgets(ch.before.obj.(*corev1.Pod))
	}
	st := c.pods[k]
	if ch.deleted {
		if st != nil {
			c.tallyLoss(st.pod)
		}
		delete(c.pods, k)
		c.offNode(pod.Spec.NodeName, k)
		delete(c.trying, k)
		delete(c.parked, k)
		delete(c.reserved, k)
		c.markAttachments(pod)
		c.markResourceClaims(pod)
		c.wakeParked()
		return
	}
	if st == nil {
		st = &podState{uid: pod.UID, born: ch.after.rv, asks: demandOf(pod)}
		c.pods[k] = st
		c.markParts(k, pod)
	}
	was := st.pod
	st.pod = pod
	if pod.Spec.NodeName == "" {
		c.observeUnplaced(k, was, pod)
		return
	}
	if was == nil || was.Spec.NodeName == "" {
		c.onto(pod.Spec.NodeName, k, st)
		delete(c.trying, k)
		delete(c.parked, k)
		delete(c.reserved, k)
		c.markAttachments(pod)
		c.wakeAffine()
	}
	if finished(pod) && (was == nil || !finished(was)) {
		c.markAttachments(pod)
		c.markResourceClaims(pod)
		c.wakeParked()
	}
	c.kubeletSees(k, st)
}

// observeUnplaced has the scheduler look at a pod that is new or whose spec
// changed, and forget one that is going.
func (c *Cluster) observeUnplaced(key string, was, pod *corev1.Pod) {
	if pod.Spec.SchedulerName != corev1.DefaultSchedulerName || pod.DeletionTimestamp != nil || finished(pod) {
		delete(c.trying, key)
		delete(c.parked, key)
		delete(c.reserved, key)
		return
	}
	if was == nil || was.Generation != pod.Generation {
		c.trying[key] = struct{}{}
		delete(c.parked, key)
	}
}

// markParts has what belongs to a new pod made: the claims of its generic
// ephemeral volumes.
func (c *Cluster) markParts(key string, pod *corev1.Pod) {
	if len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
		c.mark("pods", key)
	}
}

// markAttachments has the volumes of a pod's node attached or detached.
func (c *Cluster) markAttachments(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" && len(claimsOf(pod)) > 0 {
		c.attaching[pod.Spec.NodeName] = struct{}{}
	}
}

func (c *Cluster) onto(node, key string, st *podState) {
	m := c.onNode[node]
	if m == nil {
		m = map[string]*podState{}
		c.onNode[node] = m
	}
	m[key] = st
	if c.store.entryOf("nodes", node) == nil {
		c.remind(c.store.now().Add(orDefault(c.OrphanAfter, defaultOrphanAfter)), podsOrphaned, node, "")
	}
}

func (c *Cluster) offNode(node, key string) {
	delete(c.onNode[node], key)
	if len(c.onNode[node]) == 0 {
		delete(c.onNode, node)
	}
}

// wakeParked has the scheduler look at every unplaced pod again.
func (c *Cluster) wakeParked() {
	for k := range c.parked {
		c.trying[k] = struct{}{}
	}
	clear(c.parked)
}

// wakeAffine has the scheduler look again at the pods that want to be near
// another, or spread with others: only those can a placed pod help.
func (c *Cluster) wakeAffine() {
	for k := range c.parked {
		if c.pods[k].asks.relative {
			c.trying[k] = struct{}{}
			delete(c.parked, k)
		}
	}
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
