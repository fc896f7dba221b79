package kube

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// shares keeps one copy of what the nodes that one observer follows have in common: texts of labels and conditions, and amounts of
// resources, which machines of a size have alike. It forgets what no node has any more when that has become much.
type shares struct {
	texts   map[string]string
	amounts map[string]corev1.ResourceList // by what they say
	kept    int                            // how many of both there were when it last forgot some
}

// spareShares is how many texts and amounts more than twice those in use may be remembered.
const spareShares = 10_000

// node makes a trimmed node share its parts; it changes the node that it is given and returns it.
func (s *shares) node(n *corev1.Node) *corev1.Node {
	n.Name = s.text(n.Name) // also a label, and the name of the machine's address
	n.Labels = s.pairs(n.Labels)
	n.Annotations = s.pairs(n.Annotations)
	n.Status.Capacity, n.Status.Allocatable = s.list(n.Status.Capacity), s.list(n.Status.Allocatable)
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		c.Type, c.Status = corev1.NodeConditionType(s.text(string(c.Type))), corev1.ConditionStatus(s.text(string(c.Status)))
		c.Reason = s.text(c.Reason)
	}
	for i := range n.Status.Addresses {
		a := &n.Status.Addresses[i]
		a.Type, a.Address = corev1.NodeAddressType(s.text(string(a.Type))), s.text(a.Address)
	}
	info := &n.Status.NodeInfo
	info.OperatingSystem, info.Architecture = s.text(info.OperatingSystem), s.text(info.Architecture)
	return n
}

// tidy begins anew with the nodes that are followed.
func (s *shares) tidy(held map[name]*corev1.Node) {
	if s.len() <= 2*s.kept+spareShares {
		return
	}
	*s = shares{}
	for _, n := range held {
		s.list(n.Status.Capacity)
		s.list(n.Status.Allocatable)
		s.node(n.DeepCopy()) // whose texts are those of the node that is held, which nobody may change
	}
	s.kept = s.len()
}

func (s *shares) len() int { return len(s.texts) + len(s.amounts) }

func (s *shares) text(t string) string {
	if known, ok := s.texts[t]; ok {
		return known
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[t] = t
	return t
}

// pairs is a map of the same pairs that is no larger than it needs to be.
func (s *shares) pairs(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	own := make(map[string]string, len(m))
	for k, v := range m {
		own[s.text(k)] = s.text(v)
	}
	return own
}

func (s *shares) list(l corev1.ResourceList) corev1.ResourceList {
	if l == nil {
		return nil
	}
	var says strings.Builder
	for _, resource := range slices.Sorted(maps.Keys(l)) {
		amount := l[resource]
		says.WriteString(string(resource) + "=" + amount.String() + "\n")
	}
	if known, ok := s.amounts[says.String()]; ok {
		return known
	}
	if s.amounts == nil {
		s.amounts = map[string]corev1.ResourceList{}
	}
	s.amounts[says.String()] = l
	return l
}
