package cluster

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Protects says whether the disruption budget selects the pod.
func Protects(b *policyv1.PodDisruptionBudget, p *Pod) bool {
	s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && b.Namespace == p.Namespace && s.Matches(labels.Set(p.Labels))
}

// Holds says whether the API server evicts a pod that the disruption budget selects only while that allows a disruption. It evicts one that
// has not started, or is over or leaving, in any case; and one that is not Ready where the budget always allows that, or while as many are
// healthy as have to be: see its unhealthyPodEvictionPolicy.
func Holds(b *policyv1.PodDisruptionBudget, p *Pod) bool {
	switch {
	case p.Phase == corev1.PodPending || p.Finished() || p.Leaving():
		return false
	case !p.Unready():
		return true
	}
	always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	return !always && (b.Status.CurrentHealthy < b.Status.DesiredHealthy || b.Status.DesiredHealthy <= 0)
}

// Away counts the pods that a disruption budget selects and that are lost, or about to be, though its status may still count them: the
// machines of their nodes are being deleted or gone.
func (s *Snapshot) Away(b *policyv1.PodDisruptionBudget) (n int32) {
	count := func(pods []*Pod) {
		for _, p := range pods {
			if !p.Leaving() && !p.Finished() && Protects(b, p) {
				n++
			}
		}
	}
	count(s.orphans)
	for _, node := range s.Nodes {
		if node.Instance == nil && s.departed(node) || node.Instance != nil && node.Instance.State == StateDeleting {
			count(node.Pods)
		}
	}
	return n
}

// departed says whether the machine of a node without one was removed, or was seen to leave by another hand.
func (s *Snapshot) departed(n *Node) bool {
	g := s.Group(n.Group)
	return n.Marked.UID != "" || g != nil && g.HasDeparted(n.Object.Status.NodeInfo.SystemUUID)
}
