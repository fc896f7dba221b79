package relations

import (
	"slices"

	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Scope is the nodes over which spread constraints that are alike in this spread their pods, and their domains. A domain counts as long as
// one of the nodes is in it. Its counters are opened for a domain before pods of the first node are counted, and closed after the last's.
//
// A node belongs to it by what the pod's spec says, and not by its room: a zone that is full still holds the least number of pods, and
// keeps pods from other zones. nodeAffinityPolicy and nodeTaintsPolicy say which parts of the spec count.
type Scope struct {
	ID          int32
	Topology    *nodes.Topology
	keys        []*nodes.Topology  // a node must have all of these labels
	selection   *nodes.Selection   // and be selected, nil for any node
	tolerations *nodes.Tolerations // and have no taint that is not tolerated, nil for any node
	in          []bool             // by node: it is one of the nodes, and present; those beyond the end are not
	nodes       []int32            // by domain
	domains     int32              // that have nodes
	counters    []*Counter
}

// counts says whether the node is one of the scope's.
func (s *Scope) counts(h nodes.Handle) bool { return int(h) < len(s.in) && s.in[h] }

// wants says whether a node that is present belongs to the scope.
func (s *Scope) wants(rules *nodes.Rules, h nodes.Handle) bool {
	if slices.ContainsFunc(s.keys, func(t *nodes.Topology) bool { return t.Of(h) < 0 }) {
		return false
	}
	return rules.Selected(s.selection, h) && (s.tolerations == nil || rules.Tolerated(s.tolerations, h)&nodes.Taints != 0)
}

// open has a new counter count in the domains that have nodes.
func (s *Scope) open(k *Counter) {
	s.counters = append(s.counters, k)
	for d, n := range s.nodes {
		if n > 0 {
			k.open(int32(d), 0)
		}
	}
}

// join counts a node that has come.
func (s *Scope) join(h nodes.Handle, at uint64) {
	s.in = nodes.Reach(s.in, h, false)
	s.in[h] = true
	d := s.Topology.Of(h)
	s.nodes = nodes.Reach(s.nodes, d, 0)
	s.nodes[d]++
	if s.nodes[d] > 1 {
		return
	}
	s.domains++
	for _, k := range s.counters {
		k.open(d, at)
	}
}

// leave forgets a node. Its pods are off the counters by then: those that are counted off later are passed over, and a domain that comes
// back would still have them.
func (s *Scope) leave(h nodes.Handle) {
	if !s.counts(h) {
		return
	}
	s.in[h] = false
	d := s.Topology.Of(h)
	s.nodes[d]--
	if s.nodes[d] > 0 {
		return
	}
	s.domains--
	for _, k := range s.counters {
		k.close(d)
	}
}
