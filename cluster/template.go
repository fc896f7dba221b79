package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemovalTaint is the key of the taint by which sluice cordons a node on its way out. Its value is "<unix seconds>.<why>".
const RemovalTaint = "sluice.dev/removing"

// GuessedLabels is an annotation of a template from the cloud: the keys, with commas between them, of labels that nobody promised, such as
// tags as they are. A node without them is no surprise.
const GuessedLabels = "sluice.dev/guessed-labels"

// hostLabels belong to one machine and not to its group.
var hostLabels = []string{corev1.LabelHostname, "beta.kubernetes.io/hostname", ExclusionLabel}

// Ready says whether the node's Ready condition is True.
func Ready(n *corev1.Node) bool {
	c := readiness(n)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Speaks says whether the node's kubelet reports: that the node is Ready, or that it is not.
func Speaks(n *corev1.Node) bool {
	c := readiness(n)
	return c != nil && c.Status != corev1.ConditionUnknown
}

// Silent says whether the node's kubelet has spoken once and does so no longer: its Ready condition is Unknown.
func Silent(n *corev1.Node) bool {
	c := readiness(n)
	return c != nil && c.Status == corev1.ConditionUnknown && c.Reason != "NodeStatusNeverUpdated"
}

// NotReadySince is when the Ready condition last changed to something else than True, or the node's creation when it never
// had one. It means nothing for a Ready node.
func NotReadySince(n *corev1.Node) metav1.Time {
	if c := readiness(n); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	return n.CreationTimestamp
}

// readiness is the node's Ready condition, nil when it has none.
func readiness(n *corev1.Node) *corev1.NodeCondition {
	for i := len(n.Status.Conditions) - 1; i >= 0; i-- { // kubelets write Ready last
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// KeepAnnotation and DisruptAnnotation on a node, with the value "true", keep it. They are cluster-autoscaler's and Karpenter's.
const (
	KeepAnnotation    = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	DisruptAnnotation = "karpenter.sh/do-not-disrupt"
)

// Kept says whether somebody has annotated the node to stay.
func Kept(n *corev1.Node) bool { return KeptBy(n) != "" }

// KeptBy is the annotation by which the node is to stay, "" for none.
func KeptBy(n *corev1.Node) string {
	for _, key := range []string{KeepAnnotation, DisruptAnnotation} {
		if n.Annotations[key] == "true" {
			return key
		}
	}
	return ""
}

// ControlPlane says whether the node runs the control plane or etcd, by the role labels that distributions set.
func ControlPlane(n *corev1.Node) bool {
	for _, role := range ControlPlaneRoles {
		if _, ok := n.Labels[role]; ok {
			return true
		}
	}
	return false
}

// ControlPlaneRoles are the labels of such nodes, one of which is enough; their values say nothing.
var ControlPlaneRoles = [...]string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd"}
