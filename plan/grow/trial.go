package grow

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/place"
)

// trial notes all that placing pods changes, so that a round of [Rounds] can be taken back. The undo gives it back, and holds once.
//
//	what                                                       how it is kept
//	the checker                                                a mark
//	demands, orders and rooms of the groups                    copies of the values; whoever points to them stays right
//	verdicts, Opened, needs                                    clones, since they are written in place
//	View, Room, Growth and the parts with fields of their own  shallow copies
//
// A new field that a round writes has to be among these. Templates are not taken back: they hold for any placing.
func (d *Growth) trial() (undo func()) {
	unplace := d.Check.Mark()
	seen, placed, was := *d.View, *d.Room, *d
	limits, chain, joint := *d.Limits, *d.Chain, *d.Joint
	if d.Witness != nil {
		d.Witness = &laterWitness{to: d.Witness}
	}
	queue, needs := *d.Queue, d.Needs.Clone()
	queue.PodVerdicts, placed.Opened = slices.Clone(d.PodVerdicts), slices.Clone(d.Opened)
	all := slices.Concat(d.Demands, d.Later)
	demands := make([]place.Demand, len(all))
	for i, dm := range all {
		demands[i] = *dm
	}
	rooms, orders := make([]place.Incoming, len(d.Listed)), make([]Order, len(d.Listed))
	for i, st := range d.Listed {
		rooms[i], orders[i] = *st.Incoming, *st
	}
	return func() {
		unplace()
		for i, dm := range all {
			*dm = demands[i]
		}
		for i, st := range d.Listed {
			rooms[i].Templates = st.Templates // they hold whatever is placed
			*st = orders[i]
			*st.Incoming = rooms[i]
		}
		*d.View, *d.Queue, *d.Needs, *d.Room, *d = seen, queue, needs, placed, was
		*d.Limits, *d.Chain, *d.Joint = limits, chain, joint
	}
}

// laterWitness keeps what a witness is to hear until it is certain: a round that is taken back is never told. Each trial makes a new one,
// and the undo drops it.
type laterWitness struct {
	to   place.Witness
	tell []func()
}

// Opens is told later.
func (h *laterWitness) Opens(machine string, g cluster.GroupID) {
	h.tell = append(h.tell, func() { h.to.Opens(machine, g) })
}

// Closes is told later.
func (h *laterWitness) Closes(machine string) {
	h.tell = append(h.tell, func() { h.to.Closes(machine) })
}

// Places is told later.
func (h *laterWitness) Places(p *cluster.Pod, node string) {
	h.tell = append(h.tell, func() { h.to.Places(p, node) })
}

// tellAll tells the witness what came of the last trial.
func (d *Growth) tellAll() {
	if h, waits := d.Witness.(*laterWitness); waits {
		for _, tell := range h.tell {
			tell()
		}
		d.Witness = h.to
	}
}
