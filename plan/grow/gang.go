package grow

import (
	"slices"
	"time"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// rounds is how many times a cycle places its pods anew, at most, to leave out one gang after the other. Then all go that are not whole.
const rounds = 12

// WholeGangs has find look for places for all pods that wait, so that every gang gets all the places it needs or none: as long as some gang
// got some places and not enough of them, the last such gang is left out and all is placed anew. Gangs that were left out for the sake of
// one that then did not fit either are let in again.
func (d *Growth) WholeGangs(find func()) {
	if len(d.Gangs) == 0 {
		find()
		return
	}
	defer d.tellAll()
	var left []*place.Gang // in the order in which they were left out
	undo := d.tryPlaces(find)
	for round := 1; ; round++ {
		halves := d.halfGangs()
		if len(halves) == 0 {
			break
		}
		if round < rounds {
			halves = halves[len(halves)-1:]
		}
		for _, g := range halves {
			d.leaveOutHalf(g)
		}
		left = append(left, halves...)
		undo()
		undo = d.tryPlaces(find)
	}
	d.letInAgain(left, undo, find)
	d.holdMachines()
}

// letInAgain tries the gangs that were left out before others were, those that come first in order first. undo takes back the places that
// were found without them.
func (d *Growth) letInAgain(left []*place.Gang, undo func(), find func()) {
	if len(left) < 2 || len(left) > rounds {
		return
	}
	earlier := left[:len(left)-1]
	for _, g := range d.Gangs {
		if !slices.Contains(earlier, g) {
			continue
		}
		out := g.Out
		g.Out = nil
		undo()
		if undo = d.tryPlaces(find); len(d.halfGangs()) > 0 {
			g.Out = out
			undo()
			undo = d.tryPlaces(find)
		}
	}
}

// tryPlaces gives the pods of gangs that are left out their verdicts, and places the others.
func (d *Growth) tryPlaces(find func()) (undo func()) {
	undo = d.trial()
	for _, g := range d.Gangs {
		if g.Out == nil {
			continue
		}
		for _, dm := range g.Demands {
			d.Serve(dm, dm.Left(), g.Outcome, append([]reason.Reason{*g.Out}, g.Misses...)...)
		}
	}
	find()
	return undo
}

// halfGangs are the gangs that got fewer places than they need, in order. One that waits for the word of an expander's server or for more
// pods to come, and for which nothing is bought meanwhile, is not counted among them.
func (d *Growth) halfGangs() []*place.Gang {
	var halves []*place.Gang
	for _, g := range d.Gangs {
		if g.Out != nil || g.Runs() {
			continue
		}
		t := d.Tally(g.Demands)
		if g.Placed+t.Placed() < g.Least && (t.Asked == 0 || t.Grows > 0) {
			halves = append(halves, g)
		}
	}
	return halves
}

// Tally is what became of some pods, in numbers.
type Tally struct{ There, Coming, Grows, Stuck, Asked int }

// Placed is how many found a place.
func (t Tally) Placed() int { return t.There + t.Coming + t.Grows }

// Tally is what became of the pods of demands, in numbers.
func (d *Growth) Tally(demands []*place.Demand) Tally {
	var t Tally
	for _, dm := range demands {
		for _, at := range dm.Pods[:dm.Served] {
			v := d.PodVerdicts[at]
			switch {
			case v.Outcome == action.PodScheduling:
				t.There++
			case v.Outcome == action.PodRescues:
				t.Coming++
			case v.Outcome == action.PodWaiting && (v.Because[0].Code == reason.ExpanderAsked || v.Because[0].Code == reason.PodsKeepComing || v.Because[0].Code == reason.PodsComeAndPause):
				t.Asked++
			case v.Outcome == action.PodWaiting:
				t.Coming++
			case v.Outcome == action.PodGrows:
				t.Grows++
			case v.Outcome == action.PodStuck:
				t.Stuck++
			}
		}
	}
	return t
}

// leaveOutHalf leaves out a gang that got too few places, and keeps why: some of its pods are not sluice's to place yet, or there is no room.
func (d *Growth) leaveOutHalf(g *place.Gang) {
	t := d.Tally(g.Demands)
	switch {
	case g.Claim != nil:
		g.LeaveOut(action.PodStuck, g.Claim.DoesNotFit(t.Placed()))
	case d.youngOf(g) != nil:
		g.LeaveOut(action.PodIgnored, *d.youngOf(g))
		return
	case t.Stuck == 0:
		g.LeaveOut(action.PodIgnored, reason.New(reason.GangAwaitsPods, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.Placed+t.Placed()))
		return
	default:
		g.LeaveOut(action.PodStuck, reason.New(reason.GangDoesNotFit, reason.Ref{}, "gang", g.Name, "needs", g.Least, "fit", g.Placed+t.Placed()))
	}
	for _, dm := range g.Demands {
		for _, at := range dm.Pods[:dm.Served] {
			if v := d.PodVerdicts[at]; v.Outcome == action.PodStuck {
				g.Misses = v.Because[1:]
				return
			}
		}
	}
}

// youngOf says of a gang that waits that some of its pods are too young to be a reason to grow; nil when none is.
func (d *Growth) youngOf(g *place.Gang) *reason.Reason {
	young, delay := g.There-g.Placed, time.Duration(0)
	for _, dm := range g.Demands {
		young -= len(dm.Pods) // the young ones have left it
		until, _ := d.Policy.Young(d.Waiting[dm.Eldest], d.Now)
		delay = max(delay, until.Sub(d.Waiting[dm.Eldest].Created()))
	}
	if young <= 0 {
		return nil
	}
	return new(reason.New(reason.GangYoung, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.There, "young", young, "delay", delay))
}

// holdMachines remembers since when gangs have not been whole, and gives up the machines that wait for them when that was long ago. A
// growth that has only been asked for makes no gang whole: the cloud may refuse it.
func (d *Growth) holdMachines() {
	for _, g := range d.Gangs {
		if g.Out == nil {
			if t := d.Tally(g.Demands); g.Runs() || g.Placed+t.There+t.Coming >= g.Least {
				d.Memory.Gangs = memory.Without(d.Memory.Gangs, g.ID)
			}
			continue
		}
		if g.Claim != nil && !g.Claim.Asks {
			continue // it keeps no machine
		}
		since, known := d.Memory.Gangs[g.ID]
		if !known {
			since = d.Now
			d.Memory.Gangs = memory.With(d.Memory.Gangs, g.ID, since)
		}
		until := since.Add(d.Policy.Growth.GangHold)
		d.Wake(until)
		code := reason.GangHeld
		if g.Given = !d.Now.Before(until); g.Given {
			code = reason.GangGivenUp
		}
		for _, dm := range g.Demands {
			for _, at := range dm.Pods {
				v := &d.PodVerdicts[at]
				v.Because = append(slices.Clip(v.Because), reason.New(code, v.Subject, "until", until.Format(time.RFC3339)))
			}
		}
	}
}
