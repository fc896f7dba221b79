package kubesim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeLifecycle is the node lifecycle controller: it notices machines that left, and has pods leave nodes.
type nodeLifecycle struct {
	store  *store
	pods   *podIndex
	timers *timers

	lostAt map[string]time.Time // when a machine that left turns its Node NotReady, by node name
	expels map[string]bool      // nodes that had a taint which expels when they last changed
}

// reconcile keeps the taints that say what the conditions say, and the
// readiness of the pods on a node that is silent.
func (l *nodeLifecycle) reconcile(e *entry) {
	n := e.obj.(*corev1.Node)
	want := conditionTaints(n)
	if !equality.Semantic.DeepEqual(want, n.Spec.Taints) {
		e = revised(l.store, e, func(n *corev1.Node) { n.Spec.Taints = want })
		n = e.obj.(*corev1.Node)
	}
	l.expel(n)
	if nodeReady(n) == corev1.ConditionTrue {
		return
	}
	for _, key := range l.pods.keysOn(n.Name) {
		if pod := l.store.entryOf("pods", key); ready(pod.obj.(*corev1.Pod)) {
			revised(l.store, pod, func(p *corev1.Pod) {
				setCondition(p, l.store.stamp(), corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NodeNotReady"})
			})
		}
	}
}

// conditionTaints returns the Node's taints with those of the node lifecycle
// controller set right. The order of the others stays.
func conditionTaints(n *corev1.Node) []corev1.Taint {
	status := nodeReady(n)
	want := []corev1.Taint{}
	if n.Spec.Unschedulable {
		want = append(want, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	switch status {
	case corev1.ConditionFalse:
		want = append(want,
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute})
	case corev1.ConditionUnknown:
		want = append(want,
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	}
	var kept []corev1.Taint
	for _, t := range n.Spec.Taints {
		switch t.Key {
		case corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable:
			at := slices.IndexFunc(want, func(w corev1.Taint) bool { return w.MatchTaint(&t) })
			if at < 0 {
				continue
			}
			want = slices.Delete(want, at, at+1)
		}
		kept = append(kept, t)
	}
	return append(kept, want...)
}

func nodeReady(n *corev1.Node) corev1.ConditionStatus {
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status
		}
	}
	return corev1.ConditionUnknown
}

func setNodeCondition(n *corev1.Node, now metav1.Time, cond corev1.NodeCondition) {
	cond.LastHeartbeatTime, cond.LastTransitionTime = now, now
	for i, have := range n.Status.Conditions {
		if have.Type == cond.Type {
			if have.Status == cond.Status {
				cond.LastTransitionTime = have.LastTransitionTime
			}
			n.Status.Conditions[i] = cond
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, cond)
}

// missMachine turns the conditions of a node whose machine left Unknown.
func (l *nodeLifecycle) missMachine(name string) {
	e := l.store.entryOf("nodes", name)
	now := l.store.stamp()
	revised(l.store, e, func(n *corev1.Node) {
		for _, have := range slices.Clone(n.Status.Conditions) {
			setNodeCondition(n, now, corev1.NodeCondition{Type: have.Type, Status: corev1.ConditionUnknown,
				Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."})
		}
		n.Spec.Taints = conditionTaints(n)
	})
}

// deleteOrphans collects the pods of a node that is gone.
func (l *nodeLifecycle) deleteOrphans(node string) {
	for _, key := range l.pods.keysOn(node) {
		e := l.store.entryOf("pods", key)
		if len(e.obj.GetFinalizers()) == 0 {
			l.store.remove(e)
		}
	}
}
