package grow

import (
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// raiseFloors adds the machines that groups lack to the capacity that the operator holds them to, as far as their limits let them. Pods
// that want a machine go there first: what comes anyway costs nothing more.
func (d *Growth) raiseFloors() {
	var open []scheduling.Handle
	for _, g := range d.Snapshot.Groups {
		st := d.Groups[g.ID]
		floor, has := d.Policy.Floor(g, d.Now), d.Believed(st.GroupFacts)
		if has >= floor || st.BlockedRead() != nil {
			continue
		}
		about := reason.Group(string(g.ID))
		if st.Blocked != nil {
			st.Short = append(st.Short, reason.New(reason.GroupShort, about, "lacks", floor-has, "min", floor)) // the group's verdict says by what
			continue
		}
		var short *reason.Reason
		st.raised, short = d.Limits.asFarAs(st, floor-has)
		if st.raised > 0 {
			open = append(open, d.Additions.Adopt(st, st.raised)...)
			st.Because = append(st.Because, reason.New(reason.GroupRaised, about, "from", has, "to", has+st.raised, "min", floor))
		}
		if short != nil {
			st.Short = append(st.Short, reason.New(reason.GroupShort, about, "lacks", floor-has-st.raised, "min", floor), *short)
		}
	}
	if len(open) > 0 {
		d.PlaceOn(d.Check.Row(open...), d.Demands, func(dm *place.Demand, h scheduling.Handle, n int) {
			d.Place(dm, n, h)
			d.Additions.grant(dm, n, d.Opened.Of(h).ID)
		})
	}
}

// asFarAs is how many of so many machines the group may add, with the limit that forbids more, nil when it may add all.
func (lm *Limits) asFarAs(st *Order, machines int) (int, *reason.Reason) {
	total, wanted := lm.totals(), st.Wanted
	defer func() { st.Wanted = wanted }() // no pod has asked
	for n := range machines {
		if limit := lm.limit(st, total, n); limit != nil {
			return n, limit
		}
	}
	return machines, nil
}
