package remove

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// A node on which nothing but work is in the way runs dry: it is tainted, so that new work goes elsewhere, and leaves when its work is
// done. The other nodes could do that work as well, so that the node is one too many. Nobody who works is told to leave, and the node
// counts among those on their way out only when nobody works there any more: until then it may be the one that stays.

// toldWork is how many pods a verdict names that a node waits for.
const toldWork = 3

// quiescent is a node that could run dry.
type quiescent struct {
	*candidate
	works []worker
}

// worker is a pod that works.
type worker struct {
	*cluster.Pod
	why  reason.Reason
	left time.Duration // until it is expected to end, 0 when nobody knows
}

// quiescing lets nodes run dry on which nothing but work is in the way.
//
//	state       evidence                                       next
//	underused   the policy keeps its pods, as work, and all    quiescing, when its time has come and its group can spare it
//	            its pods would fit on other nodes
//	quiescing   the taint [cluster.RunsDry]; pods work there   given back: a waiting pod takes it, or another case of advance or awaitWork
//	quiescing   no pod works there any more                    cordoned like any other node, once the budgets let it; given back for its min
//	cordoned    the taint [cluster.RanDry]                     drained of what is left, see advance
//
// Other nodes that fill up meanwhile are no reason to give it back: nobody lacks it while no pod waits.
type quiescing struct {
	*cordons
	growth *grow.Growth
}

// work are the node's pods that may not be evicted because they work, those last that work for longest; other is why another one may not be
// evicted.
//
//	pod                                          is
//	told to end                                  left out: it leaves anyway
//	may be evicted                               left out: it is moved once the work is done (scenario run-dry-then-drained)
//	works, and ends by itself or by a patience   work
//	kept for anything else                       other: no work of the node is returned
//
// A daemon's pod that works without an end is of the last kind: its controller makes it again whenever it ends.
func (qs *quiescing) work(st *candidate) (works []worker, other *reason.Reason) {
	for _, p := range st.Movers {
		if p.Leaving() {
			continue
		}
		why, keeps := qs.Keeps(p, st.Facts)
		switch {
		case !keeps:
		case policy.Work(why.Code) && !qs.Policy.Lasts(p, st.Where, qs.Now):
			works = append(works, worker{p, why, qs.workLeft(p)})
			// When patience is over the policy lets the pod be evicted, and it is no work any more (scenario work-evicted-by-policy).
			if patience := qs.Policy.Patience(p, st.Group); patience > 0 && !st.Where.Dry.IsZero() {
				qs.Wake(st.Where.Dry.Add(time.Duration(patience)))
			}
		default:
			return nil, &why
		}
	}
	slices.SortStableFunc(works, func(a, b worker) int { return compareEnds(a.left, b.left) })
	return works, nil
}

// workLeft is when the pod is expected to end, from now: by how long such pods run, or by its deadline; 0 when nobody knows. What was
// learned for short pods alone says too little of the long ones that keep a node: it counts where a drain target has all pods timed.
//
// An annotation of the pod itself (sluice.dev/run-time) or what was learned comes before activeDeadlineSeconds. A pod that has run for
// longer than expected is expected to need [place.OverdueRun] more.
func (qs *quiescing) workLeft(p *cluster.Pod) time.Duration {
	run, began := policy.RunTime(p.Class), p.Started()
	if len(qs.Policy.Growth.DrainTargets) > 0 {
		run = qs.growth.RunTimes.RunTime(p.Class)
	}
	if s := p.Spec.ActiveDeadlineSeconds; s != nil && run == 0 {
		run = time.Duration(*s) * time.Second
	}
	if run == 0 {
		return 0
	}
	if !began.IsZero() {
		run -= qs.Now.Sub(began)
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

// consider taints nodes that are to run dry, those first whose work ends first.
//
//	case                                          verdict    its time
//	not only work is in the way, or RunDry off    keep       begins anew
//	its pods have no place on other nodes         keep       begins anew
//	forbidden, see standing                       keep       goes on
//	its group's min, beside those that quiesce    keep       goes on
//	its time has not come, or a pause             keep       goes on; counts as quiescing already, so that others are not spared as well
//	only the budgets of leaving nodes are full    draining   a quiescing node is in none of them
//	none of these                                 draining
func (qs *quiescing) consider(nodes []*candidate) {
	var all []quiescent
	for _, st := range nodes {
		works, other := qs.work(st)
		if other != nil || len(works) == 0 || !qs.Policy.Removal.Work.RunDry {
			qs.nodes.keep(st, *qs.places.refusal(st))
			continue
		}
		all = append(all, quiescent{st, works})
	}
	if len(all) > 0 {
		qs.hold()
	}
	slices.SortStableFunc(all, func(a, b quiescent) int {
		return cmp.Or(compareEnds(ends(a.works), ends(b.works)), cmp.Compare(len(a.works), len(b.works)))
	})
	for _, dry := range all {
		st, g := dry.candidate, qs.nodes.groups[dry.Group]
		// The pod that works longest is the one to name.
		keeps := dry.works[len(dry.works)-1].why
		if because := qs.couldGo(st); because != nil {
			qs.nodes.keep(st, append([]reason.Reason{keeps}, because...)...)
			continue
		}
		if block := qs.holds.forbidden(st); block != nil {
			qs.places.found.Back()
			qs.nodes.judge(st, action.NodeKeep, append([]reason.Reason{keeps}, block...)...)
			continue
		}
		if why := qs.nodes.neededOf(st, g.emptied+g.quiescent+1); why != nil {
			qs.places.found.Back()
			qs.nodes.judge(st, action.NodeKeep, keeps, *why)
			continue
		}
		qs.places.found.settle()
		qs.traffic.quiesce(g, 1)
		if block := qs.holds.notYet(st); block != nil && !busyElsewhere(block) {
			qs.nodes.judge(st, action.NodeKeep, append([]reason.Reason{keeps}, block...)...)
			continue
		}
		qs.begin(st, dry.works)
	}
}

// hold has nodes that run dry already count: the others that are to hold their work hold it once.
func (qs *quiescing) hold() {
	for _, st := range qs.nodes.removable {
		if st.Leaves && !st.counted && st.Instance != nil && quiesces(st) && qs.places.find().leave(st.Facts) == nil {
			qs.places.found.settle()
		}
	}
}

// couldGo says why the node is not one too many, nil when it is: others could hold all its pods. Then places have been found, to be settled
// or taken back.
func (qs *quiescing) couldGo(st *candidate) []reason.Reason {
	if qs.places.receives(st.Facts) {
		return []reason.Reason{receiving(st)}
	}
	return qs.places.find().leave(st.Facts)
}

// busyElsewhere says whether a node has to wait only because others are on their way: one that runs dry is none of them.
func busyElsewhere(block []reason.Reason) bool {
	return len(block) == 1 && block[0].Code == reason.RemovalBudget
}

// begin taints a node whose work is to be its last.
//
// It counts neither for headroom nor for the cluster's minimum any more. No load balancer is told to leave it out: work goes on there.
func (qs *quiescing) begin(st *candidate, works []worker) {
	qs.goes(st)
	why := awaited(st, works)
	qs.taint(st, cluster.RunsDry, why)
	qs.nodes.judge(st, action.NodeDraining, told(why, works)...)
}

// awaitWork waits on a node that runs dry. When nobody works there any more it is cordoned as any other is, with the pods that may be
// moved.
//
//	case                                        does         why
//	a pod is there that is no work, and stays   gives back   waiting would not end
//	pods work                                   waits
//	the budgets are full                        waits        the next step makes it one of those that leave
//	its group's min needs it                    gives back   nodes may have fallen silent while it worked (S-44)
//	the safety contract                         waits        S-19: to take the next step empties the node
//	a disruption budget holds all its pods      waits        a drain would end at its deadline (S-31, scenario run-dry-held-by-budget)
//	none of these                               cordons      with [cluster.RanDry], and a time of its own for the drain
func (qs *quiescing) awaitWork(st *candidate) {
	about := reason.Node(st.Name())
	works, other := qs.work(st)
	refusal := exitOf(st, cluster.RanDry).May(st.group.Contract.Leaving)
	switch {
	case other != nil:
		qs.giveBack(st, reason.New(reason.RemovalAbandoned, about), *other)
	case len(works) > 0:
		qs.nodes.judge(st, action.NodeDraining, told(awaited(st, works), works)...)
		qs.Wake(qs.Now.Add(ends(works)))
	case qs.holds.crowded(st) != nil:
		qs.nodes.judge(st, action.NodeDraining, qs.holds.crowded(st)...)
	case qs.nodes.neededOf(st, 1) != nil:
		qs.giveBack(st, *qs.nodes.neededOf(st, 1))
	case refusal != nil:
		qs.nodes.judge(st, action.NodeDraining, qs.HeldBy(about, st.group.GroupFacts, refusal)...)
	case qs.evictions.budgetHolds(st) != nil: // it would be given back when the time for drains is over, and run dry anew
		qs.nodes.judge(st, action.NodeDraining, *qs.evictions.budgetHolds(st))
	default:
		if len(st.Movers) > 0 {
			qs.traffic.drain()
			qs.evictions.empties(st)
		}
		qs.traffic.quiesce(st.group, -1)
		qs.step(st, cluster.RanDry)
		done := reason.New(reason.NodeRanDry, about, "pods", len(st.Movers))
		qs.Wake(qs.Now.Add(qs.Policy.Removal.Pause()))
		qs.taint(st, cluster.RanDry, done)
		qs.nodes.judge(st, action.NodeDraining, done)
	}
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
