package kubesim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// When so many nodes are not Ready, the fault is rather the control plane's than theirs: the node lifecycle controller lets pods stay where they
// are. These are the defaults of kube-controller-manager for a cluster of at most 50 nodes.
const (
	mostUnreadyNodes = 2
	unreadyPercent   = 55
	looksAgain       = time.Minute
)

// expel plans when pods leave a node with NoExecute taints: each has tolerated them for as long as it says by then. A node without them
// keeps its pods.
func (l *nodeLifecycle) expel(n *corev1.Node) {
	taints := expelling(n.Spec.Taints)
	if len(taints) == 0 && !l.expels[n.Name] {
		return
	}
	if l.expels == nil {
		l.expels = map[string]bool{}
	}
	l.expels[n.Name] = len(taints) > 0
	for _, key := range l.pods.keysOn(n.Name) {
		st := l.pods.byKey[key]
		d, leaves := tolerated(st.pod.Spec.Tolerations, taints)
		switch {
		case !leaves:
			st.expelAt = time.Time{}
		case d == 0:
			l.expelPod(key)
		case st.expelAt.IsZero() || l.store.now().Add(d).Before(st.expelAt):
			st.expelAt = l.store.now().Add(d)
			l.timers.remind(st.expelAt, podExpelled, key, st.uid)
		}
	}
}

// expelPod has a pod leave its node, unless so many nodes are not Ready that none does: then it is asked again.
func (l *nodeLifecycle) expelPod(key string) {
	e := l.store.entryOf("pods", key)
	if e.obj.GetDeletionTimestamp() != nil || finished(e.obj.(*corev1.Pod)) {
		return
	}
	if l.disrupted() {
		st := l.pods.byKey[key]
		st.expelAt = l.store.now().Add(looksAgain)
		l.timers.remind(st.expelAt, podExpelled, key, st.uid)
		return
	}
	_, _ = l.store.delete(e, &metav1.DeleteOptions{}) // without preconditions there is nothing to refuse
}

// disrupted says whether no node is Ready, or too few are.
func (l *nodeLifecycle) disrupted() bool {
	all, unready := 0, 0
	for _, e := range l.store.tables["nodes"].sorted {
		all++
		if nodeReady(e.obj.(*corev1.Node)) != corev1.ConditionTrue {
			unready++
		}
	}
	return unready == all || unready > mostUnreadyNodes && 100*unready >= unreadyPercent*all
}

// tolerated is for how long tolerations bear taints that expel; leaves is false when they do for ever.
func tolerated(tolerations []corev1.Toleration, taints []corev1.Taint) (d time.Duration, leaves bool) {
	for _, taint := range taints {
		if !tolerates(tolerations, taint) {
			return 0, true
		}
		for _, t := range tolerations {
			if t.TolerationSeconds == nil || !t.ToleratesTaint(klog.Logger{}, &taint, false) {
				continue
			}
			if own := time.Duration(max(0, *t.TolerationSeconds)) * time.Second; !leaves || own < d {
				d, leaves = own, true
			}
		}
	}
	return d, leaves
}
