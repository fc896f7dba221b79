package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// holds say why a node stays.
type holds struct {
	*node.View
	nodes     *nodes
	traffic   *traffic
	queue     *queue
	evictions *evictions
	deletions *deletions
	places    *places
	stay      *grow.Totals   // what the nodes have that stay, nil until somebody asks
	unhealthy *reason.Reason // why nothing may be removed at all, nil when all is well
}

// standing are the reasons for which a node is not cordoned however long it waits, in the order in which they are asked. A node that a
// person has asked for waits for some of them alone: neither its use nor a pod that waits speaks for it. Costly questions come last, and
// the first reason wins.
//
//	row                  scenario                       besides
//	removal is enabled   removal-switched-off
//	not paused           paused-group
//	Ready                unready-stays                  only where --scale-down-unready-enabled=false: a person is to look at it
//	cluster is healthy   unhealthy-cluster              it is not while the right to change nodes is missing, too (right-missing)
//	group is known       partial-list
//	min                  min-reached                    the min counts Ready nodes (S-44, min-counts-ready)
//	quorum               control-plane-opted-in         S-17
//	pods that go along   pod-returns-budget             nobody evicts them, so that their budgets are asked here (S-15)
//	pods that wait       pending-pod-holds-one-node     S-16
//	headroom             headroom-machines
//	cluster's minimum    minimum-kept, gpu-total
var standing = []struct {
	rule  string
	asked bool // it holds a node that a person has asked for as well
	why   func(hd *holds, st *candidate) *reason.Reason
}{
	{"removal is enabled", true, func(hd *holds, st *candidate) *reason.Reason {
		return unless(hd.Policy.Removal.Enabled, reason.RemovalDisabled, st)
	}},
	{"nobody has paused the group", true, func(_ *holds, st *candidate) *reason.Reason { return st.group.Paused }},
	{"nodes that are not Ready go", false, func(hd *holds, st *candidate) *reason.Reason {
		return unless(hd.Policy.Removal.UnreadyEnabled || st.Ready, reason.NodeUnreadyStays, st)
	}},
	{"the cluster is healthy", true, func(hd *holds, _ *candidate) *reason.Reason { return hd.unhealthy }},
	{"the group is known", true, func(_ *holds, st *candidate) *reason.Reason { return st.group.BlockedRead() }},
	{"the group keeps its min", true, func(hd *holds, st *candidate) *reason.Reason { return hd.nodes.neededOf(st, 1) }},
	{"servers keep their quorum", true, (*holds).quorum},
	{"pods that go with the machine may go", false, func(hd *holds, st *candidate) *reason.Reason { return hd.evictions.clung(st) }},
	{"no pod that waits has its place there", false, func(hd *holds, st *candidate) *reason.Reason { return hd.places.fitsPending(st) }},
	{"headroom is kept without it", false, func(_ *holds, st *candidate) *reason.Reason { return st.group.Headroom.Holds(st.Name()) }},
	{"the cluster keeps its minimum", false, (*holds).clusterMinimum},
}

// unless is the reason about the node where the claim does not hold, nil where it does.
func unless(claim bool, code reason.Code, st *candidate) *reason.Reason {
	if claim {
		return nil
	}
	return new(reason.New(code, reason.Node(st.Name())))
}

// forbidden says why a node may not be cordoned however long it waits, nil when it may.
func (hd *holds) forbidden(st *candidate) []reason.Reason {
	for _, s := range standing {
		if st.Asked && !s.asked {
			continue
		}
		if why := s.why(hd, st); why != nil {
			return []reason.Reason{*why}
		}
	}
	return nil
}

// crowded says that as many nodes are on their way out as may be at once, nil when one more may. One that is deleted together with others
// of its group counts as none.
//
//	limit                               holds
//	--max-scale-down-parallelism        every node, but no empty one whose group's deletion is awaited anyway (parallel-removals)
//	--max-drain-parallelism             nodes that pods have to leave
func (hd *holds) crowded(st *candidate) (block []reason.Reason) {
	if !hd.deletions.queued(st) {
		block = full(st, hd.traffic.inFlight, hd.Policy.Removal.Parallelism)
	}
	if block == nil && len(st.Movers) > 0 {
		block = full(st, hd.traffic.drains, hd.Policy.Removal.Drain.Parallelism)
	}
	return block
}

// full says that as many removals are under way as may be, nil when fewer are.
func full(st *candidate, inFlight, most int) []reason.Reason {
	if inFlight < most {
		return nil
	}
	return []reason.Reason{reason.New(reason.RemovalBudget, reason.Node(st.Name()), "inflight", inFlight, "limit", most)}
}

// unrepaired says whether the node is not Ready, would go for that by now, and nothing but its group's min is in the way: nobody replaces
// it. It is counted.
//
// Of the reasons for a min only these two count: with the others machines are coming, not listed or not Ready.
func (hd *holds) unrepaired(st *candidate, because []reason.Reason) bool {
	if st.Ready || len(because) == 0 || because[0].Code != reason.GroupAtMin && because[0].Code != reason.GroupBelowMin || hd.Now.Before(st.since.Add(hd.queue.limitOf(st))) {
		return false
	}
	st.group.unrepaired++
	return true
}

// lasting is what is said of such a node.
func (hd *holds) lasting(st *candidate) reason.Reason {
	return reason.New(reason.NodeUnrepaired, reason.Node(st.Name()), "age", hd.queue.idleFor(st), "limit", hd.queue.limitOf(st), "instance", st.Instance.ID)
}

// notYet says why a node that may be cordoned has to wait, nil when it may do so now. The answer is empty, and not nil, when its time has
// not come, see [queue.limitOf]: the caller tells for how long it waits.
//
//	keeps it          until
//	its time          since and the limit of its group
//	a pause           the last growth, deletion or failed cordon is long enough ago (scenarios growth-delays-removal, cordon-fails)
//	a turn            fewer nodes are on their way out, see crowded
func (hd *holds) notYet(st *candidate) []reason.Reason {
	if due := st.since.Add(hd.queue.limitOf(st)); hd.Now.Before(due) {
		hd.Wake(due)
		return []reason.Reason{}
	}
	if why := hd.cools(st); why != nil {
		return []reason.Reason{*why}
	}
	return hd.crowded(st)
}

// clusterMinimum says which minimum of the whole cluster the node's leaving would break.
//
// Cores and GiB are compared with the capacity of the nodes that exist, foreign ones included. Machines that are coming do not count.
func (hd *holds) clusterMinimum(st *candidate) *reason.Reason {
	r := &hd.Policy.Removal
	if r.Keep.Cores == 0 && r.Keep.MemoryGiB == 0 && len(hd.Policy.Growth.Max.GPUs) == 0 {
		return nil
	}
	have := hd.staying()
	about := reason.Node(st.Name())
	own := st.Object.Status.Capacity
	if cores := own.Cpu().MilliValue(); have.Milli-cores < r.Keep.Cores*1000 {
		return new(reason.New(reason.ClusterMinimum, about, "resource", "cores", "have", have.Milli/1000, "node", cores/1000, "minimum", r.Keep.Cores))
	}
	if bytes := own.Memory().Value(); have.Bytes-bytes < r.Keep.MemoryGiB<<30 {
		return new(reason.New(reason.ClusterMinimum, about, "resource", "GiB of memory", "have", have.Bytes>>30, "node", bytes>>30, "minimum", r.Keep.MemoryGiB))
	}
	for i, of := range have.Kinds {
		if own := cluster.GPUsOf(st.Object, of.Kind); own > 0 && have.Gpus[i]-own < of.Min {
			return new(reason.New(reason.ClusterMinimum, about, "resource", of.Kind, "have", have.Gpus[i], "node", own, "minimum", of.Min))
		}
	}
	return nil
}

// staying is what the nodes have that are not cordoned. The node of a parked machine runs nothing.
func (hd *holds) staying() *grow.Totals {
	if hd.stay == nil {
		hd.stay = new(grow.TotalsOf(hd.Policy.Growth.Max.GPUs))
		for at, n := range hd.Snapshot.Nodes {
			if st := hd.nodes.states[at]; n.Parked.UID == "" && (st == nil || !st.going && !st.Leaves) {
				hd.stay.Add(n.Object, 1)
			}
		}
	}
	return hd.stay
}

// quorum says why a control-plane node may not leave although such nodes are opted in, nil when it may, and for every other node: one
// leaves at a time, and those that vote on the cluster's state keep their quorum, counted as if the one that left had a vote still (S-17).
func (hd *holds) quorum(st *candidate) *reason.Reason {
	if !st.Controls {
		return nil
	}
	about := reason.Node(st.Name())
	for at, n := range hd.Snapshot.Nodes {
		if n.Object == st.Object || !cluster.ControlPlane(n.Object) {
			continue
		}
		// While another one is on its way out this one waits, whatever the quorum is.
		_, leaves := cluster.RemovalOf(n.Object)
		if other := hd.nodes.states[at]; leaves || other != nil && other.going || n.Instance != nil && n.Instance.State == cluster.StateDeleting {
			return new(reason.New(reason.ControlPlaneTurn, about, "other", n.Name()))
		}
	}
	voters := cluster.Voters(hd.Snapshot.Nodes)
	left := 0
	for _, n := range voters {
		if n.Object != st.Object && n.Serving() {
			left++
		}
	}
	if needs := cluster.Quorum(len(voters)); left < needs {
		return new(reason.New(reason.ControlPlaneQuorum, about, "left", left, "needs", needs, "voters", len(voters)))
	}
	return nil
}

// cools says until when nothing of the node's group is removed after a growth, a deletion or a failure, nil when it may be.
func (hd *holds) cools(st *candidate) *reason.Reason {
	c, on := hd.Memory.Cooldown(hd.Policy.Removal, st.Group, hd.Now)
	if !on {
		return nil
	}
	hd.Wake(c.Until())
	return new(reason.New(reason.RemovalCoolsDown, reason.Node(st.Name()), "until", c.Until().Format(time.RFC3339), "delay", c.Delay, "after", c.After))
}

// contract says why the safety contract keeps a node whose time has come, so that it is not cordoned for nothing; nil when it does not, or
// something else is in the way.
func (hd *holds) contract(st *candidate, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if r := exitOf(st, why).May(st.group.Contract.Leaving); r != nil {
		return hd.HeldBy(reason.Node(st.Name()), st.group.GroupFacts, r)
	}
	return nil
}
