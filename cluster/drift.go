package cluster

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Difference is something in which a group's nodes are not what the cloud's description and tags say.
type Difference struct {
	What    string `json:"what"`    // such as "cpu", "label pool", "taint dedicated:NoSchedule"
	Offered string `json:"offered"` // by the cloud; "none" when it does not speak of it
	Found   string `json:"found"`   // on the node; "none" when it has no such thing
}

// memoryTolerance is the share of its memory that a machine's firmware and kernel may keep to themselves before kubelet counts it.
const memoryTolerance = 0.10

// drift lists what matters to pods when the group is empty and the cloud's word is all there is: how much a node has, and the labels and
// taints that the cloud's description promises. Sorted by What.
func drift(offered, found *corev1.Node) []Difference {
	var list []Difference
	differ := func(what, a, b string) {
		list = append(list, Difference{what, cmp.Or(a, "none"), cmp.Or(b, "none")})
	}
	for name, want := range offered.Status.Capacity {
		have, ok := found.Status.Capacity[name]
		switch {
		case name != corev1.ResourceCPU && name != corev1.ResourceMemory && !extended(name):
		case !ok || have.IsZero() && !want.IsZero():
			differ(string(name), want.String(), "")
		case name == corev1.ResourceMemory && near(want, have):
		case want.Cmp(have) != 0:
			differ(string(name), want.String(), have.String())
		}
	}
	guessed := strings.Split(offered.Annotations[GuessedLabels], ",")
	for key, want := range offered.Labels {
		have, ok := found.Labels[key]
		if slices.Contains(guessed, key) || strings.HasPrefix(key, "failure-domain.beta.kubernetes.io/") || strings.HasSuffix(key, "/zone") && key != corev1.LabelTopologyZone || strings.HasPrefix(key, "beta.kubernetes.io/") || ok && have == want || want == "" && !ok {
			continue
		}
		differ(AboutLabel(key), want, have)
	}
	for _, t := range offered.Spec.Taints {
		if !slices.ContainsFunc(found.Spec.Taints, same(t)) {
			differ(AboutTaint(t), "set", "")
		}
	}
	for _, t := range found.Spec.Taints {
		if !slices.ContainsFunc(offered.Spec.Taints, same(t)) {
			differ(AboutTaint(t), "", "set")
		}
	}
	slices.SortFunc(list, func(a, b Difference) int { return strings.Compare(a.What, b.What) })
	return list
}

// same compares taints by key and effect.
func same(t corev1.Taint) func(corev1.Taint) bool {
	return func(other corev1.Taint) bool { return t.Key == other.Key && t.Effect == other.Effect }
}

func taintName(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

// near says whether a node's memory is the machine's less what firmware and kernel keep.
func near(machine, node resource.Quantity) bool {
	m, n := machine.AsApproximateFloat64(), node.AsApproximateFloat64()
	return n <= m && n >= m*(1-memoryTolerance)
}
