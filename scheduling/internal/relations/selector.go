package relations

import (
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Selector says which pods an affinity term, or a spread constraint, is about. All that is equal in the world shares one.
type Selector struct {
	ID    int32
	terms []Term // a pod must match all of them

	counters []*Counter // of pods that it selects
	owners   []*Counter // of pods that want nobody near whom it selects
}

// Selects says whether pods of that namespace with these labels match.
func (s *Selector) Selects(namespace string, l labels.Set) bool {
	for i := range s.terms {
		if !s.terms[i].matches(namespace, l) {
			return false
		}
	}
	return true
}

// Counters count the pods that the selector matches. The slice must not be changed.
func (s *Selector) Counters() []*Counter { return s.counters }

// Owners count the pods that want nobody near whom the selector matches. The slice must not be changed.
func (s *Selector) Owners() []*Counter { return s.owners }

// Count counts n pods more of the entry, which the selector matches, and fewer when n is negative. At is the number of the change.
func (s *Selector) Count(h nodes.Handle, e *nodes.Entry, n int32, at uint64) {
	for _, k := range s.counters {
		if k.Counts(e) {
			k.Add(h, n, at)
		}
	}
}

// counter is the counter of that topology and scope, and whether it was made.
func (s *Selector) counter(t *nodes.Topology, in *Scope) (*Counter, bool) {
	for _, k := range s.counters {
		if k.topology == t && k.scope == in {
			return k, false
		}
	}
	k := &Counter{topology: t, scope: in, selector: s}
	if in != nil {
		in.open(k)
	}
	s.counters = append(s.counters, k)
	return k, true
}

// ownersOf is the counter of owners of that topology.
func (s *Selector) ownersOf(t *nodes.Topology) *Counter {
	for _, k := range s.owners {
		if k.topology == t {
			return k
		}
	}
	k := &Counter{topology: t}
	s.owners = append(s.owners, k)
	return k
}
