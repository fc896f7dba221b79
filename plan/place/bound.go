package place

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// MostWork bounds what one decision looks at: how often pods of one class are compared with an empty machine of a group or, where other
// pods decide about them, with another such class. That takes some two seconds. Work is counted, not time, so that a journal replays
// exactly.
//
// Pods beyond it wait for a later cycle:
//
//	pods                                   are looked at
//	with a place, of requests, of buffers  in every cycle, so that none loses what was bought for it
//	that no cycle has looked at            next, the oldest first; until then no node leaves, as they may need it (S-16)
//	the others                             then, from where the last cycle stopped
//
// For example, 1,582 classes that keep away from each other take all of it: each is compared with each other one (scenario bound-tenant).
const MostWork = 2_500_000

// nodesAtOnce is how many nodes are looked through in the time of one comparison with an empty machine: 5,000 nodes take 0.13 ms for a
// class that fits none.
const nodesAtOnce = 16

// Bound has pods wait for a later cycle that would take more than [MostWork].
// It comes before all placing, and its result depends on the snapshot and the memory alone. The memory says where the next cycle goes on.
func (d *Room) Bound() {
	sites := len(d.Snapshot.Nodes) / nodesAtOnce
	for _, st := range d.Listed {
		sites += len(st.Sites())
	}
	all := effort{sites: sites, check: d.Check}
	last := round{d.Waiting, d.Memory.Places, d.Memory.Looked}
	d.Memory.Looked = memory.Looked{}
	if all.add(d.Demands); all.work <= MostWork {
		return
	}
	later, pods, now := last.choose(d.Demands, effort{sites: sites, check: d.Check})
	d.Memory.Looked = now
	why := reason.New(reason.PodLater, reason.Ref{}, "pods", pods, "limit", MostWork)
	for _, l := range later {
		if g := l.demands[0].Gang; g != nil {
			g.LeaveOut(action.PodWaiting, why)
			continue
		}
		for _, dm := range l.demands {
			d.Serve(dm, dm.Left(), action.PodWaiting, why)
		}
	}
}

// effort is what looking at demands takes, by [MostWork]'s measure.
type effort struct {
	sites     int // what a class is compared with
	depending int // classes so far that others decide about: each is compared with each of them, both ways
	work      int
	check     *scheduling.Checker
}

func (e *effort) add(demands []*Demand) {
	for _, dm := range demands {
		if dm.Left() == 0 {
			continue
		}
		if e.work += e.sites; e.check.Depends(dm.Of) {
			e.work += 2 * e.depending
			e.depending++
		}
	}
}

// load is demands that are looked at together: those of a gang, or one.
type load struct {
	demands []*Demand
	pods    int
	mark    memory.Mark // of the oldest pod
	turn    int         // 0: no cycle has looked at it; 1: the last cycle stopped before it; 2: the last cycle came past it
}

// round is what decides whose turn it is.
type round struct {
	waiting []*cluster.Pod
	places  *memory.Places
	last    memory.Looked
}

// choose finds the demands that wait for a later cycle, how many pods these are, and how far this cycle comes.
//
//	demands                      while there is work left          after that
//	with a place, or of a claim  looked at                         looked at
//	that no cycle has looked at  looked at; Upto moves on to them  wait; while there are some, no node leaves (S-16)
//	the others                   looked at                         wait; the next cycle begins with the first of them
//
// The last demands that are looked at may exceed the bound: a gang is not cut.
func (r round) choose(demands []*Demand, some effort) (later []load, pods int, now memory.Looked) {
	held, open := r.loads(demands)
	some.add(held)
	upto := r.last.Upto
	for _, l := range open {
		if some.work < MostWork {
			if some.add(l.demands); l.turn == 0 {
				upto = l.mark
			}
			continue
		}
		later = append(later, l)
		if pods += l.pods; l.turn == 0 {
			now.Unseen = pods
		} else if now.Next == (memory.Mark{}) {
			now.Next = l.mark
		}
	}
	if len(later) > 0 {
		now.Upto = upto
	}
	return later, pods, now
}

// loads are the demands that are looked at in any case, and the others in their turn.
func (r round) loads(demands []*Demand) (held []*Demand, open []load) {
	gangs := map[*Gang]bool{}
	for _, dm := range demands {
		its := []*Demand{dm}
		if dm.Gang != nil {
			its = dm.Gang.Demands
		}
		switch {
		case dm.Left() == 0 || gangs[dm.Gang]:
			continue
		case slices.ContainsFunc(its, r.hasPlace):
			held = append(held, its...)
		default:
			open = append(open, r.load(its))
		}
		if dm.Gang != nil {
			gangs[dm.Gang] = true
		}
	}
	slices.SortFunc(open, func(a, b load) int { return cmp.Or(a.turn-b.turn, a.mark.Compare(b.mark)) })
	return held, open
}

// hasPlace says whether a cycle has found or promised room for the demand's pods, or they are pretended.
func (r round) hasPlace(dm *Demand) bool {
	return dm.Claim != nil || dm.Booked || r.places != nil && len(r.places.Of[dm.Of.Key]) > 0
}

func (r round) load(demands []*Demand) load {
	first := demands[0].Eldest
	l := load{demands: demands}
	for _, dm := range demands {
		first = min(first, dm.Eldest)
		l.pods += dm.Left()
	}
	p := r.waiting[first]
	l.mark = memory.Mark{Created: p.Created(), Name: p.String()}
	switch {
	case l.mark.Compare(r.last.Upto) > 0:
	case l.mark.Compare(r.last.Next) >= 0:
		l.turn = 1
	default:
		l.turn = 2
	}
	return l
}
