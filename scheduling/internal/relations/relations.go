// Package relations holds what pods say of each other: PodTopologySpread and InterPodAffinity.
//
//	file        what it owns
//	term        whom one term of a pod is about: a namespace, labels
//	selector    pods that match all terms of a list, and how many of them each domain of a topology has
//	scope       the nodes over which spread constraints that are alike spread their pods
//	relations   all selectors and scopes of a world
//
// A counter is kept up as pods come and go, so a question costs one look at a number.
//
//	a constraint of a pod             counts                                     is kept while
//	topologySpreadConstraints         pods it selects, by domain, in a scope     count + itself - least <= maxSkew
//	podAffinity                       pods that match all of its terms           each term's domain has one, or the pod is the first
//	podAntiAffinity                   pods that match the term                   the domain has none
//	podAntiAffinity of another pod    owners of the term that match the pod      the domain has none
//
// A term of anti-affinity that leaves out the pod's own like is a difference: of what one counter has, another one's is taken off. No
// difference is below 0, so the sum over terms is above 0 where one of them is.
package relations

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Relations is all that pods of one world say of each other. Everything is numbered in the order in which it was met and stays.
type Relations struct {
	clock      *journal.Clock
	table      *nodes.Table
	rules      *nodes.Rules
	namespaces map[string]map[string]string // labels by name, of those that are known
	selectors  []*Selector
	byKey      map[string]*Selector
	byLabel    map[where][]*Selector
	anywhere   []*Selector // that no label of byLabel leads to
	scopes     []*Scope
	scopeOf    map[scopeKey]*Scope
	repelling  bool       // some class has required anti-affinity
	late       []*Counter // that do not count yet the pods which are there
}

// where is a namespace, "" for several, with a label that pods must have for a selector to match them.
type where struct{ namespace, key, value string }

// New knows no selector yet.
func New(clock *journal.Clock, t *nodes.Table, rules *nodes.Rules, namespaces []*corev1.Namespace) *Relations {
	r := &Relations{
		clock: clock, table: t, rules: rules, namespaces: make(map[string]map[string]string, len(namespaces)),
		byKey: map[string]*Selector{}, byLabel: map[where][]*Selector{}, scopeOf: map[scopeKey]*Scope{},
	}
	for _, ns := range namespaces {
		r.namespaces[ns.Name] = ns.Labels
	}
	return r
}

// Known is how many selectors there are. They are numbered below it, and none ever goes: a checker that knows too many is made anew.
func (r *Relations) Known() int { return len(r.selectors) }

// Repelling says whether some class of pods has required anti-affinity.
func (r *Relations) Repelling() bool { return r.repelling }

// Selector is the shared record of pods that match all of the terms.
func (r *Relations) Selector(terms ...Term) *Selector {
	keys := make([]string, len(terms))
	for i := range terms {
		keys[i] = terms[i].key
	}
	key := strings.Join(keys, "\x01")
	if s, ok := r.byKey[key]; ok {
		return s
	}
	s := &Selector{ID: int32(len(r.selectors)), terms: terms}
	r.byKey[key] = s
	r.selectors = append(r.selectors, s)
	r.file(s)
	return s
}

// file puts a selector under a label without which it matches no pod, where there is one; of several under that which fewest share. A
// cluster with a thousand apps has a thousand selectors, and a pod of one of them is looked up by its few labels instead of being shown to
// all.
func (r *Relations) file(s *Selector) {
	var under []where
	least := 0
	for i := range s.terms {
		t := &s.terms[i]
		all, _ := t.labels.Requirements()
		for _, wanted := range all {
			if op := wanted.Operator(); op != operator.In && op != operator.Equals && op != operator.DoubleEquals {
				continue
			}
			var here []where
			n := 0
			for _, value := range wanted.ValuesUnsorted() {
				at := where{t.only, wanted.Key(), value}
				here = append(here, at)
				n += len(r.byLabel[at])
			}
			if under == nil || n < least {
				under, least = here, n
			}
		}
	}
	if under == nil {
		r.anywhere = append(r.anywhere, s)
	}
	for _, at := range under {
		r.byLabel[at] = append(r.byLabel[at], s)
	}
}

// few is how many selectors are tried one by one rather than looked up. Which way is taken makes no difference to what is found.
const few = 8

// Matching are the selectors that match pods of a namespace with these labels, from the one numbered from on, in order.
func (r *Relations) Matching(namespace string, l labels.Set, from int) []*Selector {
	var out []*Selector
	try := func(all []*Selector) {
		for _, s := range all {
			if int(s.ID) >= from && s.Selects(namespace, l) {
				out = append(out, s)
			}
		}
	}
	// Classes are shown new selectors as these come, mostly one at a time: then a look at it is cheaper than a look at each label.
	if len(r.selectors)-from < few {
		try(r.selectors[from:])
		return out
	}
	try(r.anywhere)
	for key, value := range l {
		try(r.byLabel[where{namespace, key, value}])
		try(r.byLabel[where{"", key, value}])
	}
	slices.SortFunc(out, func(a, b *Selector) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Counter is the counter of pods that the selector matches, by topology; in a scope it leaves out pods that are being deleted.
// A new one is among the [Relations.Late], and counts nothing until somebody fills it.
func (r *Relations) Counter(s *Selector, t *nodes.Topology, in *Scope) *Counter {
	k, made := s.counter(t, in)
	if made {
		r.late = append(r.late, k)
	}
	return k
}

// Late are the counters that do not count yet the pods which are there. Whoever asks fills them, so each is returned once.
func (r *Relations) Late() []*Counter {
	late := r.late
	r.late = nil
	return late
}

// Owners is the counter of pods with a term of required anti-affinity against whom the selector matches, by topology. It is made when the
// first class with such a term is met, so no pod of them is there yet.
func (r *Relations) Owners(s *Selector, t *nodes.Topology) *Counter {
	r.repelling = true
	return s.ownersOf(t)
}

// scopeKey tells scopes apart.
type scopeKey struct {
	keys                             string
	topology, selection, tolerations int32 // -1 for none
}

// Scope is the shared record of the nodes that have all of these labels, are selected, and have no taint that is not tolerated. A selection
// or tolerations that are nil leave out nobody.
func (r *Relations) Scope(t *nodes.Topology, keys []*nodes.Topology, sel *nodes.Selection, tol *nodes.Tolerations) *Scope {
	key := scopeKey{topology: t.ID, selection: -1, tolerations: -1}
	if sel != nil {
		key.selection = sel.ID
	}
	if tol != nil {
		key.tolerations = tol.ID
	}
	ids := make([]byte, 0, 2*len(keys))
	for _, k := range keys {
		ids = append(ids, byte(k.ID), byte(k.ID>>8))
	}
	key.keys = string(ids)
	if s, ok := r.scopeOf[key]; ok {
		return s
	}
	s := &Scope{ID: int32(len(r.scopes)), Topology: t, keys: keys, selection: sel, tolerations: tol}
	for h := range nodes.Handle(r.table.Size()) {
		if r.table.Present(h) && s.wants(r.rules, h) {
			s.join(h, r.clock.Last())
		}
	}
	r.scopeOf[key] = s
	r.scopes = append(r.scopes, s)
	return s
}

// Join counts a node that has come, before its pods: a spread counts a pod only on a node of its scope.
func (r *Relations) Join(h nodes.Handle) {
	for _, s := range r.scopes {
		if s.wants(r.rules, h) {
			s.join(h, r.clock.Last())
		}
	}
}

// Leave forgets a node, after its pods.
func (r *Relations) Leave(h nodes.Handle) {
	for _, s := range r.scopes {
		s.leave(h)
	}
}
