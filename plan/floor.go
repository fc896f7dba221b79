package plan

import (
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// raiseFloors adds the machines that groups lack to the capacity that the operator holds them to, as far as their limits let them. Pods
// that want a machine go there first: what comes anyway costs nothing more.
func (d *growing) raiseFloors() {
	var open []scheduling.Handle
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		floor, has := d.allowed.Floor(g, d.now), d.believed(st.groupState)
		if has >= floor || st.blockedRead() != nil {
			continue
		}
		about := reason.Group(string(g.ID))
		if st.blocked != nil {
			st.short = append(st.short, reason.New(reason.GroupShort, about, "lacks", floor-has, "min", floor)) // the group's verdict says by what
			continue
		}
		var short *reason.Reason
		st.raised, short = d.asFarAs(st, floor-has)
		if st.raised > 0 {
			open = append(open, d.adopt(st, st.raised)...)
			st.because = append(st.because, reason.New(reason.GroupRaised, about, "from", has, "to", has+st.raised, "min", floor))
		}
		if short != nil {
			st.short = append(st.short, reason.New(reason.GroupShort, about, "lacks", floor-has-st.raised, "min", floor), *short)
		}
	}
	if len(open) > 0 {
		d.placeOn(d.check.Row(open...), d.demands, func(dm *demand, h scheduling.Handle, n int) {
			d.place(dm, n, h)
			d.grant(dm, n, d.opened.of(h).ID)
		})
	}
}

// asFarAs is how many of so many machines the group may add, with the limit that forbids more, nil when it may add all.
func (d *growing) asFarAs(st *growGroup, machines int) (int, *reason.Reason) {
	total, wanted := d.totals(), st.wanted
	defer func() { st.wanted = wanted }() // no pod has asked
	for n := range machines {
		if limit := d.limit(st, total, n); limit != nil {
			return n, limit
		}
	}
	return machines, nil
}
