package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemovalTaint is the key of the taint by which sluice cordons a node on its way out. Its value is "<unix seconds>.<why>".
const RemovalTaint = "sluice.dev/removing"

// GuessedLabels is an annotation of a template from the cloud: the keys, with commas between them, of labels that nobody promised, such as
// tags as they are. A node without them is no surprise.
const GuessedLabels = "sluice.dev/guessed-labels"

// transientTaints come and go with a node's condition; a new machine will not have them when it is Ready.
var transientTaints = map[string]bool{
	RemovalTaint:                                     true,
	NoticeTaint:                                      true,
	"ToBeDeletedByClusterAutoscaler":                 true,
	CandidateTaint:                                   true,
	corev1.TaintNodeNotReady:                         true,
	corev1.TaintNodeUnreachable:                      true,
	corev1.TaintNodeUnschedulable:                    true,
	corev1.TaintNodeMemoryPressure:                   true,
	corev1.TaintNodeDiskPressure:                     true,
	corev1.TaintNodePIDPressure:                      true,
	corev1.TaintNodeNetworkUnavailable:               true,
	corev1.TaintNodeOutOfService:                     true,
	"node.cloudprovider.kubernetes.io/uninitialized": true,
	"node.cloudprovider.kubernetes.io/shutdown":      true,
}

// hostLabels belong to one machine and not to its group.
var hostLabels = []string{corev1.LabelHostname, "beta.kubernetes.io/hostname"}

// Transient says whether the taint is about a node's present condition rather than about its group.
func Transient(t corev1.Taint) bool {
	return transientTaints[t.Key] || startup(t) || strings.HasPrefix(t.Key, "status-taint.cluster-autoscaler.kubernetes.io/")
}

// startup says whether the taint is by its name one that somebody takes off a new node when he is done with it.
func startup(t corev1.Taint) bool {
	return strings.HasPrefix(t.Key, "startup-taint.cluster-autoscaler.kubernetes.io/") || strings.HasPrefix(t.Key, "ignore-taint.cluster-autoscaler.kubernetes.io/")
}

// arrivalTaints stand on a node until whoever brings it up has seen that it is Ready.
var arrivalTaints = map[string]bool{
	corev1.TaintNodeNotReady:                         true,
	corev1.TaintNodeNetworkUnavailable:               true,
	"node.cloudprovider.kubernetes.io/uninitialized": true,
}

// Arriving says whether a node still bears a taint of its arrival, which will be taken off by itself: controllers do that a moment after
// kubelet has said that the node is Ready.
func Arriving(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if arrivalTaints[t.Key] || startup(t) {
			return true
		}
	}
	return false
}

// Ready says whether the node's Ready condition is True.
func Ready(n *corev1.Node) bool {
	c := condition(n, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Silent says whether the node's kubelet has spoken once and does so no longer: its Ready condition is Unknown.
func Silent(n *corev1.Node) bool {
	c := condition(n, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionUnknown && c.Reason != "NodeStatusNeverUpdated"
}

// NotReadySince is when the Ready condition last changed to something else than True, or the node's creation when it never
// had one. It means nothing for a Ready node.
func NotReadySince(n *corev1.Node) metav1.Time {
	if c := condition(n, corev1.NodeReady); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	return n.CreationTimestamp
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := len(n.Status.Conditions) - 1; i >= 0; i-- { // kubelets write Ready last
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// keepAnnotation on a node, with the value "true", keeps it. It is cluster-autoscaler's.
const keepAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// Kept says whether somebody has annotated the node to stay.
func Kept(n *corev1.Node) bool { return n.Annotations[keepAnnotation] == "true" }

// ControlPlane says whether the node runs the control plane or etcd, by the role labels that distributions set.
func ControlPlane(n *corev1.Node) bool {
	for _, role := range controlPlaneRoles {
		if _, ok := n.Labels[role]; ok {
			return true
		}
	}
	return false
}

var controlPlaneRoles = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd"}
