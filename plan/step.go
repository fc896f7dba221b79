package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// mayStep says why a removable node may not step on the ladder now, nil when it may. limit is how long it must have been removable.
func (d *decision) mayStep(st *nodeState, limit time.Duration) []reason.Reason {
	r := d.allowed.Removal
	about := reason.Node(st.Name())
	g := d.groups[st.Group]
	one := func(why reason.Reason) []reason.Reason { return []reason.Reason{why} }
	switch {
	case !r.Enabled:
		return one(reason.New(reason.RemovalDisabled, about))
	case d.unhealthy != nil:
		return d.unhealthy
	case g.blockedRead() != nil:
		return one(*g.blockedRead())
	case g.Capacity-g.leaving-1 < g.Min:
		return one(d.atMin(g))
	}
	if pod, fits := d.fitsPending(st); fits {
		return one(reason.New(reason.NodeCounted, about, "pod", pod))
	}
	if held := g.headroom.holds(st.Name()); held != nil {
		return one(*held)
	}
	if due := st.since.Add(limit); d.now.Before(due) {
		d.wake(due)
		return []reason.Reason{}
	}
	if until := d.m.LastGrowth.Add(r.AfterAdd); !d.m.LastGrowth.IsZero() && d.now.Before(until) {
		d.wake(until)
		return one(reason.New(reason.RemovalCoolsDown, about, "until", until.Format(time.RFC3339), "delay", r.AfterAdd))
	}
	if d.inFlight >= r.MaxInFlight {
		return one(reason.New(reason.RemovalBudget, about, "inflight", d.inFlight, "limit", r.MaxInFlight))
	}
	return d.clusterMinimum(st)
}

// clusterMinimum says which minimum of the whole cluster the node's leaving would break.
func (d *decision) clusterMinimum(st *nodeState) []reason.Reason {
	r := d.allowed.Removal
	if r.MinCores == 0 && r.MinMemoryGiB == 0 {
		return nil
	}
	var have totals
	for _, n := range d.s.Nodes {
		if s := d.nodes[n.Name()]; s != nil && (s.going || s.onLadder()) {
			continue
		}
		have.add(n.Object, 1)
	}
	about := reason.Node(st.Name())
	own := st.Object.Status.Capacity
	if cores := own.Cpu().MilliValue(); have.milli-cores < r.MinCores*1000 {
		return []reason.Reason{reason.New(reason.ClusterMinimum, about, "resource", "cores", "have", have.milli/1000, "node", cores/1000, "minimum", r.MinCores)}
	}
	if bytes := own.Memory().Value(); have.bytes-bytes < r.MinMemoryGiB<<30 {
		return []reason.Reason{reason.New(reason.ClusterMinimum, about, "resource", "GiB of memory", "have", have.bytes>>30, "node", bytes>>30, "minimum", r.MinMemoryGiB)}
	}
	return nil
}

// fitsPending finds a waiting pod that the node would take: the scheduler may choose it at any moment, wherever this cycle
// placed the pod (S-16). Of pods that are alike only one is asked, and none of a gang that machines are not kept for any longer.
func (d *decision) fitsPending(st *nodeState) (string, bool) {
	if pod, ok := d.counted[st.Name()]; ok {
		return pod, true
	}
	if len(d.s.Pending) == 0 {
		return "", false
	}
	h, present := d.check.Handle(st.Name())
	if !present {
		return "", false
	}
	for _, dm := range d.demands {
		if dm.of.Gated() && !dm.of.AwaitsCapacity() || dm.gang != nil && dm.gang.given || d.allowed.Expendable(d.waiting[dm.eldest]) {
			continue
		}
		if d.check.Room(dm.of, h) > 0 {
			d.counted[st.Name()] = d.keys[dm.eldest]
			return d.counted[st.Name()], true
		}
	}
	return "", false
}

func (d *decision) atMin(g *groupState) reason.Reason {
	code := reason.GroupAtMin
	if g.Capacity < g.Min {
		code = reason.GroupBelowMin
	}
	return reason.New(code, reason.Group(string(g.ID)), "capacity", g.Capacity, "min", g.Min)
}

// blockedRead says why nothing may be written to the group for what is known of it, nil when it is known well. A back-off and a
// missing template forbid growth only.
func (g *groupState) blockedRead() *reason.Reason {
	if g.blocked != nil && (g.blocked.Code == reason.GroupUnreadable || g.blocked.Code == reason.GroupIncomplete) {
		return g.blocked
	}
	return nil
}

// rests says why no machine of the group is deleted now: an earlier deletion is under way, as clouds take one at a time for a group, or
// the last try failed.
func (d *decision) rests(g *groupState) *reason.Reason {
	if g.deleting > 0 {
		r := reason.New(reason.RemovalQueued, reason.Group(string(g.ID)), "group", g.ID, "deleting", g.deleting)
		return &r
	}
	rest := d.m.Groups[g.ID].Rest
	if !rest.Until.After(d.now) {
		return nil
	}
	d.wake(rest.Until)
	r := reason.New(reason.RemovalRests, reason.Group(string(g.ID)), "group", g.ID, "until", rest.Until.Format(time.RFC3339), "message", rest.Message)
	return &r
}

func (st *nodeState) onLadder() bool {
	_, on := cluster.RemovalOf(st.Object)
	return on
}

// destinations are the nodes that a node's pods could move to: Ready, not on their way out, and not idle unless the group
// keeps them anyway, as otherwise it is the idle one that should go.
func (d *decision) destinations(from *nodeState) []string {
	var names []string
	for _, n := range d.s.Nodes {
		st := d.nodes[n.Name()]
		switch {
		case n.Name() == from.Name() || !cluster.Ready(n.Object) || n.Object.Spec.Unschedulable:
		case st != nil && (st.going || st.onLadder() || len(st.movers) == 0 && !st.pinned):
		default:
			names = append(names, n.Name())
		}
	}
	return names
}
