package fleet

import (
	"cmp"
	"slices"
	"time"
)

// View is a ledger at an instant, with each group counted at most once. It is for one goroutine.
type View struct {
	ledger Ledger
	now    Instant
	counts map[GroupID]*count
}

// At is the view of the ledger then.
func (l Ledger) At(now Instant) *View {
	return &View{ledger: l, now: now, counts: map[GroupID]*count{}}
}

// With is the view as if so much had been asked for by now, too.
func (v *View) With(asked ...Asked) *View {
	all := make([]Observation, len(asked))
	for i, a := range asked {
		all[i] = a
	}
	next := v.ledger.Observe(v.now, all...).At(v.now)
	for id, c := range v.counts {
		if next.ledger.groups[id] == v.ledger.groups[id] {
			next.counts[id] = c
		}
	}
	return next
}

// Bounds are how many machines of a group may be what.
type Bounds struct {
	Ready        int // nodes that are Ready, and nobody asked their machines to go
	Sure         int // machines that are there for certain
	Run          int // machines that may run: the ceiling
	Stay         int // machines that may be there, running or off, and those that were asked for: the floor of every capacity
	Off          int // machines that are off for certain
	Hidden       int // machines that the list lacks, and nobody said that they leave
	Coming       int // machines that are on their way to be nodes, and those that were asked for and no list shows
	Lost         int
	Unregistered int // machines that run and have no Node object, and nobody knows that they ever were nodes
	Machine      int // machines that are not gone for certain
}

// count is a group with what is counted of it.
type count struct {
	*group
	Bounds
	open        bool // a loss is not acknowledged, and its machine not gone
	objectsLost int  // machines whose Node objects went, and nobody knows why
	nodes       int  // machines that are or were nodes, or may have been, and are not gone
	before      int  // how many of them there were when many were lost together, if that is so and they were fewer
	unknown     int  // machines that run without a Node object, and nobody knows whether they ever were nodes
	kept        int  // those of them that may run, and that nobody asked to go
	charged     int  // machines for which the budget is charged within the window
	base        int  // of how many nodes that is a share: those there were when the window began, or fewer when others have gone since
	paced       bool
	leaving     int // of those that lost their work together: how many were removed within the window
	half        int // how many may be

	named map[string][]int // the places of the group's machines by their instance ids, once somebody asked
}

// Bounds are those of a group; zero for one that is not known.
func (v *View) Bounds(id GroupID) Bounds { return v.count(id).Bounds }

// Capacity is how many machines the cloud wanted last of a group, those that are off among them; 0 for one of which it keeps no number.
func (v *View) Capacity(id GroupID) int { return v.count(id).capacity }

// Latched says whether many nodes of the group, or of all groups together, were lost at once and are not accounted for: since when, how
// many, and of how many.
func (v *View) Latched(id GroupID) (from Instant, lost, of int, holds bool) {
	t := v.latch(v.count(id))
	return t.From, t.Lost, t.Of, t.holds()
}

// latch is the one that holds for a group: its own, or that of all groups together. The latter holds for no group whose losses a person has
// acknowledged: those of other groups are another matter.
func (v *View) latch(c *count) latch {
	if c.latch.holds() || c.Lost > 0 && !c.open {
		return c.latch
	}
	return v.ledger.latch
}

// May is what may be true of a machine; 0 for one that is not known.
func (v *View) May(id GroupID, uid UID) Set {
	if m := v.count(id).machine(uid); m != nil {
		return m.may()
	}
	return 0
}

// Life is what a machine is as a node, false for one that is not known.
func (v *View) Life(id GroupID, uid UID) (Life, bool) {
	m := v.count(id).machine(uid)
	if m == nil {
		return Lost, false
	}
	return m.life(v.now, v.ledger.began, v.ledger.horizon), true
}

// Leaving is since when the machine is leaving, as the cloud said; never for one that is not.
func (v *View) Leaving(id GroupID, uid UID) Instant {
	if m := v.count(id).machine(uid); m != nil && m.cloud.leaves() {
		return m.cloud.Word
	}
	return 0
}

// Acknowledged says whether a person knows that the machine is lost.
func (v *View) Acknowledged(id GroupID, uid UID) bool {
	m := v.count(id).machine(uid)
	if m == nil {
		return false
	}
	lost := m.lost(v.now, v.ledger.began, v.ledger.horizon)
	return lost != 0 && lost <= m.node.Known
}

// Joined says whether the machine was a Ready node once, as far as anybody knows.
func (v *View) Joined(id GroupID, uid UID) bool {
	m := v.count(id).machine(uid)
	return m != nil && m.node.Joined != 0
}

// Own says whether the machine is this cluster's: a growth of sluice's made it, or it was a Ready node, as far as anybody knows.
func (v *View) Own(id GroupID, uid UID) bool {
	if v == nil {
		return false
	}
	m := v.count(id).machine(uid)
	return m != nil && (m.cloud.Ours || m.node.Joined != 0)
}

// triesAgain is how long a machine is given to join at least once its name is free: an agent of K3s that was turned away tries every ten
// seconds.
const triesAgain = time.Minute

// Waits is since when a machine is waited for to become a node, or to be Ready again: the last of when a list first showed that it runs, it
// was started, its node fell silent and its Node object went; never for one that is not known. Again says that it was started since its
// node fell silent.
func (v *View) Waits(id GroupID, uid UID) (since Instant, again bool) {
	g, h := v.count(id), v.ledger.horizon
	m := g.machine(uid)
	if m == nil {
		return 0, false
	}
	c, n := &m.cloud, &m.node
	if since = c.Up; c.State != Off {
		since = max(since, c.Turned)
	}
	again = n.Silent != 0 && since > n.Silent
	if since = max(since, n.Silent); !n.Object {
		since = max(since, n.At)
	}
	if v.now.Sub(since) > h.Provision-triesAgain {
		since = max(since, g.freed(m, v.now).Add(triesAgain-h.Provision))
	}
	return since, again
}

// freed is when the Node object of an earlier machine of the same instance id, and so of the same name, went: now for one that is there
// still.
func (c *count) freed(m *machine, now Instant) (at Instant) {
	if c.named == nil {
		c.named = make(map[string][]int, len(c.machines))
		for i := range c.machines {
			id := c.machines[i].cloud.ID
			c.named[id] = append(c.named[id], i)
		}
	}
	for _, i := range c.named[m.cloud.ID] {
		switch o := &c.machines[i]; {
		case o.cloud.Created >= m.cloud.Created:
		case o.node.Object:
			return now
		default:
			at = max(at, o.node.At)
		}
	}
	return at
}

func (v *View) count(id GroupID) *count {
	if c := v.counts[id]; c != nil {
		return c
	}
	g := v.ledger.groups[id]
	if g == nil {
		g = &group{id: id}
	}
	c := &count{group: g}
	c.run(v)
	v.counts[id] = c
	return c
}

// run counts the group.
func (c *count) run(v *View) {
	l, h, now := v.ledger, v.ledger.horizon, v.now
	var spells []spell
	for i := range c.machines {
		m := &c.machines[i]
		if within(m.node.Charged, now, h.Window) {
			c.charged++
		}
		may := m.may()
		if m.node.Idle != 0 && !m.node.Ended {
			spells = append(spells, spell{m.node.Idle, may.Has(Here) && !m.cloud.goes()})
		}
		if may == Gone {
			continue
		}
		c.Machine++
		c.open = c.open || m.loss(now, l.began, h) > m.node.Known
		c.add(m, may, m.life(now, l.began, h), m.lost(now, l.began, h))
	}
	if c.Ready == 0 { // else its machines join, and what is lost may have been a node
		c.Unregistered += c.unknown
	}
	if c.before = c.nodes; c.latch.Of > 0 {
		c.before = min(c.before, c.latch.Of)
	}
	unseen, unnumbered, asked := 0, 0, 0
	for _, r := range slices.Backward(c.grants) {
		switch {
		case !r.counts():
		case r.Token != "":
			asked += r.To - r.From
			unnumbered = max(unnumbered, asked-c.made(r.At.Add(-h.Node))) // what was made before is none of it, by clocks that differ
		default:
			unseen = max(unseen, r.To-c.removed(r.At)+c.returned(r.At)-c.Stay)
		}
	}
	unseen += unnumbered
	c.Coming += unseen
	c.Stay += unseen
	c.Run += unseen
	c.base = min(c.nodesAt(now.Add(-h.Window)), c.kept)
	c.pace(spells, now, h)
}

func (c *count) add(m *machine, may Set, life Life, lost Instant) {
	w, n := &m.cloud, &m.node
	if life == Ready && m.stays() {
		c.Ready++
	}
	if m.sure(may) {
		c.Sure++
	}
	if may.Has(Here) {
		c.Run++
	}
	if may.Has(Here | IsOff) {
		c.Stay++
	}
	if may == IsOff {
		c.Off++
	}
	if w.Absent != 0 && !w.leaves() && !w.pending(Delete) {
		c.Hidden++
	}
	if n.Joined != 0 && may.Has(Here) && !w.goes() {
		c.kept++
	}
	if n.Joined != 0 || lost != 0 && !n.Object {
		c.nodes++
	}
	if lost > n.Known && !n.Object {
		c.objectsLost++
	}
	switch unregistered := n.Joined == 0 && !n.Object && w.State == Running; {
	case unregistered && life == Unregistered:
		c.Unregistered++
	case unregistered && life == Lost:
		c.unknown++
	}
	switch life {
	case Coming:
		c.Coming++
	case Lost:
		c.Lost++
	}
}

// made counts the machines that lists have had and that were made since then.
func (c *count) made(since Instant) int {
	n := 0
	for i := range c.machines {
		if w := &c.machines[i].cloud; w.State != Unlisted && w.Created >= since {
			n++
		}
	}
	return n
}

// removed counts the machines that sluice has deleted since then. One that the cloud took may have left before the growth was asked for.
func (c *count) removed(since Instant) int {
	n := 0
	for i := range c.machines {
		if w := &c.machines[i].cloud; w.Verb == Delete && w.VerbAt >= since && w.Created <= since && !c.machines[i].may().Has(Here|IsOff) {
			n++
		}
	}
	return n
}

// returned counts the machines that were leaving when so much was asked for, and stay after all.
func (c *count) returned(asked Instant) int {
	n := 0
	for i := range c.machines {
		if w := &c.machines[i].cloud; w.Back > asked && w.VerbAt <= asked && c.machines[i].may().Has(Here|IsOff) {
			n++
		}
	}
	return n
}

// burstLeast is how many machines may lose their work together before anybody wonders.
const burstLeast = 10

// spell is a time without work that did not end by itself: since when, and whether its machine may still go.
type spell struct {
	since Instant
	open  bool
}

// pace finds whether more than half of the group lost their work within one window though it did not end by itself, and what may still go
// of them.
func (c *count) pace(spells []spell, now Instant, h Horizon) {
	if len(spells) > burstLeast {
		c.burst(spells, h)
	}
	if !c.paced {
		return
	}
	for i := range c.machines {
		m := &c.machines[i]
		if m.node.Idle != 0 && !m.node.Ended && (m.cloud.Verb == Delete || m.cloud.Verb == Park) && within(m.cloud.VerbAt, now, h.Burst) {
			c.leaving++
		}
	}
}

// burst finds the windows in which so many lost their work that they are paced, and how many nodes there were then at least. A window is
// over when none of its machines is left that may go.
func (c *count) burst(spells []spell, h Horizon) {
	var joined, silent []Instant
	for i := range c.machines {
		if n := &c.machines[i].node; n.Joined != 0 {
			joined = append(joined, n.Joined)
			if n.Silent != 0 {
				silent = append(silent, n.Silent)
			}
		}
	}
	slices.Sort(joined)
	slices.Sort(silent)
	slices.SortFunc(spells, func(a, b spell) int { return cmp.Compare(a.since, b.since) })
	until, open := 0, 0
	for i, first := range spells {
		for until < len(spells) && spells[until].since.Sub(first.since) < h.Burst {
			if spells[until].open {
				open++
			}
			until++
		}
		came, _ := slices.BinarySearch(joined, first.since+1)
		went, _ := slices.BinarySearch(silent, first.since)
		if n, base := until-i, came-went; open > 0 && n > burstLeast && 2*n >= base {
			c.half = min(base, cmp.Or(c.half, base))
			c.paced = true
		}
		if first.open {
			open--
		}
	}
}
