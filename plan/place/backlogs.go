package place

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// backlogs are pods that wait their turn, as a drain target gives the time to.
type backlogs struct {
	*node.View
	*Queue
	room *Room
}

// A pod that has run for as long as expected is thought to need that much more; backlogs are looked at again so often.
const (
	OverdueRun  = 30 * time.Second
	lookAgainIn = 10 * time.Second
)

// holdBack lets pods wait their turn that a drain target gives the time to. Of a backlog those go first that places now taken by pods
// which ask for the same will serve once they are free, and the rest shares places, as many pods one after the other as end in time after a
// machine has booted, at least one. Only that many pods are placed on machines that are coming or bought. Pods of unknown run times, those
// that depend on where others are, and those of a gang that does not run yet wait for nobody.
//
// For example, 16 pods run for 5 minutes each, the target is 20 minutes, and a machine boots in 3. Then (20-3)/5 = 3 pods share a place one
// after the other, and 6 places are enough (scenario drain-target).
func (bl *backlogs) holdBack() {
	if len(bl.Policy.Growth.DrainTargets) == 0 {
		return
	}
	order, backlogs := bl.all()
	if len(order) == 0 {
		return
	}
	free, boot := bl.placesSoon(), bl.room.RunTimes.BootTime()
	for _, key := range order {
		b := backlogs[key]
		rest := b.pods
		places := free[key.asks]
		// A place that is free at until serves so many pods one after the other within the target. It is then taken for the whole target:
		// other backlogs with the same target do not count on it.
		for i, until := range places {
			if turns := int((key.target - until) / key.run); rest > 0 && turns > 0 {
				rest -= turns
				places[i] = key.target // spoken for
			}
		}
		turns := max(1, int((key.target-boot)/key.run))
		bl.hold(b, key, (max(0, rest)+turns-1)/turns)
	}
}

// all are those with a drain target, in the order in which their first pods are placed.
func (bl *backlogs) all() ([]backlogKey, map[backlogKey]*backlog) {
	var order []backlogKey
	all := map[backlogKey]*backlog{}
	for _, dm := range bl.room.Wanting() {
		if !bl.mayHold(dm) {
			continue
		}
		needs := bl.Check.Needs(dm.Of)
		key := backlogKey{asks: Words(needs), run: bl.room.RunTimes.RunTime(dm.Of), target: bl.drainTarget(dm.Of)}
		if key.run == 0 || key.target == 0 {
			continue
		}
		key.owner = node.OwnerOf(dm.Of)
		b := all[key]
		if b == nil {
			b = &backlog{}
			if len(needs) > 1 {
				b.milli = needs[1]
			}
			all[key] = b
			order = append(order, key)
		}
		b.demands = append(b.demands, dm)
		b.pods += dm.Left()
	}
	return order, all
}

// hold leaves the first pods of a backlog so many places, and gives the others the verdict that they wait their turn.
// The youngest pods wait, since a demand has its pods in the order of age.
func (bl *backlogs) hold(b *backlog, key backlogKey, slots int) {
	if slots >= b.pods {
		return
	}
	work := float64(b.pods) * key.run.Minutes() * float64(b.milli) / 1000
	because := reason.New(reason.WaitsForTurn, reason.Ref{}, "pods", b.pods, "minutes", int(work), "target", key.target, "run", key.run.Truncate(time.Second), "slots", slots)
	for _, dm := range b.demands {
		first := min(dm.Left(), slots)
		slots -= first
		if n := dm.Left() - first; n > 0 {
			bl.wait(dm, n, because)
		}
	}
}

// wait gives the youngest n pods of a demand the verdict that they wait, and looks again soon.
func (bl *backlogs) wait(dm *Demand, n int, because reason.Reason) {
	keep := len(dm.Pods) - n
	// Serve gives its verdict to the first pods of a demand. These are the last ones, so they get it as a demand of their own.
	bl.Serve(&Demand{Of: dm.Of, Pods: dm.Pods[keep:]}, n, action.PodWaiting, because)
	dm.only(dm.Pods[:keep])
	bl.Wake(bl.Now.Add(lookAgainIn))
}

// drainTarget is the time within which a backlog of the class is to be worked off, 0 for none.
// Only where a group has a target, it asks for each demand which groups' empty machines the class suits, zone by zone.
func (bl *backlogs) drainTarget(of *cluster.Class) time.Duration {
	g := bl.Policy.Growth
	if within := g.Drain(of.Namespace); within > 0 || !slices.ContainsFunc(bl.Snapshot.Groups, func(c *cluster.Group) bool { return g.Drain("", c.ID) > 0 }) {
		return within
	}
	// A group's target concerns pods that only groups with a target take: all groups that suit are needed, not the first.
	var would []cluster.GroupID
	for _, c := range bl.Snapshot.Groups {
		if c.Template == nil {
			continue
		}
		st, suits := bl.room.groups[c.ID], false
		for _, zone := range st.Sites() {
			bl.room.Machines.OnEmpty(st, zone, func(h scheduling.Handle) { suits = suits || bl.Check.Suits(of, h) })
		}
		if suits {
			would = append(would, c.ID)
		}
	}
	return g.Drain(of.Namespace, would...)
}

// placesSoon is when pods that run now are expected to leave their places, from now, by what they ask for. Places on nodes that take no
// further pods are left out, and so are those of pods whose run times are unknown.
// Its work grows with all pods that run; a class is asked once for its run time.
func (bl *backlogs) placesSoon() map[string][]time.Duration {
	type known struct {
		run  time.Duration
		asks string
	}
	out, classes := map[string][]time.Duration{}, map[*cluster.Class]known{}
	for _, n := range bl.Snapshot.Nodes {
		if n.Object.Spec.Unschedulable {
			continue
		}
		for _, p := range n.Pods {
			c, ok := classes[p.Class]
			if !ok {
				if run := bl.room.RunTimes.RunTime(p.Class); run > 0 && !p.Daemon() {
					c = known{run, Words(bl.Check.Needs(p.Class))}
				}
				classes[p.Class] = c
			}
			run := c.run
			if run == 0 {
				continue
			}
			if began := p.Started(); !began.IsZero() {
				run -= bl.Now.Sub(began)
			}
			out[c.asks] = append(out[c.asks], max(run, OverdueRun))
		}
	}
	return out
}

// mayHold says whether pods of a demand can wait without anybody else being kept from his place.
//
//	pods                               why they do not wait their turn
//	that the scheduler has not judged  no group grows for them anyway
//	virtual ones                       they keep room free now
//	that depend on where others are    a pod that waits is on no node: others that need it there would wait too
//	of a gang that does not run yet    it would not be whole
func (bl *backlogs) mayHold(dm *Demand) bool {
	return dm.Judged && dm.Claim == nil && !bl.Check.Depends(dm.Of) && (dm.Gang == nil || dm.Gang.Runs())
}

// backlog is the pods of one owner that wait, ask for the same and are expected to run alike. Their classes may differ, as those of an
// indexed Job do.
type backlog struct {
	demands []*Demand
	pods    int
	milli   int64 // thousandths of cores that one asks for
}

type backlogKey struct {
	owner       string
	asks        string
	run, target time.Duration
}
