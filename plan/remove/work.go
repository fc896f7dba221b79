package remove

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// A node on which nothing but work is in the way runs dry: it is tainted, so that new work goes elsewhere, and leaves when its work is done. The
// other nodes could do that work as well, so that the node is one too many. Nobody who works is told to leave, and the node counts
// among those on their way out only when nobody works there any more: until then it may be the one that stays.

// toldWork is how many pods a verdict names that a node waits for.
const toldWork = 3

// work are the node's pods that may not be evicted because they work, those last that work for longest; other is why another one may not be
// evicted.
func (d *Removal) work(st *candidate) (works []worker, other *reason.Reason) {
	for _, p := range st.Movers {
		if p.Leaving() {
			continue
		}
		why, keeps := d.Keeps(p, st.Facts)
		switch {
		case !keeps:
		case policy.Work(why.Code) && !d.Policy.Lasts(p, st.Where, d.Now):
			works = append(works, worker{p, why, d.workLeft(p)})
			if patience := d.Policy.Patience(p, st.Group); patience > 0 && !st.Where.Dry.IsZero() {
				d.Wake(st.Where.Dry.Add(time.Duration(patience)))
			}
		default:
			return nil, &why
		}
	}
	slices.SortStableFunc(works, func(a, b worker) int { return compareEnds(a.left, b.left) })
	return works, nil
}

// workLeft is when the pod is expected to end, from now: by how long such pods run, or by its deadline; 0 when nobody knows. What was learned for
// short pods alone says too little of the long ones that keep a node: it counts where a drain target has all pods timed.
func (d *Removal) workLeft(p *cluster.Pod) time.Duration {
	run, began := policy.RunTime(p.Class), p.Started()
	if len(d.Policy.Growth.DrainTargets) > 0 {
		run = d.growth.RunTime(p.Class)
	}
	if s := p.Spec.ActiveDeadlineSeconds; s != nil && run == 0 {
		run = time.Duration(*s) * time.Second
	}
	if run == 0 {
		return 0
	}
	if !began.IsZero() {
		run -= d.Now.Sub(began)
	}
	return max(run, place.OverdueRun)
}

// compareEnds puts those that end first first, and those of which nobody knows last.
func compareEnds(a, b time.Duration) int {
	if a == 0 || b == 0 {
		return -cmp.Compare(a, b)
	}
	return cmp.Compare(a, b)
}

// ends is when the last of the pods is expected to end, from now; 0 when nobody knows of one of them.
func ends(works []worker) time.Duration {
	if len(works) == 0 {
		return 0
	}
	return works[len(works)-1].left
}

// considerDry taints nodes that are to run dry, those first whose work ends first.
func (d *Removal) considerDry(nodes []*candidate) {
	var all []drying
	for _, st := range nodes {
		works, other := d.work(st)
		if other != nil || len(works) == 0 || !d.Policy.Removal.Work.RunDry {
			d.keep(st, *d.refusal(st))
			continue
		}
		all = append(all, drying{st, works})
	}
	if len(all) > 0 {
		d.holdDry()
	}
	slices.SortStableFunc(all, func(a, b drying) int {
		return cmp.Or(compareEnds(ends(a.works), ends(b.works)), cmp.Compare(len(a.works), len(b.works)))
	})
	for _, dry := range all {
		st, g := dry.candidate, d.groups[dry.Group]
		keeps := dry.works[len(dry.works)-1].why
		if because := d.couldGo(st); because != nil {
			d.keep(st, append([]reason.Reason{keeps}, because...)...)
			continue
		}
		if block := d.forbidden(st); block != nil {
			d.destinations.Back()
			d.judgeNode(st, action.NodeKeep, append([]reason.Reason{keeps}, block...)...)
			continue
		}
		if why := d.neededOf(st, g.emptied+g.drying+1); why != nil {
			d.destinations.Back()
			d.judgeNode(st, action.NodeKeep, keeps, *why)
			continue
		}
		d.destinations.settle()
		g.drying++
		if block := d.notYet(st, d.limitOf(st)); block != nil && !busyElsewhere(block) {
			d.judgeNode(st, action.NodeKeep, append([]reason.Reason{keeps}, block...)...)
			continue
		}
		d.runDry(st, dry.works)
	}
}

// holdDry has nodes that run dry already count: the others that are to hold their work hold it once.
func (d *Removal) holdDry() {
	for _, st := range d.removable {
		if st.OnLadder && !st.counted && st.Instance != nil && dries(st) && d.findDestinations().leave(st.Facts) == nil {
			d.destinations.settle()
		}
	}
}

// couldGo says why the node is not one too many, nil when it is: others could hold all its pods. Then places have been found, to be settled
// or taken back.
func (d *Removal) couldGo(st *candidate) []reason.Reason {
	if d.receives(st.Facts) {
		return []reason.Reason{receiving(st)}
	}
	return d.findDestinations().leave(st.Facts)
}

// busyElsewhere says whether a node has to wait only because others are on their way: one that runs dry is none of them.
func busyElsewhere(block []reason.Reason) bool {
	return len(block) == 1 && block[0].Code == reason.RemovalBudget
}

// runDry taints a node whose work is to be its last.
func (d *Removal) runDry(st *candidate, works []worker) {
	st.going = true
	st.group.Headroom.Lose(st.Name())
	if d.kept != nil {
		d.kept.Add(st.Object, -1)
	}
	why := awaited(st, works)
	removal := cluster.Removal{Since: d.Now.Truncate(time.Second), Why: cluster.RunsDry}
	d.act(action.Cordon{Node: st.Name(), UID: st.Object.UID, Removal: removal, Machine: st.Instance.Machine(), Exclude: false, Because: why})
	d.judgeNode(st, action.NodeDraining, told(why, works)...)
}

// awaitWork waits on a node that runs dry. When nobody works there any more it steps on the ladder as any other does, with the pods that may be
// moved.
func (d *Removal) awaitWork(st *candidate) {
	about := reason.Node(st.Name())
	works, other := d.work(st)
	refusal := exitOf(st, cluster.RanDry).May(st.group.Contract.Ladder)
	switch {
	case other != nil:
		d.takeDown(st, reason.New(reason.RemovalAbandoned, about), *other)
	case len(works) > 0:
		d.judgeNode(st, action.NodeDraining, told(awaited(st, works), works)...)
		d.Wake(d.Now.Add(ends(works)))
	case d.inFlight >= d.Policy.Removal.Parallelism && !d.queued(st) || len(st.Movers) > 0 && d.drains >= d.Policy.Removal.Drain.Parallelism:
		d.judgeNode(st, action.NodeDraining, reason.New(reason.RemovalBudget, about, "inflight", max(d.inFlight, d.drains), "limit", min(d.Policy.Removal.Parallelism, d.Policy.Removal.Drain.Parallelism)))
	case d.neededOf(st, 1) != nil:
		d.takeDown(st, *d.neededOf(st, 1))
	case refusal != nil:
		d.judgeNode(st, action.NodeDraining, d.HeldBy(about, st.group.GroupFacts, refusal)...)
	case d.budgetHolds(st) != nil: // it would be given back when the time for drains is over, and run dry anew
		d.judgeNode(st, action.NodeDraining, *d.budgetHolds(st))
	default:
		if len(st.Movers) > 0 {
			d.drains++
			d.empties(st)
		}
		st.group.drying--
		d.step(st, cluster.RanDry)
		done := reason.New(reason.NodeRanDry, about, "pods", len(st.Movers))
		removal := cluster.Removal{Since: d.Now.Truncate(time.Second), Why: cluster.RanDry}
		d.Wake(d.Now.Add(d.Policy.Removal.Pause()))
		d.act(action.Cordon{Node: st.Name(), UID: st.Object.UID, Removal: removal, Machine: st.Instance.Machine(), Exclude: d.Policy.Removal.Delay.Exclusion > 0, Because: done})
		d.judgeNode(st, action.NodeDraining, done)
	}
}

// budgetHolds says which disruption budget none of the node's pods can leave for, nil when one of them can.
func (d *Removal) budgetHolds(st *candidate) (first *reason.Reason) {
	for _, p := range st.Movers {
		held := d.BudgetRefuses(p)
		if p.Leaving() || held == nil {
			return nil
		}
		if first == nil {
			first = held
		}
	}
	return first
}

// awaited is what a node waits for that runs dry, for how long as far as anybody knows, and what it costs meanwhile.
func awaited(st *candidate, works []worker) reason.Reason {
	wait, costs := "nobody knows for how long", ""
	if left := ends(works); left > 0 {
		wait = "expected for " + left.Truncate(time.Second).String()
	}
	if price := st.group.PriceUSDPerHour; price > 0 {
		costs = ", at " + strconv.FormatFloat(price, 'f', -1, 64) + " USD an hour"
	}
	return reason.New(reason.NodeRunsDry, reason.Node(st.Name()), "pods", len(works), "wait", wait, "costs", costs,
		"used", node.Percent(st.Used), "resource", string(cmp.Or(st.Resource, corev1.ResourceCPU)))
}

// told adds the pods that a node waits for, those first that are expected to end last.
func told(why reason.Reason, works []worker) []reason.Reason {
	all := []reason.Reason{why}
	for i := len(works) - 1; i >= max(0, len(works)-toldWork); i-- {
		all = append(all, works[i].why)
	}
	if more := len(works) - toldWork; more > 0 {
		all = append(all, reason.New(reason.PodsBesides, reason.Ref{}, "pods", more))
	}
	return all
}
