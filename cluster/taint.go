package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Taints are the keys of taints that the operator names as passing, beside those that bear cluster-autoscaler's own prefixes. The zero
// value names none.
type Taints struct {
	Startup  []string `json:"startup,omitempty"`  // somebody takes them off a new node when he is done with it: until then it is not ready
	Prefixes []string `json:"prefixes,omitempty"` // of keys of such taints
	Status   []string `json:"status,omitempty"`   // they say how a node is doing, which is Ready for all that
}

// Empty says whether no taint is named.
func (t Taints) Empty() bool { return len(t.Startup)+len(t.Prefixes)+len(t.Status) == 0 }

// The prefixes of keys that cluster-autoscaler knows by themselves.
const (
	startupPrefix = "startup-taint.cluster-autoscaler.kubernetes.io/"
	ignorePrefix  = "ignore-taint.cluster-autoscaler.kubernetes.io/"
	statusPrefix  = "status-taint.cluster-autoscaler.kubernetes.io/"
)

// ShutdownTaint is the key of the taint that cloud controllers put on a node while its machine is switched off. Sluice does so where none
// runs.
const ShutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"

// Shut is that taint.
var Shut = corev1.Taint{Key: ShutdownTaint, Effect: corev1.TaintEffectNoSchedule}

// UninitializedTaint is the key of the taint with which kubelet registers a node for a cloud controller manager
// (--cloud-provider=external). That takes it off once it has seen the node: where none runs, or it does not know the node, the taint stays,
// and is a startup taint like any other.
const UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// transientTaints come and go with a node's condition; a new machine will not have them when it is Ready.
var transientTaints = map[string]bool{
	RemovalTaint:                       true,
	NoticeTaint:                        true,
	IncumbentTaint:                     true,
	CandidateTaint:                     true,
	corev1.TaintNodeNotReady:           true,
	corev1.TaintNodeUnreachable:        true,
	corev1.TaintNodeUnschedulable:      true,
	corev1.TaintNodeMemoryPressure:     true,
	corev1.TaintNodeDiskPressure:       true,
	corev1.TaintNodePIDPressure:        true,
	corev1.TaintNodeNetworkUnavailable: true,
	corev1.TaintNodeOutOfService:       true,
	ShutdownTaint:                      true,
}

// Transient says whether the taint is about a node's present condition rather than about its group.
func (t Taints) Transient(taint corev1.Taint) bool {
	return transientTaints[taint.Key] || t.startup(taint) || strings.HasPrefix(taint.Key, statusPrefix) || slices.Contains(t.Status, taint.Key)
}

// startup says whether the taint is one that somebody takes off a new node when he is done with it.
func (t Taints) startup(taint corev1.Taint) bool {
	return taint.Key == UninitializedTaint || strings.HasPrefix(taint.Key, startupPrefix) || strings.HasPrefix(taint.Key, ignorePrefix) || slices.Contains(t.Startup, taint.Key) ||
		slices.ContainsFunc(t.Prefixes, func(prefix string) bool { return strings.HasPrefix(taint.Key, prefix) })
}

// Awaited are those taints of a node that somebody takes off it when he is done with it.
func (t Taints) Awaited(all []corev1.Taint) (found []corev1.Taint) {
	for _, taint := range all {
		if t.startup(taint) {
			found = append(found, taint)
		}
	}
	return found
}

// Remover is who takes a startup taint with that key off a new node, in words; "" for any other taint.
func (t Taints) Remover(key string) string {
	switch {
	case key == UninitializedTaint:
		return "a cloud controller manager"
	case t.startup(corev1.Taint{Key: key}):
		return "the taint's controller"
	}
	return ""
}

// arrivalTaints stand on a node until whoever brings it up has seen that it is Ready.
var arrivalTaints = map[string]bool{
	corev1.TaintNodeNotReady:           true,
	corev1.TaintNodeNetworkUnavailable: true,
}

// Arriving says whether a node still bears a taint of its arrival, which will be taken off by itself: controllers do that a moment after
// kubelet has said that the node is Ready.
func (t Taints) Arriving(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return arrivalTaints[taint.Key] || t.startup(taint) })
}

// Kind is the word under which cluster-autoscaler counts a taint: the key of its own and of those of a node's condition, the kind of those
// that come and go otherwise, and "other". Sluice's own taint of a removal counts as cluster-autoscaler's.
func (t Taints) Kind(taint corev1.Taint) string {
	switch {
	case taint.Key == RemovalTaint:
		return IncumbentTaint
	case taint.Key == UninitializedTaint:
		return taint.Key
	case strings.HasPrefix(taint.Key, ignorePrefix):
		return ignorePrefix
	case t.startup(taint):
		return "startup-taint"
	case strings.HasPrefix(taint.Key, statusPrefix) || slices.Contains(t.Status, taint.Key):
		return "status-taint"
	case transientTaints[taint.Key] && taint.Key != NoticeTaint:
		return taint.Key
	}
	return "other"
}

// Lasting are the taints of a node that are about its group.
func (t Taints) Lasting(all []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(all), t.Transient)
}

// without is a template without taints that come and go: itself where it has none.
func (t Taints) without(template *corev1.Node) *corev1.Node {
	if template == nil || !slices.ContainsFunc(template.Spec.Taints, t.Transient) {
		return template
	}
	out := template.DeepCopy()
	out.Spec.Taints = t.Lasting(out.Spec.Taints)
	return out
}

// GivenBack is the node as it is after it was given back: what else keeps pods away from it stays there.
func GivenBack(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == RemovalTaint || t.Key == ShutdownTaint || t.Key == corev1.TaintNodeUnschedulable
	})
	return out
}
