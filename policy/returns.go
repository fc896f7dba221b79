package policy

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// returns says whether a pod is made again when it is evicted, and the scheduler may put it back on a node with those taints. Whoever
// evicts it gains nothing: that node is the emptiest.
func returns(pod *cluster.Pod, taints ...string) bool {
	return !pod.Daemon() && pod.Owner() != nil && !slices.ContainsFunc(taints, func(t string) bool { return !tolerates(pod, t) })
}

// tolerates says whether the pod goes to nodes with the taint, whatever its value.
func tolerates(pod *cluster.Pod, taint string) bool {
	for _, t := range pod.Spec.Tolerations {
		effect := t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule
		if t.Operator == corev1.TolerationOpExists && (t.Key == "" || t.Key == taint) && effect {
			return true
		}
	}
	return false
}

// Returns says whether a pod of a node that is on its way out would be made again and could be put back there.
func Returns(pod *cluster.Pod) bool {
	return returns(pod, corev1.TaintNodeUnschedulable, cluster.RemovalTaint)
}

// GoesWith says whether a pod that is no daemon's goes with the machine of its node, which is on its way out: it would return, somebody
// makes it again elsewhere once the node is gone, and nothing forbids its eviction. Its disruption budget is not asked here.
func (p *Policy) GoesWith(pod *cluster.Pod, at Where, now time.Time) bool {
	if at.Cordoned.IsZero() || !Returns(pod) {
		return false
	}
	_, keeps := p.forbids(pod, at, now)
	return !keeps
}

// Joins says whether a pod that [Policy.GoesWith] the machine was made, or came to its node, after that was cordoned: the scheduler
// wants the node.
func (p *Policy) Joins(pod *cluster.Pod, at Where, now time.Time) bool {
	came := pod.Created()
	if started := pod.Started(); started.After(came) {
		came = started
	}
	return p.GoesWith(pod, at, now) && !came.Before(at.Cordoned) // both are whole seconds
}

// StopsWith says whether a pod stops with the machine of its node, to which something is announced: it belongs to the node, or it would
// return and nothing forbids its eviction.
func (p *Policy) StopsWith(pod *cluster.Pod, at Where, now time.Time) bool {
	if p.Belongs(pod, at, now) {
		return true
	}
	_, keeps := p.forbids(pod, at, now)
	return !keeps && returns(pod, cluster.NoticeTaint)
}
