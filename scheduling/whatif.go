package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// whatIf is a change that was made, with all that takes it back.
type whatIf struct {
	number   uint64 // unique, rising
	loosened uint64 // of the checker, before
	entry    entry  // for placed and evicted
	more     *more  // nil for none of it
	node     Handle
	what     change
}

// more is what few what-ifs need.
type more struct {
	before   []entry    // the node's pods, for evicted and cleared; for added those that it came with
	waited   Handle     // for placed: the node that the pod had been nominated to
	waiting  []entry    // those who were, nil when it was not
	provided []provided // claims that waited for the pod
	given    []given    // devices
	seats    []Seat     // for seated
}

// further is what the what-if needs beyond the usual.
func (w *whatIf) further() *more {
	if w.more == nil {
		w.more = &more{}
	}
	return w.more
}

type change uint8

const (
	nothing change = iota
	placed
	seated // pods of one class were placed on many nodes
	evicted
	removed
	added
	cleared
)

// push begins a what-if.
func (c *Checker) push(w whatIf) *whatIf {
	c.last++
	w.number, w.loosened = c.last, c.loosened
	return c.journal.push(w)
}

// Mark takes note of what is pretended now. The undo takes back all that was pretended since.
func (c *Checker) Mark() (undo func()) {
	c.push(whatIf{what: nothing})
	return c.undo()
}

// undo takes back the last what-if and all that will have come after it.
func (c *Checker) undo() func() {
	mark, number := c.journal.len()-1, c.last
	return func() {
		if mark < c.journal.len() && c.journal.at(mark).number == number {
			c.unwind(mark)
		}
	}
}

// unwind takes back all but the first what-ifs.
func (c *Checker) unwind(keep int) {
	for i := c.journal.len() - 1; i >= keep; i-- {
		c.revert(c.journal.at(i))
		c.journal.drop()
	}
}

func (c *Checker) revert(w *whatIf) {
	c.last++ // counters that relax now did so after everything that stands
	switch w.what {
	case placed:
		c.count(w.node, &w.entry, -w.entry.n)
		pods := c.slots[w.node].pods
		c.slots[w.node].pods = pods[:len(pods)-1]
		if m := w.more; m != nil {
			c.unprovide(m.provided)
			c.ungive(m.given)
			if m.waiting != nil {
				c.nominated[m.waited] = m.waiting
			}
		}
	case seated:
		for i := len(w.more.seats) - 1; i >= 0; i-- {
			s := w.more.seats[i]
			e := entry{class: w.entry.class, n: int32(s.Pods)}
			c.count(s.On, &e, -e.n)
			pods := c.slots[s.On].pods
			c.slots[s.On].pods = pods[:len(pods)-1]
		}
	case evicted:
		c.count(w.node, &w.entry, w.entry.n)
		c.slots[w.node].pods = w.more.before
	case removed:
		c.enter(w.node)
	case added:
		c.leave(w.node)
		c.drop()
	case cleared:
		c.uncleared(w)
	}
	c.loosened = w.loosened
}

// Place pretends that the pod runs on the node, whether it fits there or not. The node must be present: losing a pod silently
// would make room that is not there, so anything else panics.
func (c *Checker) Place(p *cluster.Pod, node string) (undo func()) {
	h, ok := c.byName[node]
	if !ok {
		panic(fmt.Sprintf("scheduling: place %s: node %q is not present", p, node))
	}
	c.put(h, entry{p, c.class(p.Class).id, 1})
	return c.undo()
}

// PlaceMany pretends that n pods of the class run on the node, whether they fit there or not. They have no names.
func (c *Checker) PlaceMany(of *cluster.Class, n int, h Handle) {
	c.put(h, entry{class: c.class(of).id, n: int32(n)})
}

// put has pods run on the node. Their claims are decided, and given devices; it says whether there were any.
func (c *Checker) put(h Handle, e entry) (decided bool) {
	cl := c.classes[e.class]
	if cl.unkept {
		c.giveUp(cl, cl.lodged[0])
	}
	w := c.lodge(h, e)
	if provided, given := c.provide(cl, h), c.give(cl, h, e.n); provided != nil || given != nil {
		m := w.further()
		m.provided, m.given = provided, given
		return true
	}
	return false
}

// lodge counts pods on the node, as one that only waits for it counts.
func (c *Checker) lodge(h Handle, e entry) *whatIf {
	w := c.push(whatIf{what: placed, node: h, entry: e})
	if waited, waiting := c.settle(e.pod); waiting != nil {
		m := w.further()
		m.waited, m.waiting = waited, waiting
		c.loosened = c.last
	}
	c.columns()
	c.slots[h].pods = append(c.slots[h].pods, e)
	c.count(h, &e, e.n)
	return w
}

// Evict pretends that the pod of that namespace and name has left the node. A pod that is not there changes nothing.
func (c *Checker) Evict(p *cluster.Pod, node string) (undo func()) {
	h, ok := c.byName[node]
	if !ok {
		return c.Mark()
	}
	before := c.slots[h].pods
	i := slices.IndexFunc(before, func(e entry) bool {
		return e.pod != nil && (e.pod == p || e.pod.Namespace == p.Namespace && e.pod.Name == p.Name)
	})
	if i < 0 {
		return c.Mark()
	}
	e := before[i]
	c.push(whatIf{what: evicted, node: h, entry: e, more: &more{before: before}})
	c.loosened = c.last
	c.slots[h].pods = slices.Concat(before[:i], before[i+1:])
	c.count(h, &e, -e.n)
	return c.undo()
}

// Remove pretends that the node is gone, with its pods. A node that is not present changes nothing.
func (c *Checker) Remove(node string) (undo func()) {
	h, ok := c.byName[node]
	if !ok {
		return c.Mark()
	}
	c.push(whatIf{what: removed, node: h})
	c.loosened = c.last
	c.leave(h)
	return c.undo()
}

// Add pretends that the node has joined with these pods on it. Its name must not be that of a node that is present now: two
// nodes in one would hide a machine, so that panics. [Future] makes a node of a template, [Checker.Daemons] its first pods.
func (c *Checker) Add(node *corev1.Node, pods ...*cluster.Pod) (undo func()) {
	c.add(slot{name: node.Name, node: node, pods: c.entries(nil, pods)})
	return c.undo()
}

// Open pretends that a machine such as the template says has joined under that name, which must be new. It copies nothing: the node
// object is made when somebody asks for it, and the pods that it carries are the template's own.
func (c *Checker) Open(t *Template, name string) Handle {
	return c.add(slot{name: name, template: t, pods: t.pods})
}

func (c *Checker) add(s slot) Handle {
	if _, ok := c.byName[s.name]; ok {
		panic(fmt.Sprintf("scheduling: add node %q: it is present", s.name))
	}
	w := c.push(whatIf{what: added, more: &more{before: s.pods}})
	w.node = c.slot(s)
	c.enter(w.node)
	return w.node
}
