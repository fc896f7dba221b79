package grow

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// machine is one that is being added.
type machine struct {
	handle scheduling.Handle
	of     *Order
	number int    // in the order in which machines of the group are opened
	zone   string // "" in a group that spans none
	pods   int
	plain  []meant   // pods that do not mind others, which are there already
	meant  []meant   // pods that do, to be shown to the checker
	zonal  []granted // of its pods those that are there for its zone
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
// stops where a machine would come up for nobody, and returns those that were opened: whoever was meant for the others is left to [further],
// which weighs what it costs to wait for a zone's turn.
func (d *Growth) seat(s *seats) []*machine {
	var open []*machine
	for {
		zone := s.of.NextZone()
		from := &s.movable
		tied := s.tied[zone]
		if len(tied) > 0 {
			from = &tied
		}
		if len(*from) == 0 || d.limit(s.of, d.totals(), 0) != nil {
			return open
		}
		m := (*from)[0]
		*from = (*from)[1:]
		s.tied[zone] = tied
		m.handle = d.Adopt(s.of, 1)[0]
		m.take(s.of, s.of.Opened-1)
		open = append(open, m)
	}
}

// further adds machines until one takes a pod of the demand, of the group where that costs least for each pod that would fit on that one; none
// where no group's does. A group that spans zones may have to add several. Of equal costs for pods that mind zones those win that are of one
// zone alone: they keep what they promise.
func (d *Growth) further(c *Candidates, b *mix, w *wanted) []*machine {
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
	total := d.totals()
	for _, x := range choices {
		if open := d.reach(x.at.Order, w, total, 0); len(open) > 0 {
			d.admit(x.at.Order, open)
			return x.at.added(open...)
		}
	}
	return nil
}
