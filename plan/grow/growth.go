package grow

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Growth chooses the machines to add.
type Growth struct {
	*place.Room
	missed *Misses
	Groups map[cluster.GroupID]*Order
	Listed []*Order // the same in the snapshot's order

	has        *Totals // what the cluster has without what this cycle adds, once somebody has asked
	Cost       *action.Cost
	ceilings   *Ceilings
	tried      []scheduling.Handle // machines that the last estimate opened
	Ask        *action.AskExpander // what to ask before pods that are left can be helped
	Complaints []reason.Reason     // of expanders that could not do what they are there for
	Grows      []action.SetCapacity
}

// NewGrowth is a cycle that adds nothing yet.
func NewGrowth(room *place.Room, missed *Misses) *Growth {
	d := &Growth{Room: room, missed: missed, Groups: make(map[cluster.GroupID]*Order, len(room.Listed))}
	for _, g := range room.Listed {
		st := &Order{Incoming: g}
		d.Groups[g.ID], d.Listed = st, append(d.Listed, st)
	}
	return d
}
