package place

import (
	"slices"

	"sluice.dev/sluice/scheduling"
)

// PlaceOn places pods on the first node of the row that takes them and tells found how many each node got. Pods that mind others are tried
// again as long as others find a place, since those may be whom they waited for.
// It ends, since each further pass places at least one pod.
func (d *Room) PlaceOn(row *scheduling.Row, demands []*Demand, found func(dm *Demand, h scheduling.Handle, n int)) {
	for again := false; ; again = true {
		placed := 0
		for _, dm := range demands {
			if dm.Left() > 0 && (!again || d.Check.Depends(dm.Of)) {
				placed += row.Fill(dm.Of, dm.Left(), func(h scheduling.Handle, n int) { found(dm, h, n) })
			}
		}
		if placed == 0 {
			return
		}
	}
}

// LineUp tells nodes that are there from those that are coming, in the order of names unless another one is given.
// Buffers call for it once more: machines that this cycle has added by then are among those that are coming.
func (d *Room) LineUp(order func(a, b scheduling.Handle) int) {
	handles := d.Check.Handles()
	if order != nil {
		slices.SortStableFunc(handles, order)
	}
	d.There, d.Coming = d.Check.Row(), d.Check.Row()
	for _, h := range handles {
		if d.Arrivals.group(h) != nil {
			d.Coming.Append(h)
		} else {
			d.There.Append(h)
		}
	}
}

// bands are the demands that are placed before others, whatever else there is: by whether their room was promised, and by their priority.
// [Room.Order] sorts the pods that wait by both, so each of their bands is one part of the list.
func (d *Room) bands() [][]*Demand {
	var all [][]*Demand
	from := 0
	for i, dm := range d.Demands {
		if first := d.Demands[from]; dm.Booked != first.Booked || dm.priority != first.priority {
			all, from = append(all, d.Demands[from:i]), i
		}
	}
	return append(all, d.Demands[from:])
}
