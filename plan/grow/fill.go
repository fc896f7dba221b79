package grow

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// machines are those that are being added, in the order in which pods are placed on them. row has the handles of open in the same order. It
// keeps handles of machines that were given up, which [scheduling.Row] passes over.
type machines struct {
	open []*machine
	by   map[scheduling.Handle]*machine
	row  *scheduling.Row
}

// machines are these in their order. Each is open in the checker already.
func (jt *Joint) machines(open []*machine) *machines {
	ms := &machines{by: make(map[scheduling.Handle]*machine, len(open)), row: jt.Check.Row()}
	for _, m := range open {
		ms.add(m)
	}
	return ms
}

// add puts machines at the end, so that pods go to earlier ones first.
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

// settle shows pods to the checker where counting is not enough ([Candidates.tells]). The solution has counted pods as if they did not mind
// each other, and the checker may let fewer stay on a machine. One turn:
//
//	step         pods                         where they go
//	meant, once  those that depend on others  the machine that the solution means for them
//	fillKnown    those that depend on others  nodes that are there or coming
//	fill         all that are left            machines that are being added, whoever they are meant for
//	further      all that are left            further machines, as long as one takes such a pod and limits allow it
//	closeEmpty                                machines without pods are given up
//
// Turns go on until one changes nothing: a pod that finds a place, or an empty machine that goes, may be what another pod waited for. An
// empty machine counts as a domain of a spread, and uses up a limit. A pod that has a place keeps it, so the turns end.
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

// closeEmpty gives up machines without pods, and says whether there were any. A machine of a group that spans zones can go only if it is
// the last of its group: the zones of those after it would change. So it goes through the machines from the end.
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
		// In a group of one zone a later machine may still be open. Its number must not be given again: names are made of numbers.
		if m.zone != "" {
			m.of.Opened--
			m.of.fresh = m.of.fresh[:len(m.of.fresh)-1]
		}
	}
	ms.open = slices.DeleteFunc(ms.open, func(m *machine) bool { return closed[m] })
	return len(closed) > 0
}

// meant is how many pods of a demand the solution puts on one machine.
type meant struct {
	*wanted
	n int
}

// added are machines for handles that were opened as the last ones of the group, in this order.
func (st *Order) added(handles ...scheduling.Handle) []*machine {
	all := make([]*machine, len(handles))
	for i, h := range handles {
		all[i] = &machine{handle: h}
		all[i].take(st, st.Opened-len(handles)+i)
	}
	return all
}

// take gives the machine its place in the order of opening, which says in which zone it comes up. A group over zones keeps it in fresh, for
// closeEmpty and [turns.TellTurns].
func (m *machine) take(st *Order, number int) {
	m.of, m.number = st, number
	if st.Rotation != nil {
		m.zone = st.Rotation.At(number)
		st.fresh = append(st.fresh, m)
	}
}

// last says whether no machine of the group was opened after this one.
func (m *machine) last() bool { return m.number == m.of.Opened-1 }

// zoneless says whether no pod on the machine minds in which zone of its group the machine comes up.
func (m *machine) zoneless() bool {
	zonal := func(p meant) bool { return p.zonal }
	return !slices.ContainsFunc(m.plain, zonal) && !slices.ContainsFunc(m.meant, zonal)
}

// seats are machines that the solution means for a group that spans zones. They get their zones from the order of turns, which the solution
// does not know. movable ones do for any zone.
type seats struct {
	of      *Order
	tied    map[string][]*machine // by the zone that they have to be in
	movable []*machine
}

// seated adds a machine that is meant for the group to its seats. zone is "" where the solution does not tell the group's zones apart. A
// machine is movable too when none of its pods minds zones; but not where daemons leave different room in them.
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

// seat opens machines in the order in which zones take turns:
//
//	whose turn it is                    the next machine is
//	a zone that some are meant for      one of these
//	another zone, and some are movable  one of the movable ones
//	another zone, and none is movable   none: it would come up for nobody, so seat stops
//
// seat also stops at a limit. The pods that were meant for the machines that are left go to [Joint.further], which weighs what it costs to
// wait for a zone's turn.
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

// further adds machines until one takes a pod of the demand, and returns them; nil where no group's machine would. It takes the group where
// this is least, and of a group over zones the zone where it is:
//
//	cost of a machine * machines until the zone's turn / pods of the demand that one machine holds
//
// Of equal costs spot machines come first. Then groups of one zone come first for pods that mind zones: such a group keeps what it
// promises, and the cloud may put a machine of a group over zones elsewhere (scenario zone-volume-prefers-one-zone).
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
