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

// Owners count the pods that want nobody near whom the selector matches, less those that leave these out. So the sum over all selectors
// that match a pod is what says something. The slice must not be changed.
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

// ownersOf is the counter of owners of that topology. It has no selector, as it counts those who have the term and not those whom it is
// about.
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

// Counter counts pods by the domains of a topology, as pods come and go.
//
//	event                    counts[d]   levels                       least
//	a pod comes to d         +1          one domain a level up        may rise, when d was the last of the least
//	a pod leaves d           -1          one domain a level down      may fall, to what d has now
//	d has its first node     as it is    one domain more              may fall, to what d has
//	d has no node any more   as it is    one domain less              may rise
//
// Levels make the least a matter of a few steps. A search of all domains for it would cost one look at each whenever a pod is placed.
// Only a spread asks for the least, so a counter without a scope has no levels.
//
// Counts outlive the nodes of a domain: those who count pods take them off node by node before the node leaves, and a domain that comes
// back begins with what is left, which is nothing.
type Counter struct {
	topology *nodes.Topology
	selector *Selector // of the pods that are counted; nil for pods with anti-affinity
	scope    *Scope    // for spread: which nodes count; nil for all
	counts   []int32   // by domain, from the first on; those beyond the ends have none
	first    int32     // domain: pods of a job are in few of many, and there are many jobs
	total    int64     // the sum of counts
	lives    int64     // for anti-affinity: terms of classes that are known now

	// For spread: how many domains of the scope have so many pods, and the least that one of them has. The levels together are as many as
	// the scope has domains. Least is 0 when there is no domain.
	levels []int32
	least  int32

	relaxed uint64 // the change at which a pod that was refused because of this counter may have become welcome
}

// Of is the selector of the pods that are counted, nil for pods with anti-affinity.
func (k *Counter) Of() *Selector { return k.selector }

// Counts says whether the counter counts pods of the entry that its selector matches: spread constraints leave out those that are deleted.
func (k *Counter) Counts(e *nodes.Entry) bool { return k.scope == nil || !e.Leaving() }

// Domain is the node's domain, -1 for none.
func (k *Counter) Domain(h nodes.Handle) int32 { return k.topology.Of(h) }

// Here is how many pods the node's domain has, 0 when it is in none.
func (k *Counter) Here(h nodes.Handle) int32 {
	if d := k.topology.Of(h); d >= 0 {
		return k.count(d)
	}
	return 0
}

// Total is how many pods are counted.
func (k *Counter) Total() int64 { return k.total }

// Relaxed is the last change after which a pod that this counter keeps from a node may be welcome there: the least rose, a domain got its
// first pod, or a domain was opened. Searches go on where they stopped as long as nothing relaxed since. That a pod or a node left is not
// noted here: [journal.Clock] tells of it, for all counters at once.
func (k *Counter) Relaxed() uint64 { return k.relaxed }

// Live notes that so many classes with such a term have come to be known in the snapshot.
func (k *Counter) Live(n int32) { k.lives += int64(n) }

// Lives is how many classes with such a term the snapshot knows.
func (k *Counter) Lives() int64 { return k.lives }

// Lowest is the number that skews are measured against: 0 as long as the scope has fewer domains than it is to have.
func (k *Counter) Lowest(minDomains int32) int32 {
	if k.scope.domains < minDomains {
		return 0
	}
	return k.least
}

// Add counts n pods more on the node, fewer when n is negative. At is the number of the change.
func (k *Counter) Add(h nodes.Handle, n int32, at uint64) {
	d := k.topology.Of(h)
	if d < 0 || k.scope != nil && !k.scope.counts(h) {
		return
	}
	here := k.slot(d)
	was := *here
	is := was + n
	*here = is
	k.total += int64(n)
	if k.scope == nil {
		if was == 0 {
			k.relaxed = at
		}
		return
	}
	k.levels[was]--
	k.levels = nodes.Reach(k.levels, is, 0)
	k.levels[is]++
	least := k.least
	k.settle(is)
	if k.least > least {
		k.relaxed = at
	}
}

// count is how many pods the domain has.
func (k *Counter) count(d int32) int32 {
	if i := int(d - k.first); i >= 0 && i < len(k.counts) {
		return k.counts[i]
	}
	return 0
}

// slot is where the domain's count is. One below the first makes room for as many as there are, as the next one may be below it.
func (k *Counter) slot(d int32) *int32 {
	if len(k.counts) == 0 {
		k.first = d
	}
	if more := k.first - d; more > 0 {
		more = min(max(more, int32(len(k.counts))), k.first)
		k.counts = append(make([]int32, more, int(more)+len(k.counts)), k.counts...)
		k.first -= more
	}
	k.counts = nodes.Reach(k.counts, d-k.first, 0)
	return &k.counts[d-k.first]
}

// open lets a domain count that had no node.
func (k *Counter) open(d int32, at uint64) {
	is := k.count(d)
	k.levels = nodes.Reach(k.levels, is, 0)
	k.levels[is]++
	k.settle(is)
	k.relaxed = max(k.relaxed, at)
}

// close leaves out a domain that has no node any more.
func (k *Counter) close(d int32) {
	k.levels[k.count(d)]--
	k.settle(k.least)
}

// settle finds the least again after a domain has come to have n.
func (k *Counter) settle(n int32) {
	if n < k.least || int(k.least) >= len(k.levels) {
		k.least = min(n, int32(len(k.levels)-1))
	}
	for k.levels[k.least] == 0 && int(k.least) < len(k.levels)-1 {
		k.least++
	}
	if k.levels[k.least] == 0 {
		k.least = 0 // no domain at all
	}
}
