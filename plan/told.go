package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// telling is how the pods of a demand were told of their places in the last cycle. For as long as the same pods keep the same places the words
// are not made again.
type telling struct {
	seats   []toldSeat
	because [][]reason.Reason // by the demand's pods
}

// toldSeat is a place as pods are told of it: a node that is there, or any of a group's machines that are coming.
type toldSeat struct {
	on    scheduling.Handle // of no meaning when there is a group
	group cluster.GroupID
	pods  int
}

// tellAgain serves pods that keep these places, which follow those that the demand has already, in the words of the last cycle; false when
// there are none for them.
func (d *decision) tellAgain(dm *demand, kept []scheduling.Seat, outcome Outcome) bool {
	last := dm.told
	dm.told = nil
	if last == nil || d.witness != nil || len(last.because) != len(dm.pods) || len(last.seats) < len(dm.seats)+len(kept) {
		return false
	}
	n := 0
	for i, s := range kept {
		if last.seats[len(dm.seats)+i] != d.toldSeat(s, outcome) {
			return false
		}
		n += s.Pods
	}
	dm.told = last
	for i, at := range dm.pods[dm.served : dm.served+n] {
		v := &d.podVerdicts[at]
		v.Outcome, v.Because = outcome, last.because[dm.served+i]
	}
	dm.seats = append(dm.seats, kept...)
	dm.served += n
	return true
}

// toldSeat is how pods with that outcome are told of the place.
func (d *decision) toldSeat(s scheduling.Seat, outcome Outcome) toldSeat {
	if outcome == PodScheduling {
		return toldSeat{on: s.On, pods: s.Pods}
	}
	g, _ := d.comingGroup(s.On)
	return toldSeat{group: g, pods: s.Pods}
}

// tell notes how the pods that wait were told of their places, of each demand all of whose pods have one.
func (d *decision) tell() {
	for _, dm := range d.demands {
		if dm.number == 0 {
			continue
		}
		if now := &d.planner.queue.told[dm.number-1]; dm.told == nil || len(dm.told.seats) != len(dm.seats) {
			*now = d.saidOf(dm)
		}
	}
}

// saidOf is how the demand's pods were told of their places, nil when some have none or there is more to be said.
func (d *decision) saidOf(dm *demand) *telling {
	if !dm.keeps() || len(dm.pods) != dm.many || dm.pods[dm.many-1] >= len(d.s.Pending) {
		return nil
	}
	t := &telling{seats: make([]toldSeat, len(dm.seats)), because: make([][]reason.Reason, 0, dm.many)}
	for i, s := range dm.seats {
		if len(t.because)+s.Pods > dm.many {
			return nil
		}
		first := &d.podVerdicts[dm.pods[len(t.because)]]
		t.seats[i] = d.toldSeat(s, first.Outcome)
		for range s.Pods {
			v := &d.podVerdicts[dm.pods[len(t.because)]]
			if v.Outcome != first.Outcome || len(v.Because) != 1 || v.Because[0].Code != placeCodes[v.Outcome] {
				return nil
			}
			t.because = append(t.because, v.Because)
		}
	}
	if len(t.because) != dm.many {
		return nil
	}
	return t
}

// placeCodes are the reasons why pods have their place, by outcome.
var placeCodes = map[Outcome]reason.Code{PodScheduling: reason.FitsNode, PodWaiting: reason.FitsComingMachine}
