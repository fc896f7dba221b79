package plan

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// gang is a gang of which some pods wait.
type gang struct {
	cluster.Gang
	demands []*demand // of its pods that wait and that only the scheduler or sluice keeps from running
	placed  int       // pods that have a node, or that the scheduler has made room for
	there   int       // placed ones and those of the demands

	out     *reason.Reason  // why no place is kept and no machine bought for its pods, nil when they are served
	outcome Outcome         // of these pods then
	misses  []reason.Reason // what kept the pods from a place that had none
	given   bool            // for longer than [policy.Growth.GangHold]: its pods keep no machine
	claim   *claim          // whose pods they are, nil for pods that are there
}

// runs says whether the gang has what it needs already: its further pods are served one by one.
func (g *gang) runs() bool { return g.Least > 0 && g.placed >= g.Least }

// collectGangs finds the gangs of the pods that wait, those that come first in the order of demands first. A gang of which one pod
// has been judged by the scheduler or waits for its capacity is judged as a whole.
func (d *placing) collectGangs() {
	known := map[string]*gang{}
	for _, dm := range d.demands {
		its, ok := d.gangOf(dm)
		if !ok || dm.left() == 0 {
			continue
		}
		g := known[its.ID]
		if g == nil {
			g = its
			known[its.ID] = g
			d.gangs = append(d.gangs, g)
		}
		dm.gang = g
		g.there += dm.left()
		g.demands = append(g.demands, dm)
	}
	for id := range d.m.Gangs {
		if known[id] == nil {
			d.m.Gangs = without(d.m.Gangs, id)
		}
	}
	if len(known) == 0 {
		return
	}
	d.sortGangs()
	d.countPlaced(known)
	for _, g := range d.gangs {
		judged := slices.ContainsFunc(g.demands, func(dm *demand) bool { return dm.judged })
		for _, dm := range g.demands {
			dm.judged = judged
		}
		g.there += g.placed
		switch {
		case g.Unclear != "":
			g.leaveOut(PodStuck, reason.New(reason.GangUnclear, reason.Ref{}, "gang", g.Name, "why", g.Unclear))
		case g.there < g.Least:
			g.leaveOut(PodIgnored, reason.New(reason.GangAwaitsPods, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.there))
		}
	}
}

// gangOf is a gang such as the demand's pods are of, false when each of them is for itself.
func (d *placing) gangOf(dm *demand) (*gang, bool) {
	if dm.claim != nil {
		return dm.claim.gang, dm.claim.gang != nil
	}
	its, ok := d.s.Objects.GangOf(dm.of)
	return &gang{Gang: its}, ok
}

// countPlaced counts the pods of gangs that have their place.
func (d *placing) countPlaced(known map[string]*gang) {
	of := map[*cluster.Class]*gang{}
	for _, p := range d.s.Objects.Pods {
		if p.Node == "" && p.Nominated() == "" {
			continue
		}
		g, seen := of[p.Class]
		if !seen {
			if its, ok := d.s.Objects.GangOf(p.Class); ok {
				g = known[its.ID]
			}
			of[p.Class] = g
		}
		switch {
		case g == nil:
		case p.Node == "":
			if d.hasNomination(p) {
				g.placed++
			}
		case !p.Finished() && !p.Leaving(), p.Phase == corev1.PodSucceeded && g.FinishedCount:
			g.placed++
		}
	}
}

func (g *gang) leaveOut(outcome Outcome, why reason.Reason) { g.out, g.outcome = &why, outcome }

// rounds is how many times a cycle places its pods anew, at most, to leave out one gang after the other. Then all go that are not whole.
const rounds = 12

// wholeGangs has find look for places for all pods that wait, so that every gang gets all the places it needs or none: as long as some gang
// got some places and not enough of them, the last such gang is left out and all is placed anew. Gangs that were left out for the sake of
// one that then did not fit either are let in again.
func (d *growing) wholeGangs(find func()) {
	if len(d.gangs) == 0 {
		find()
		return
	}
	defer d.tellAll()
	var left []*gang // in the order in which they were left out
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
func (d *growing) letInAgain(left []*gang, undo func(), find func()) {
	if len(left) < 2 || len(left) > rounds {
		return
	}
	earlier := left[:len(left)-1]
	for _, g := range d.gangs {
		if !slices.Contains(earlier, g) {
			continue
		}
		out := g.out
		g.out = nil
		undo()
		if undo = d.tryPlaces(find); len(d.halfGangs()) > 0 {
			g.out = out
			undo()
			undo = d.tryPlaces(find)
		}
	}
}

// tryPlaces gives the pods of gangs that are left out their verdicts, and places the others.
func (d *growing) tryPlaces(find func()) (undo func()) {
	undo = d.trial()
	for _, g := range d.gangs {
		if g.out == nil {
			continue
		}
		for _, dm := range g.demands {
			d.serve(dm, dm.left(), g.outcome, append([]reason.Reason{*g.out}, g.misses...)...)
		}
	}
	find()
	return undo
}

// halfGangs are the gangs that got fewer places than they need, in order. One that waits for the word of an expander's server or for more
// pods to come, and for which nothing is bought meanwhile, is not counted among them.
func (d *growing) halfGangs() []*gang {
	var halves []*gang
	for _, g := range d.gangs {
		if g.out != nil || g.runs() {
			continue
		}
		t := d.tally(g.demands)
		if g.placed+t.placed() < g.Least && (t.asked == 0 || t.grows > 0) {
			halves = append(halves, g)
		}
	}
	return halves
}

// tally is what became of some pods, in numbers.
type tally struct{ there, coming, grows, stuck, asked int }

// placed is how many found a place.
func (t tally) placed() int { return t.there + t.coming + t.grows }

// tally is what became of the pods of demands, in numbers.
func (d *growing) tally(demands []*demand) tally {
	var t tally
	for _, dm := range demands {
		for _, at := range dm.pods[:dm.served] {
			v := d.podVerdicts[at]
			switch {
			case v.Outcome == PodScheduling:
				t.there++
			case v.Outcome == PodRescues:
				t.coming++
			case v.Outcome == PodWaiting && (v.Because[0].Code == reason.ExpanderAsked || v.Because[0].Code == reason.PodsKeepComing || v.Because[0].Code == reason.PodsComeAndPause):
				t.asked++
			case v.Outcome == PodWaiting:
				t.coming++
			case v.Outcome == PodGrows:
				t.grows++
			case v.Outcome == PodStuck:
				t.stuck++
			}
		}
	}
	return t
}

// leaveOutHalf leaves out a gang that got too few places, and keeps why: some of its pods are not sluice's to place yet, or there is no room.
func (d *growing) leaveOutHalf(g *gang) {
	t := d.tally(g.demands)
	switch {
	case g.claim != nil:
		g.leaveOut(PodStuck, g.claim.doesNotFit(t.placed()))
	case d.youngOf(g) != nil:
		g.leaveOut(PodIgnored, *d.youngOf(g))
		return
	case t.stuck == 0:
		g.leaveOut(PodIgnored, reason.New(reason.GangAwaitsPods, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.placed+t.placed()))
		return
	default:
		g.leaveOut(PodStuck, reason.New(reason.GangDoesNotFit, reason.Ref{}, "gang", g.Name, "needs", g.Least, "fit", g.placed+t.placed()))
	}
	for _, dm := range g.demands {
		for _, at := range dm.pods[:dm.served] {
			if v := d.podVerdicts[at]; v.Outcome == PodStuck {
				g.misses = v.Because[1:]
				return
			}
		}
	}
}

// youngOf says of a gang that waits that some of its pods are too young to be a reason to grow; nil when none is.
func (d *growing) youngOf(g *gang) *reason.Reason {
	young, delay := g.there-g.placed, time.Duration(0)
	for _, dm := range g.demands {
		young -= len(dm.pods) // the young ones have left it
		until, _ := d.allowed.Young(d.waiting[dm.eldest], d.now)
		delay = max(delay, until.Sub(d.waiting[dm.eldest].Created()))
	}
	if young <= 0 {
		return nil
	}
	return new(reason.New(reason.GangYoung, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.there, "young", young, "delay", delay))
}

// holdMachines remembers since when gangs have not been whole, and gives up the machines that wait for them when that was long ago. A
// growth that has only been asked for makes no gang whole: the cloud may refuse it.
func (d *growing) holdMachines() {
	for _, g := range d.gangs {
		if g.out == nil {
			if t := d.tally(g.demands); g.runs() || g.placed+t.there+t.coming >= g.Least {
				d.m.Gangs = without(d.m.Gangs, g.ID)
			}
			continue
		}
		if g.claim != nil && !g.claim.asks {
			continue // it keeps no machine
		}
		since, known := d.m.Gangs[g.ID]
		if !known {
			since = d.now
			d.m.Gangs = with(d.m.Gangs, g.ID, since)
		}
		until := since.Add(d.allowed.Growth.GangHold)
		d.wake(until)
		code := reason.GangHeld
		if g.given = !d.now.Before(until); g.given {
			code = reason.GangGivenUp
		}
		for _, dm := range g.demands {
			for _, at := range dm.pods {
				v := &d.podVerdicts[at]
				v.Because = append(slices.Clip(v.Because), reason.New(code, v.Subject, "until", until.Format(time.RFC3339)))
			}
		}
	}
}

// sortGangs puts the gangs in the order in which they are served: by priority, then by their oldest pod.
func (d *placing) sortGangs() {
	oldest := func(g *gang) int {
		first := g.demands[0].pods[0]
		for _, dm := range g.demands {
			first = min(first, dm.pods[0])
		}
		return first
	}
	slices.SortStableFunc(d.gangs, func(a, b *gang) int {
		return cmp.Or(cmp.Compare(b.demands[0].of.Priority(), a.demands[0].of.Priority()), cmp.Compare(oldest(a), oldest(b)))
	})
}
