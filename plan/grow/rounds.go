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

// rounds is how many times a cycle places its pods anew, at most, to leave out one gang after the other. Then all go that are not whole.
const rounds = 12

// Whole has find look for places for all pods that wait, so that every gang gets all the places it needs or none: as long as some gang
// got some places and not enough of them, the last such gang is left out and all is placed anew. Gangs that were left out for the sake of
// one that then did not fit either are let in again.
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

// letInAgain tries the gangs that were left out before others were, those that come first in order first. undo takes back the places that
// were found without them.
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

// tryPlaces gives the pods of gangs that are left out their verdicts, and places the others.
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

// halfGangs are the gangs that got fewer places than they need, in order. One that waits for the word of an expander's server or for more
// pods to come, and for which nothing is bought meanwhile, is not counted among them.
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

// leaveOutHalf leaves out a gang that got too few places, and keeps why: some of its pods are not sluice's to place yet, or there is no
// room.
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

// youngOf says of a gang that waits that some of its pods are too young to be a reason to grow; nil when none is.
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

// holdMachines remembers since when gangs have not been whole, and gives up the machines that wait for them when that was long ago. A
// growth that has only been asked for makes no gang whole: the cloud may refuse it.
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
