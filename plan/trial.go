package plan

import (
	"maps"
	"slices"

	"sluice.dev/sluice/cluster"
)

// trial notes all that placing pods changes. The undo, which holds once, gives it back as it was.
func (d *growing) trial() (undo func()) {
	unplace := d.check.Mark()
	seen, placed, was := *d.view, *d.placing, *d
	if d.witness != nil {
		d.witness = &hearsay{to: d.witness}
	}
	placed.podVerdicts = slices.Clone(d.podVerdicts)
	placed.opened, placed.counted, placed.rescues = slices.Clone(d.opened), maps.Clone(d.counted), maps.Clone(d.rescues)
	placed.spared, placed.booked = maps.Clone(d.spared), maps.Clone(d.booked)
	all := slices.Concat(d.demands, d.later)
	demands := make([]demand, len(all))
	for i, dm := range all {
		demands[i] = *dm
	}
	rooms, orders := make([]placeGroup, len(d.listed)), make([]growGroup, len(d.listed))
	for i, st := range d.listed {
		rooms[i], orders[i] = *st.placeGroup, *st
	}
	return func() {
		unplace()
		for i, dm := range all {
			*dm = demands[i]
		}
		for i, st := range d.listed {
			rooms[i].templates = st.templates // they hold whatever is placed
			*st = orders[i]
			*st.placeGroup = rooms[i]
		}
		*d.view, *d.placing, *d = seen, placed, was
	}
}

// hearsay keeps what a witness is to hear until it is certain.
type hearsay struct {
	to   witness
	tell []func()
}

// Opens is told later.
func (h *hearsay) Opens(machine string, g cluster.GroupID) {
	h.tell = append(h.tell, func() { h.to.Opens(machine, g) })
}

// Closes is told later.
func (h *hearsay) Closes(machine string) { h.tell = append(h.tell, func() { h.to.Closes(machine) }) }

// Places is told later.
func (h *hearsay) Places(p *cluster.Pod, node string) {
	h.tell = append(h.tell, func() { h.to.Places(p, node) })
}

// tellAll tells the witness what came of the last trial.
func (d *growing) tellAll() {
	if h, waits := d.witness.(*hearsay); waits {
		for _, tell := range h.tell {
			tell()
		}
		d.witness = h.to
	}
}
