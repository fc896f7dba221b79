package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// usualBoot is how long a machine takes from its request to its node where nothing has been seen to join.
const usualBoot = 3 * time.Minute

// A pod that has run for as long as expected is thought to need that much more; backlogs are looked at again so often.
const (
	overdueRun  = 30 * time.Second
	lookAgainIn = 10 * time.Second
)

// backlog is the pods of one owner that wait, ask for the same and are expected to run alike. Their classes may differ, as those of an
// indexed Job do.
type backlog struct {
	demands []*demand
	pods    int
	milli   int64 // thousandths of cores that one asks for
}

type backlogKey struct {
	owner       string
	asks        string
	run, target time.Duration
}

// holdBacklogs lets pods wait their turn that a drain target gives the time to. Of a backlog those go first that places now taken by pods
// which ask for the same will serve once they are free, and the rest shares places, as many pods one after the other as end in time after a
// machine has booted, at least one. Only that many pods are placed on machines that are coming or bought. Pods of unknown run times, those
// that depend on where others are, and those of a gang that does not run yet wait for nobody.
func (d *placing) holdBacklogs() {
	if len(d.allowed.Growth.DrainTargets) == 0 {
		return
	}
	order, backlogs := d.backlogs()
	if len(order) == 0 {
		return
	}
	free, boot := d.placesSoon(), d.bootTime()
	for _, key := range order {
		b := backlogs[key]
		rest := b.pods
		places := free[key.asks]
		for i, until := range places {
			if turns := int((key.target - until) / key.run); rest > 0 && turns > 0 {
				rest -= turns
				places[i] = key.target // spoken for
			}
		}
		turns := max(1, int((key.target-boot)/key.run))
		d.hold(b, key, (max(0, rest)+turns-1)/turns)
	}
}

// backlogs are those with a drain target, in the order in which their first pods are placed.
func (d *placing) backlogs() ([]backlogKey, map[backlogKey]*backlog) {
	var order []backlogKey
	all := map[backlogKey]*backlog{}
	for _, dm := range d.wanting() {
		if !d.mayHold(dm) {
			continue
		}
		needs := d.check.Needs(dm.of)
		key := backlogKey{asks: words(needs), run: d.runTime(dm.of), target: d.drainTarget(dm.of)}
		if key.run == 0 || key.target == 0 {
			continue
		}
		key.owner = ownerOf(dm.of)
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
		b.pods += dm.left()
	}
	return order, all
}

// hold leaves the first pods of a backlog so many places, and gives the others the verdict that they wait their turn.
func (d *placing) hold(b *backlog, key backlogKey, slots int) {
	if slots >= b.pods {
		return
	}
	work := float64(b.pods) * key.run.Minutes() * float64(b.milli) / 1000
	because := reason.New(reason.WaitsForTurn, reason.Ref{}, "pods", b.pods, "minutes", int(work), "target", key.target, "run", key.run.Truncate(time.Second), "slots", slots)
	for _, dm := range b.demands {
		first := min(dm.left(), slots)
		slots -= first
		if n := dm.left() - first; n > 0 {
			d.holdBack(dm, n, because)
		}
	}
}

// holdBack gives the youngest n pods of a demand the verdict that they wait, and looks again soon.
func (d *placing) holdBack(dm *demand, n int, because reason.Reason) {
	keep := len(dm.pods) - n
	d.serve(&demand{of: dm.of, pods: dm.pods[keep:]}, n, PodWaiting, because)
	dm.pods = dm.pods[:keep]
	d.wake(d.now.Add(lookAgainIn))
}

// drainTarget is the time within which a backlog of the class is to be worked off, 0 for none.
func (d *placing) drainTarget(of *cluster.Class) time.Duration {
	g := d.allowed.Growth
	if within := g.Drain(of.Namespace); within > 0 || !slices.ContainsFunc(d.s.Groups, func(c *cluster.Group) bool { return g.Drain("", c.ID) > 0 }) {
		return within
	}
	var would []cluster.GroupID
	for _, c := range d.s.Groups {
		if c.Template == nil {
			continue
		}
		st, suits := d.groups[c.ID], false
		for _, zone := range st.sites() {
			d.onEmpty(st, zone, func(h scheduling.Handle) { suits = suits || d.check.Suits(of, h) })
		}
		if suits {
			would = append(would, c.ID)
		}
	}
	return g.Drain(of.Namespace, would...)
}

// placesSoon is when pods that run now are expected to leave their places, from now, by what they ask for. Places on nodes that take no
// further pods are left out, and so are those of pods whose run times are unknown.
func (d *placing) placesSoon() map[string][]time.Duration {
	type known struct {
		run  time.Duration
		asks string
	}
	out, classes := map[string][]time.Duration{}, map[*cluster.Class]known{}
	for _, n := range d.s.Nodes {
		if n.Object.Spec.Unschedulable {
			continue
		}
		for _, p := range n.Pods {
			c, ok := classes[p.Class]
			if !ok {
				if run := d.runTime(p.Class); run > 0 && !p.Daemon() {
					c = known{run, words(d.check.Needs(p.Class))}
				}
				classes[p.Class] = c
			}
			run := c.run
			if run == 0 {
				continue
			}
			if began := p.Started(); !began.IsZero() {
				run -= d.now.Sub(began)
			}
			out[c.asks] = append(out[c.asks], max(run, overdueRun))
		}
	}
	return out
}

// bootTime is how long machines take from their request to their node: the median of those that are there.
func (d *placing) bootTime() time.Duration {
	var took []time.Duration
	for _, n := range d.s.Nodes {
		if n.Instance != nil && !n.Instance.Created.IsZero() {
			if t := n.Object.CreationTimestamp.Sub(n.Instance.Created); t > 0 && t <= d.allowed.Growth.Provision {
				took = append(took, t)
			}
		}
	}
	if len(took) == 0 {
		return usualBoot
	}
	slices.Sort(took)
	return took[len(took)/2]
}
