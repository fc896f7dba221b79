package grow

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// machines are those that are being added, in the order in which pods are placed on them.
type machines struct {
	open []*machine
	by   map[scheduling.Handle]*machine
	row  *scheduling.Row
}

func (jt *Joint) machines(open []*machine) *machines {
	ms := &machines{by: make(map[scheduling.Handle]*machine, len(open)), row: jt.Check.Row()}
	for _, m := range open {
		ms.add(m)
	}
	return ms
}

func (ms *machines) add(more ...*machine) {
	for _, m := range more {
		ms.open = append(ms.open, m)
		ms.by[m.handle] = m
		ms.row.Append(m.handle)
	}
}

// fill places pods of the demand on machines that take them.
func (jt *Joint) fill(ms *machines, w *wanted) int {
	return ms.row.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { jt.granted(ms.by[h], w, n) })
}

// settle shows the pods that mind each other to the checker: first on the machines that were meant for them; then whoever is left on all
// nodes and on further machines, as long as a group may add some and one of them takes such a pod. Machines on which nobody was let stay
// are given up. All of it is tried again until nothing changes: every pod that finds a place, and every empty machine that goes, may be
// what another one waited for.
func (jt *Joint) settle(c *Candidates, b *mix, open []*machine) {
	if !c.tells() {
		return
	}
	ms := jt.machines(open)
	for _, m := range open {
		for _, p := range m.meant {
			jt.Check.Row(m.handle).Fill(p.Of, min(p.n, p.Left()), func(_ scheduling.Handle, n int) { jt.granted(m, p.wanted, n) })
		}
	}
	for again := true; again; {
		again = jt.fillKnown(c)
		for _, w := range c.wanted {
			if w.Left() > 0 && jt.fill(ms, w) > 0 {
				again = true
			}
			for w.Left() > 0 {
				more := jt.further(c, b, w)
				if len(more) == 0 {
					break
				}
				again = true
				ms.add(more...)
				jt.fill(ms, w)
			}
		}
		again = jt.closeEmpty(ms) || again
	}
}

// fillKnown places pods that mind others on nodes that are there or coming, and says whether any found a place.
func (jt *Joint) fillKnown(c *Candidates) bool {
	placed := 0
	for _, w := range c.wanted {
		if w.depends && w.Left() > 0 {
			placed += jt.There.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { jt.PlaceThere(w.Demand, h, n) })
			placed += jt.Coming.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { jt.Arrivals.PlaceComing(w.Demand, h, n) })
		}
	}
	return placed > 0
}

// closeEmpty gives up machines on which nobody was let stay, and says whether there were any. Those of a group that spans zones stay after
// which the turn of another one's zone comes.
func (jt *Joint) closeEmpty(ms *machines) bool {
	closed := map[*machine]bool{}
	for _, m := range slices.Backward(ms.open) {
		if m.pods > 0 || m.zone != "" && !m.last() {
			continue
		}
		closed[m] = true
		name := jt.Check.Name(m.handle)
		jt.Check.Remove(name)
		if jt.Witness != nil {
			jt.Witness.Closes(name)
		}
		m.of.add(-1)
		jt.limits.ceilings.Take(m.of.Group, -1)
		if m.zone != "" {
			m.of.Opened--
			m.of.fresh = m.of.fresh[:len(m.of.fresh)-1]
		}
	}
	ms.open = slices.DeleteFunc(ms.open, func(m *machine) bool { return closed[m] })
	return len(closed) > 0
}

type meant struct {
	*wanted
	n int
}

// added are machines that have just been opened as the group's last ones.
func (st *Order) added(handles ...scheduling.Handle) []*machine {
	all := make([]*machine, len(handles))
	for i, h := range handles {
		all[i] = &machine{handle: h}
		all[i].take(st, st.Opened-len(handles)+i)
	}
	return all
}

// take gives the machine its place in the group.
func (m *machine) take(st *Order, number int) {
	m.of, m.number = st, number
	if st.Rotation != nil {
		m.zone = st.Rotation.At(number)
		st.fresh = append(st.fresh, m)
	}
}

// last says whether no machine of the group was opened after this one.
func (m *machine) last() bool { return m.number == m.of.Opened-1 }

// zoneless says whether it does not matter in which zone of its group the machine comes up.
func (m *machine) zoneless() bool {
	zonal := func(p meant) bool { return p.zonal }
	return !slices.ContainsFunc(m.plain, zonal) && !slices.ContainsFunc(m.meant, zonal)
}

// seats are machines that are meant for a group that spans zones, in the order of the solution.
type seats struct {
	of      *Order
	tied    map[string][]*machine // by the zone that they have to be in
	movable []*machine
}

// seated are the seats with one more machine, which is meant for the group: for a zone of it unless its pods leave that open.
func seated(all []*seats, st *Order, zone string, m *machine) []*seats {
	i := slices.IndexFunc(all, func(s *seats) bool { return s.of == st })
	if i < 0 {
		i = len(all)
		all = append(all, &seats{of: st, tied: map[string][]*machine{}})
	}
	if own := all[i]; zone == "" || !st.uneven && m.zoneless() {
		own.movable = append(own.movable, m)
	} else {
		own.tied[zone] = append(own.tied[zone], m)
	}
	return all
}

// seat opens machines in the order in which zones take turns: each that is meant for a zone in its turn, the others wherever nobody is. It
// stops where a machine would come up for nobody, and returns those that were opened: whoever was meant for the others is left to
// [further], which weighs what it costs to wait for a zone's turn.
func (jt *Joint) seat(s *seats) []*machine {
	var open []*machine
	for {
		zone := s.of.NextZone()
		from := &s.movable
		tied := s.tied[zone]
		if len(tied) > 0 {
			from = &tied
		}
		if len(*from) == 0 || jt.limits.limit(s.of, jt.limits.totals(), 0) != nil {
			return open
		}
		m := (*from)[0]
		*from = (*from)[1:]
		s.tied[zone] = tied
		m.open(jt.additions.Adopt(s.of, 1)[0])
		m.take(s.of, s.of.Opened-1)
		open = append(open, m)
	}
}

// further adds machines until one takes a pod of the demand, of the group where that costs least for each pod that would fit on that one;
// none where no group's does. A group that spans zones may have to add several. Of equal costs for pods that mind zones those win that are
// of one zone alone: they keep what they promise.
func (jt *Joint) further(c *Candidates, b *mix, w *wanted) []*machine {
	type choice struct {
		at   site
		cost float64
	}
	var choices []choice
	for i, at := range c.sites {
		if !w.suits[i] {
			continue
		}
		cost := float64(b.cost(at.Order)) * float64(at.Reaches(at.zone, 1)) / float64(c.onOne(i, w))
		last := len(choices) - 1
		if last < 0 || choices[last].at.GroupFacts != at.GroupFacts {
			choices = append(choices, choice{at, cost})
		} else if cost < choices[last].cost {
			choices[last] = choice{at, cost}
		}
	}
	slices.SortStableFunc(choices, func(x, y choice) int {
		return cmp.Or(cmp.Compare(x.cost, y.cost), node.Btoi(y.at.Spot)-node.Btoi(x.at.Spot), node.Btoi(w.zonal && x.at.zone != "")-node.Btoi(w.zonal && y.at.zone != ""))
	})
	total := jt.limits.totals()
	for _, x := range choices {
		if open := jt.turns.reach(x.at.Order, w, total, 0); len(open) > 0 {
			jt.additions.admit(x.at.Order, open)
			return x.at.added(open...)
		}
	}
	return nil
}
