package kubesim

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// observe keeps the indexes and the controllers' lists of work up to date.
func (c *Cluster) observe(ch change) {
	c.controllers.garbage.doomed = append(c.controllers.garbage.doomed, c.store.owners.follow(ch)...)
	switch obj := ch.after.obj.(type) {
	case *corev1.Pod:
		c.observePod(ch, obj)
	case *corev1.Node:
		c.observeNode(ch, obj)
	default:
		c.controllers.observe(ch)
		c.scheduler.observe(ch)
	}
}

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

// observeNode follows a Node's change.
func (c *Cluster) observeNode(ch change, n *corev1.Node) {
	if ch.deleted {
		c.timers.remind(c.store.now().Add(orDefault(c.OrphanAfter, defaultOrphanAfter)), podsOrphaned, n.Name, "")
		c.scheduler.wake()
		return
	}
	c.controllers.work.mark("nodes", n.Name)
	if ch.before != nil && !placesDiffer(ch.before.obj.(*corev1.Node), n) {
		return
	}
	c.scheduler.wake()
	for _, e := range c.store.tables["daemonsets"].sorted {
		c.controllers.work.mark("daemonsets", e.key)
	}
}

// placesDiffer reports whether the scheduler could answer differently for two
// versions of a Node.
func placesDiffer(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable != b.Spec.Unschedulable ||
		!maps.Equal(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) ||
		!equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}
