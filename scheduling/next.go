package scheduling

import (
	"cmp"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
)

// next makes the checker one of a later snapshot, for the price of what changed. It says false, and leaves the work to be done anew,
// when what was known of pods and nodes no longer holds or is mostly about what is gone.
func (c *Checker) next(s *cluster.Snapshot) bool {
	if !slices.Equal(c.snapshot.Objects.Namespaces, s.Objects.Namespaces) || c.known() > 2*c.size+spare {
		return false
	}
	c.unwind(0)
	c.founded = Handle(len(c.slots))
	c.hardware.forget(c.classes)
	c.hardware = nil
	last := c.snapshot
	c.snapshot = s
	c.snapshots++
	for _, cl := range c.asked {
		cl.enliven(-1)
	}
	c.asked = c.asked[:0]
	if !sameStorage(&last.Objects, &s.Objects) {
		c.disown()
		c.restock()
	}
	if !same(last.Nodes, s.Nodes) {
		c.turnNodes(last.Nodes, s.Nodes)
	}
	c.names = nil
	if same(last.Pending, s.Pending) && same(last.Nodes, s.Nodes) {
		return true
	}
	gone, pods := s.PendingSince(last)
	c.await(pods, 1)
	c.await(gone, -1)
	if c.hopeful || slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Nominated() != "" }) {
		pods = s.Pending
	}
	c.gather = true
	wait := c.expect(pods)
	c.gather = false
	c.countLate()
	c.hopeful = len(wait) > 0
	c.nominate(wait)
	return true
}

// same says whether two lists are one, and not only equal.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// turnNodes puts later nodes in the place of earlier ones, both in the order of names.
func (c *Checker) turnNodes(last, nodes []*cluster.Node) {
	order := make([]Handle, len(nodes))
	i := 0
	for j, n := range nodes {
		for i < len(last) && last[i] != n && strings.Compare(last[i].Name(), n.Name()) < 0 {
			c.bury(c.order[i])
			i++
		}
		if i == len(last) || last[i] != n && last[i].Name() != n.Name() {
			order[j] = c.slot(slot{name: n.Name(), node: n.Object, pods: slices.Clip(c.entries(nil, n.Pods)), seen: n, load: c.load(n.Pods)})
			c.house(c.slots[order[j]].pods, 1)
			c.enter(order[j])
			c.slots[order[j]].turned = c.snapshots
			continue
		}
		order[j] = c.order[i]
		c.turn(order[j], last[i], n)
		i++
	}
	for ; i < len(last); i++ {
		c.bury(c.order[i])
	}
	c.order = order
}

// spare is how much may be known beyond twice what the first snapshot had.
const spare = 4096

// known is how much the checker has to remember.
func (c *Checker) known() int {
	return len(c.classOf) + len(c.selectors) + len(c.slots) - len(c.awaited) + len(c.taintKinds) + len(c.tolerations) + len(c.selections)
}

// bury gives up the place of a node that is gone for good.
func (c *Checker) bury(h Handle) {
	c.vacate(h)
	c.house(c.slots[h].pods, -1)
	c.leave(h)
	c.slots[h].pods = nil
}

// turn puts a later view of a node in the place of an earlier one.
func (c *Checker) turn(h Handle, was, is *cluster.Node) {
	if was == is || was.Object == is.Object && slices.Equal(was.Pods, is.Pods) {
		return
	}
	c.slots[h].turned = c.snapshots
	c.vacate(h)
	if was.Object == is.Object {
		c.exchange(h, was.Pods, is.Pods)
		c.slots[h].seen = is
		return
	}
	c.house(c.slots[h].pods, -1)
	c.leave(h)
	c.slots[h].node = is.Object
	c.taints[h] = c.taintKind(is.Object)
	for _, t := range c.topologies {
		t.put(c, h)
	}
	for _, l := range c.lenses {
		if int(h) < len(l.of) {
			l.of[h] = -1
		}
	}
	c.slots[h].pods, c.slots[h].seen, c.slots[h].load = slices.Clip(c.entries(nil, is.Pods)), is, c.load(is.Pods)
	c.house(c.slots[h].pods, 1)
	c.enter(h)
}

// exchange has other pods run on a node that is the same. Both lists are in the order of names.
func (c *Checker) exchange(h Handle, was, is []*cluster.Pod) {
	s := &c.slots[h]
	before, load, left := s.pods, s.load, false
	now := make([]entry, 0, len(before)+max(0, len(is)-len(was)))
	ends := func(p *cluster.Pod) {
		cl := c.class(p.Class)
		load.count(cl, -1)
		left = left || p.Leaving()
		if len(before) > 0 && before[0].pod == p {
			c.count(h, &before[0], -1)
			cl.enliven(-1)
			before = before[1:]
		}
	}
	for _, p := range is {
		for len(was) > 0 && was[0] != p && beforeByName(was[0], p) {
			ends(was[0])
			was = was[1:]
		}
		if len(was) > 0 && was[0] == p {
			if was = was[1:]; len(before) > 0 && before[0].pod == p {
				now, before = append(now, before[0]), before[1:]
			}
			continue
		}
		cl := c.class(p.Class)
		load.count(cl, 1)
		load.leaving = load.leaving || p.Leaving() && !p.Daemon()
		if !cl.absent {
			now = append(now, entry{p, cl.id, 1})
			c.columns()
			c.count(h, &now[len(now)-1], 1)
			cl.enliven(1)
		}
	}
	for _, p := range was {
		ends(p)
	}
	if left {
		load = c.load(is)
	}
	s.pods, s.load = slices.Clip(now), load
}

// beforeByName says whether a comes before b where pods are in the order of names.
func beforeByName(a, b *cluster.Pod) bool {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name)) < 0
}
