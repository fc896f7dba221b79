// Package whatif changes a pretended world, and takes changes back.
//
//	change    is made by                       is taken back by
//	placed    pods come to a node              their resources, claims and devices are free again
//	departed  some pods leave a node           they come back
//	removed   a node leaves with its pods      it joins again with them
//	added     a node joins with pods           it leaves, and gives up its handle
//	marked    nothing                          nothing
//
// What-ifs stack up. Each can be taken back with all that came after it; the world then answers exactly as before.
package whatif

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/fit"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// World is what is pretended now, and the what-ifs that made it so.
type World struct {
	*fit.Judge
	*journal.Journal[change]
}

// change is a what-if, with all that takes it back.
type change struct {
	what  what
	node  nodes.Handle
	entry nodes.Entry // for placed
	more  *more       // nil for none of it
}

// what is the kind of a change: see the table of the package.
type what uint8

const (
	marked what = iota
	placed
	departed
	removed
	added
)

// more is what few what-ifs need.
type more struct {
	before  []nodes.Entry      // the node's pods, for departed
	left    []nodes.Entry      // those who left
	waited  nodes.Handle       // for placed: the node that the pod had been nominated to
	waiting []nodes.Entry      // those who were, nil when it was not
	decided []storage.Decision // claims that waited for the pod
	given   []devices.Given
}

// further is what the what-if needs beyond the usual.
func (c *change) further() *more {
	if c.more == nil {
		c.more = &more{}
	}
	return c.more
}

// New makes a world in which nothing is pretended.
func New(j *fit.Judge) *World {
	w := &World{Judge: j}
	w.Journal = journal.New(j.Clock, w.revert)
	return w
}

// Mark takes note of what is pretended now. The undo takes back all that was pretended since.
func (w *World) Mark() (undo func()) {
	w.Push(change{what: marked})
	return w.Undo()
}

// Place pretends that pods run on the node, whether they fit there or not. Their claims are decided, and given devices; it says whether
// there were any.
func (w *World) Place(h nodes.Handle, e nodes.Entry) (decided bool) {
	c := w.Push(change{what: placed, node: h, entry: e})
	if waited, waiting := w.Settle(e.Pod); waiting != nil {
		m := c.further()
		m.waited, m.waiting = waited, waiting
		w.Clock.Loosen()
	}
	w.Nodes.AddPods(h, e)
	w.Classes.Count(h, &e, e.N)
	cl := w.Classes.At(e.Class)
	claims, given := w.Storage.Provide(cl.Volumes, h), []devices.Given(nil)
	if d := w.Classes.Claims(cl); d != nil {
		given = w.Devices.Give(d, h, e.N)
	}
	if claims == nil && given == nil {
		return false
	}
	m := c.further()
	m.decided, m.given = claims, given
	return true
}

// Depart pretends that some pods have left the node, which stays where it is.
func (w *World) Depart(h nodes.Handle, leaves func(*nodes.Entry) bool) {
	before := w.Nodes.Pods(h)
	both := make([]nodes.Entry, len(before)) // those who stay, then those who leave
	stay, left := 0, len(before)
	for i := range before {
		if leaves(&before[i]) {
			left--
			both[left] = before[i]
		} else {
			both[stay] = before[i]
			stay++
		}
	}
	w.Push(change{what: departed, node: h, more: &more{before: before, left: both[left:]}})
	w.Clock.Loosen()
	w.Nodes.SetPods(h, both[:stay:stay])
	w.Classes.CountAll(h, both[left:], -1)
}

// Remove pretends that the node, which is present, is gone with its pods.
func (w *World) Remove(h nodes.Handle) {
	w.Push(change{what: removed, node: h})
	w.Clock.Loosen()
	w.Classes.Leave(h)
}

// Add pretends that the node has joined with these pods on it.
func (w *World) Add(node *corev1.Node, pods []nodes.Entry) {
	w.add(func() nodes.Handle { return w.Nodes.Node(node, pods) })
}

// Open pretends that a machine such as the template says has joined.
func (w *World) Open(t *nodes.Template, name string) nodes.Handle {
	return w.add(func() nodes.Handle { return w.Nodes.Machine(name, t) })
}

// add pretends that a row is there. The handle is not known before the what-if has begun, since an undo gives it up.
func (w *World) add(row func() nodes.Handle) nodes.Handle {
	c := w.Push(change{what: added})
	c.node = row()
	w.Classes.Enter(c.node)
	return c.node
}

// revert takes back one what-if, the last that stands.
func (w *World) revert(c *change) {
	switch h := c.node; c.what {
	case placed:
		w.Classes.Count(h, &c.entry, -c.entry.N)
		w.Nodes.DropPods(h)
		if m := c.more; m != nil {
			w.Storage.Withdraw(m.decided)
			w.Devices.Withdraw(m.given)
			if m.waiting != nil {
				w.Unsettle(m.waited, m.waiting)
			}
		}
	case departed:
		w.Nodes.SetPods(h, c.more.before)
		w.Classes.CountAll(h, c.more.left, 1)
	case removed:
		w.Classes.Enter(h)
	case added:
		w.Classes.Leave(h)
		w.Nodes.Drop()
	}
}
