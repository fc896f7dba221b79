package grow

import (
	"slices"
	"time"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// Rounds place the pods that wait until every gang is whole or left out.
type Rounds struct {
	*Orders
	growth *Growth
}

// rounds is how many times a cycle places its pods anew, at most, to leave out one gang after the other. Then all go that are not whole:
// each round places all pods that wait.
const rounds = 12

// Whole has find look for places for all pods that wait, so that every gang gets all the places it needs or none. Without gangs it calls
// find once. Else it makes rounds, each on the state before the first:
//
//	after a round                           next
//	no gang got some places and not enough  letInAgain
//	some did                                the last of them is left out, and all pods are placed anew
//	some did, and it was round 12           all of them are left out, and all pods are placed anew
//
// The last one goes first, since gangs stand in the order of priority and age. Gangs that were left out for the sake of one that then did
// not fit either are let in again. A gang that is left out gets no place and buys nothing (scenarios gang-of-64 and
// request-atomic-too-large).
func (gs *Rounds) Whole(find func()) {
	if len(gs.Gangs) == 0 {
		find()
		return
	}
	defer gs.growth.tellAll()
	var left []*place.Gang // in the order in which they were left out
	undo := gs.tryPlaces(find)
	for round := 1; ; round++ {
		halves := gs.halfGangs()
		if len(halves) == 0 {
			break
		}
		if round < rounds {
			halves = halves[len(halves)-1:]
		}
		for _, g := range halves {
			gs.leaveOutHalf(g)
		}
		left = append(left, halves...)
		undo()
		undo = gs.tryPlaces(find)
	}
	gs.letInAgain(left, undo, find)
	gs.holdMachines()
}

// letInAgain tries the gangs that were left out before the last one, in their order: the last one may have been what they lacked room for.
// A gang that makes any gang half stays out. undo takes back the places of the last round. The work is bounded: nothing is tried where more
// gangs than rounds were left out.
func (gs *Rounds) letInAgain(left []*place.Gang, undo func(), find func()) {
	if len(left) < 2 || len(left) > rounds {
		return
	}
	earlier := left[:len(left)-1]
	for _, g := range gs.Gangs {
		if !slices.Contains(earlier, g) {
			continue
		}
		out := g.Out
		g.Out = nil
		undo()
		if undo = gs.tryPlaces(find); len(gs.halfGangs()) > 0 {
			g.Out = out
			undo()
			undo = gs.tryPlaces(find)
		}
	}
}

// tryPlaces makes one round: it gives the pods of gangs that are left out their verdicts, and has find place the others. The undo gives all
// back as it was before.
func (gs *Rounds) tryPlaces(find func()) (undo func()) {
	undo = gs.growth.trial()
	for _, g := range gs.Gangs {
		if g.Out == nil {
			continue
		}
		for _, dm := range g.Demands {
			gs.Serve(dm, dm.Left(), g.Outcome, append([]reason.Reason{*g.Out}, g.Misses...)...)
		}
	}
	find()
	return undo
}

// halfGangs are the gangs that got fewer places than they need, in order. These are no halves:
//
//	gang                                                                      why
//	left out already                                                          it has no places
//	with what it needs running                                                its further pods are served one by one
//	some pods wait for a server or a burst, and nothing is bought for others  nothing is lost by waiting for the answer
func (gs *Rounds) halfGangs() []*place.Gang {
	var halves []*place.Gang
	for _, g := range gs.Gangs {
		if g.Out != nil || g.Runs() {
			continue
		}
		t := gs.Tally(g.Demands)
		if g.Placed+t.Placed() < g.Least && (t.Asked == 0 || t.Grows > 0) {
			halves = append(halves, g)
		}
	}
	return halves
}

// leaveOutHalf leaves out a gang that got too few places, and keeps why:
//
//	the gang                     why it is out
//	is a request's               DoesNotFit
//	has pods that are too young  GangYoung: it may be whole when they are old enough
//	has no pod that is stuck     GangAwaitsPods: some are not sluice's to place yet
//	else                         GangDoesNotFit
//
// Where room lacks, what the first stuck pod was told goes to all pods of the gang (Misses), without the sum that stands in front.
func (gs *Rounds) leaveOutHalf(g *place.Gang) {
	t := gs.Tally(g.Demands)
	switch {
	case g.Claim != nil:
		g.LeaveOut(action.PodStuck, g.Claim.DoesNotFit(t.Placed()))
	case gs.youngOf(g) != nil:
		g.LeaveOut(action.PodIgnored, *gs.youngOf(g))
		return
	case t.Stuck == 0:
		g.LeaveOut(action.PodIgnored, reason.New(reason.GangAwaitsPods, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.Placed+t.Placed()))
		return
	default:
		g.LeaveOut(action.PodStuck, reason.New(reason.GangDoesNotFit, reason.Ref{}, "gang", g.Name, "needs", g.Least, "fit", g.Placed+t.Placed()))
	}
	for _, dm := range g.Demands {
		for _, at := range dm.Pods[:dm.Served] {
			if v := gs.PodVerdicts[at]; v.Outcome == action.PodStuck {
				g.Misses = v.Because[1:]
				return
			}
		}
	}
}

// youngOf says of a gang that waits that some of its pods are too young to be a reason to grow; nil when none is. passOverYoung has taken
// these out of the demands, so they are those of There that are neither placed nor in a demand.
func (gs *Rounds) youngOf(g *place.Gang) *reason.Reason {
	young, delay := g.There-g.Placed, time.Duration(0)
	for _, dm := range g.Demands {
		young -= len(dm.Pods) // the young ones have left it
		until, _ := gs.Policy.Young(gs.Waiting[dm.Eldest], gs.Now)
		delay = max(delay, until.Sub(gs.Waiting[dm.Eldest].Created()))
	}
	if young <= 0 {
		return nil
	}
	return new(reason.New(reason.GangYoung, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.There, "young", young, "delay", delay))
}

// holdMachines remembers since when gangs have not been whole, and gives up the machines that wait for them after --gang-hold:
//
//	gang                                          in the memory                          its pods keep the nodes that they fit
//	runs, or has places that need no new machine  no more                                it is not out
//	whole only by machines that this cycle adds   as before: the cloud may refuse these  it is not out
//	left out                                      since it was first out                 yes (GangHeld)
//	left out for --gang-hold                      the same                               no (GangGivenUp, scenario gang-released)
//	of a request that keeps no nodes              nothing                                no
func (gs *Rounds) holdMachines() {
	for _, g := range gs.Gangs {
		if g.Out == nil {
			if t := gs.Tally(g.Demands); g.Runs() || g.Placed+t.There+t.Coming >= g.Least {
				gs.Memory.Gangs = memory.Without(gs.Memory.Gangs, g.ID)
			}
			continue
		}
		if g.Claim != nil && !g.Claim.Asks {
			continue // it keeps no machine
		}
		since, known := gs.Memory.Gangs[g.ID]
		if !known {
			since = gs.Now
			gs.Memory.Gangs = memory.With(gs.Memory.Gangs, g.ID, since)
		}
		until := since.Add(gs.Policy.Growth.GangHold)
		gs.Wake(until)
		code := reason.GangHeld
		if g.Given = !gs.Now.Before(until); g.Given {
			code = reason.GangGivenUp
		}
		for _, dm := range g.Demands {
			for _, at := range dm.Pods {
				v := &gs.PodVerdicts[at]
				v.Because = append(slices.Clip(v.Because), reason.New(code, v.Subject, "until", until.Format(time.RFC3339)))
			}
		}
	}
}
