package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling"
)

// telling is where the pods of a demand were told to have their places in the last cycle. For as long as the same pods keep the same places their
// verdicts are not made again: the queue hands on those of the last cycle, see [queue.turn].
type telling struct {
	seats []toldSeat
	pods  int // all of the demand's
}

// toldSeat is a place as pods are told of it: a node that is there, or any of a group's machines that are coming.
type toldSeat struct {
	on    string // the node's name, "" when there is a group
	group cluster.GroupID
	asked bool   // the cloud has not answered about it yet
	taken string // what keeps one of the group's machines from joining, "" for nothing
	pods  int
}

// tellAgain serves pods that keep these places, which follow those that the demand has already, with the verdicts of the last cycle; false when
// those say something else.
func (d *decision) tellAgain(dm *demand, kept []scheduling.Seat) bool {
	last := dm.told
	if last == nil {
		return false
	}
	if d.witness != nil || last.pods != len(dm.pods) || len(last.seats) < len(dm.seats)+len(kept) {
		dm.told = nil
		return false
	}
	n := 0
	for i, s := range kept {
		if last.seats[len(dm.seats)+i] != d.toldSeat(s) {
			dm.told = nil
			return false
		}
		n += s.Pods
	}
	dm.seats = append(dm.seats, kept...)
	dm.served += n
	dm.placed += n
	return true
}

// toldSeat is how pods are told of the place.
func (d *decision) toldSeat(s scheduling.Seat) toldSeat {
	if st := d.comingGroup(s.On); st != nil {
		seat := toldSeat{group: st.ID, asked: d.asked.of(s.On) != nil, pods: s.Pods}
		if st.taken != nil {
			seat.taken = st.taken.Sentence()
		}
		return seat
	}
	return toldSeat{on: d.check.Name(s.On), pods: s.Pods}
}

// tell notes what the pods that wait were told of their places, of each demand all of whose pods have one.
func (d *decision) tell() {
	for _, dm := range d.demands {
		if dm.number == 0 {
			continue
		}
		if dm.left() > 0 {
			dm.told = nil
		}
		if now := &d.planner.queue.told[dm.number-1]; dm.told == nil {
			*now = d.saidOf(dm)
		}
	}
}

// saidOf is what the demand's pods were told of their places, nil when some have none or are not the queue's, or there is more to be said.
func (d *decision) saidOf(dm *demand) *telling {
	if !dm.keeps() || dm.of.AwaitsCapacity() || dm.placed != dm.many || len(dm.pods) != dm.many || dm.pods[dm.many-1] >= len(d.s.Pending) {
		return nil
	}
	t := &telling{seats: make([]toldSeat, len(dm.seats)), pods: dm.many}
	for i, s := range dm.seats {
		t.seats[i] = d.toldSeat(s)
	}
	return t
}
