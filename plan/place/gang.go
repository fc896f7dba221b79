package place

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// CollectGangs finds the gangs of the pods that wait, those that come first in the order of demands first. A gang of which one pod
// has been judged by the scheduler or waits for its capacity is judged as a whole.
//
//	gang                                                what happens now
//	nobody says how many pods it needs                  stuck, with the remedy (Unclear)
//	has fewer pods than it needs, placed ones included  left out until the others are made
//	has enough pods                                     [grow.Rounds] finds places for all that it needs, or for none
//
// Of a gang that runs already, the further pods are served one by one: see [Gang.Runs].
func (d *Room) CollectGangs() {
	known := map[string]*Gang{}
	for _, dm := range d.Demands {
		its, ok := d.gangOf(dm)
		if !ok || dm.Left() == 0 {
			continue
		}
		g := known[its.ID]
		if g == nil {
			g = its
			known[its.ID] = g
			d.Gangs = append(d.Gangs, g)
		}
		dm.Gang = g
		g.There += dm.Left()
		g.Demands = append(g.Demands, dm)
	}
	// No pod of the gang waits any more. If some wait again later, machines are kept for them for the whole time again.
	for id := range d.Memory.Gangs {
		if known[id] == nil {
			d.Memory.Gangs = memory.Without(d.Memory.Gangs, id)
		}
	}
	if len(known) == 0 {
		return
	}
	d.sortGangs()
	d.countPlaced(known)
	for _, g := range d.Gangs {
		judged := slices.ContainsFunc(g.Demands, func(dm *Demand) bool { return dm.Judged })
		for _, dm := range g.Demands {
			dm.judge(judged)
		}
		g.There += g.Placed
		switch {
		case g.Unclear != "":
			g.LeaveOut(action.PodStuck, reason.New(reason.GangUnclear, reason.Ref{}, "gang", g.Name, "why", g.Unclear))
		case g.There < g.Least:
			g.LeaveOut(action.PodIgnored, reason.New(reason.GangAwaitsPods, reason.Ref{}, "gang", g.Name, "needs", g.Least, "there", g.There))
		}
	}
}

// gangOf is a gang such as the demand's pods are of, false when each of them is for itself.
func (d *Room) gangOf(dm *Demand) (*Gang, bool) {
	if dm.Claim != nil {
		return dm.Claim.Gang, dm.Claim.Gang != nil
	}
	its, ok := d.Snapshot.Objects.GangOf(dm.Of)
	return &Gang{Gang: its}, ok
}

// countPlaced counts the pods of gangs that have their place.
//
//	pod of a gang                                 counts
//	bound, and neither ended nor deleted          yes
//	bound, and succeeded                          where the gang is one of a controller (FinishedCount)
//	not bound, nominated to a node that is there  yes, unless it is expendable
//	bound, and failed or deleted                  no
func (d *Room) countPlaced(known map[string]*Gang) {
	of := map[*cluster.Class]*Gang{}
	for _, p := range d.Snapshot.Objects.Pods {
		if p.Node == "" && p.Nominated() == "" {
			continue
		}
		g, seen := of[p.Class]
		if !seen {
			if its, ok := d.Snapshot.Objects.GangOf(p.Class); ok {
				g = known[its.ID]
			}
			of[p.Class] = g
		}
		switch {
		case g == nil:
		case p.Node == "":
			if d.hasNomination(p) {
				g.Placed++
			}
		case !p.Finished() && !p.Leaving(), p.Phase == corev1.PodSucceeded && g.FinishedCount:
			g.Placed++
		}
	}
}

// sortGangs puts the gangs in the order in which they are served: by priority, then by their oldest pod.
func (d *Room) sortGangs() {
	oldest := func(g *Gang) int {
		first := g.Demands[0].Pods[0]
		for _, dm := range g.Demands {
			first = min(first, dm.Pods[0])
		}
		return first
	}
	slices.SortStableFunc(d.Gangs, func(a, b *Gang) int {
		return cmp.Or(cmp.Compare(b.Demands[0].Of.Priority(), a.Demands[0].Of.Priority()), cmp.Compare(oldest(a), oldest(b)))
	})
}
