package remove

import (
	"slices"
	"strconv"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// ClimbLadder moves nodes towards their removal, rung by rung: a node that has been idle, or underused with its pods welcome
// elsewhere, for long enough is cordoned; a cordoned node is drained; a drained node's machine is deleted by name; the Node
// object of a machine that is gone is deleted by UID. The rung is read off the cluster, so that any process goes on where
// another stopped. A node that is needed again comes down at once.
func (d *Removal) ClimbLadder() {
	var on, asked, idle, underused []*candidate
	for _, st := range d.removable {
		switch {
		case st.OnLadder || st.Instance == nil:
			on = append(on, st)
		case st.Asked:
			asked = append(asked, st)
		case len(st.Movers) == 0 && d.reserved(st.Node):
			st.pinned = true
			d.keep(st, reason.New(reason.NodeReplaces, reason.Node(st.Name()), "node", d.Memory.Consolidation.Node))
		case len(st.Movers) > 0 && d.replaced(st.Name()):
			d.keep(st, d.awaitsReplacement()) // unless it is there already
		case d.inUse(st) != nil:
			d.keep(st, *d.inUse(st))
		case len(st.Movers) == 0:
			idle = append(idle, st)
		default:
			underused = append(underused, st)
		}
	}
	for _, st := range on {
		if in := st.Instance; in == nil || in.State == cluster.StateDeleting {
			continue
		}
		if dries(st) {
			st.group.drying++
			continue
		}
		st.exit = exitOf(st, cluster.Idle) // the budget was charged for it when it was cordoned
		switch d.count(st); {
		case d.outstays(st):
			d.inFlight--
		case len(st.Movers) > 0:
			d.drains++
		}
		if st.Removal.Why == cluster.Idle {
			d.measure(st)
		}
	}
	for _, st := range idle {
		st.pinned = d.neededOf(st, 1) != nil
	}
	d.order(underused)
	for _, st := range underused {
		d.fitsPending(st) // asked before anybody's pods are pretended away, and remembered
	}
	d.noticeCordons(on)
	d.gatherLeaving(on, idle)
	for _, st := range on {
		d.climb(st)
	}
	d.considerAsked(asked)
	d.considerIdle(idle)
	d.endConsolidation()
	d.considerUnderused(underused)
	d.beginConsolidation()
	d.steerPods()
	d.handOver()
	d.forgetEmptied()
	d.rememberRemovable(idle, underused)
	d.rememberDetaching()
	d.rememberDismissed()
}

// outstays says whether a node's pods have had their time to leave and are still there. It holds up no other node: a tenant's pod, or a Job on a node
// that a person has asked for, may take days.
func (d *Removal) outstays(st *candidate) bool {
	return len(st.Movers) > 0 && !d.Now.Before(st.Removal.Since.Add(d.Policy.Removal.Drain.Deadline))
}

// rememberRemovable leaves to the next cycle since when nodes could go. Nodes that cannot go now are forgotten.
func (d *Removal) rememberRemovable(lists ...[]*candidate) {
	now := make(map[string]time.Time, len(d.Memory.Removable))
	for _, nodes := range lists {
		for _, st := range nodes {
			if !st.kept {
				now[st.Name()] = st.removable
			}
		}
	}
	d.Memory.Removable = now
}

// climb takes a node that is on the ladder one rung further, lets it wait, or takes it down.
func (d *Removal) climb(st *candidate) {
	about, name, removal := reason.Node(st.Name()), st.Name(), st.Removal
	g := st.group
	if st.Instance == nil {
		d.bury(st)
		return
	}
	if st.Instance.State == cluster.StateDeleting {
		d.judgeNode(st, node.Leaves(d.Parks(g.GroupFacts, st.Node)), reason.New(reason.NodeLeaving, about, "instance", st.Instance.ID, "fate", node.Fate(d.Parks(g.GroupFacts, st.Node))))
		return
	}
	wait := d.pausesUntil(st)
	switch pod, rescued := d.growth.Rescues[name]; {
	case node.WasParked(st.Node):
		d.takeDown(st, reason.New(reason.NodeStarted, about))
	case rescued:
		d.noteVain(st, wait)
		d.takeDown(st, reason.New(reason.NodeCounted, about, "pod", pod))
	case st.Instance.State == cluster.StateCreating && !st.Ready && cluster.NotReadySince(st.Object).After(removal.Since): // it was parked, and a growth wants it
		d.takeDown(st, reason.New(reason.NodeStarted, about))
	case removal.Why == cluster.AskedFor && node.AskedFor(st.Node) == nil:
		d.takeDown(st, reason.New(reason.NodeNotAskedFor, about))
	case d.growth.Spared[name].Code != "" && removal.Why != cluster.AskedFor:
		d.takeDown(st, d.growth.Spared[name])
	case removal.Why != cluster.AskedFor && d.newcomer(st) != nil:
		d.takeDown(st, reason.New(reason.NodeJoined, about, "pod", d.newcomer(st)))
	case st.Marked.UID != st.Instance.UID:
		d.takeDown(st, reason.New(reason.RemovalAbandoned, about))
	case cluster.Kept(st.Object):
		d.takeDown(st, reason.New(reason.NodeScaleDownOff, about))
	case d.Held(st.Node) != nil:
		d.takeDown(st, *d.Held(st.Node))
	case removal.Why == cluster.Idle && d.inUse(st) != nil:
		d.takeDown(st, *d.inUse(st))
	case g.Paused != nil:
		d.takeDown(st, *g.Paused)
	case st.Instance.Protected:
		d.takeDown(st, reason.New(reason.NodeProtected, about, "instance", st.Instance.ID))
	case !st.Object.Spec.Unschedulable:
		d.takeDown(st, reason.New(reason.NodeFreedByPerson, about))
	case cluster.ControlPlane(st.Object) && !d.Policy.Removal.ControlPlane:
		d.takeDown(st, reason.New(reason.NodeControlPlane, about))
	case g.Servers:
		d.takeDown(st, d.Controlled(g.ID))
	case d.quorum(st) != nil:
		d.takeDown(st, reason.New(reason.RemovalAbandoned, about), *d.quorum(st))
	case !d.Policy.Removal.Enabled:
		d.takeDown(st, reason.New(reason.RemovalDisabled, about))
	case d.unhealthy != nil:
		d.judgeNode(st, phase(st), d.unhealthy...)
	case g.BlockedRead() != nil:
		d.judgeNode(st, phase(st), *g.BlockedRead())
	case d.begunByAnother(st):
		d.takeOver(st)
	case dries(st):
		d.awaitWork(st)
	case len(st.Movers) > 0 && removal.Why == cluster.AskedFor:
		d.drainAsked(st, wait)
	case len(st.Movers) > 0:
		d.drain(st, wait)
	case d.Now.Before(wait):
		if d.queued(st) {
			d.inFlight-- // as below
		}
		d.Wake(wait)
		d.judgeNode(st, action.NodeCordoned, reason.New(reason.NodeCordoned, about, "age", max(0, d.Now.Sub(d.Memory.Cordoned[name].By)).Truncate(time.Second), "fate", node.Fate(d.Parks(g.GroupFacts, st.Node)), "delay", d.Policy.Removal.Pause()))
	case d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1) != nil:
		d.takeDown(st, *d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1))
	case d.clung(st) != nil && !d.Now.Before(removal.Since.Add(d.Policy.Removal.Drain.Deadline)) && removal.Why != cluster.AskedFor:
		d.takeDown(st, reason.New(reason.RemovalAbandoned, about), *d.clung(st))
	case d.clung(st) != nil:
		d.Wake(removal.Since.Add(d.Policy.Removal.Drain.Deadline))
		d.judgeNode(st, action.NodeDraining, *d.clung(st))
	case d.detaches(st) != nil:
		d.judgeNode(st, phase(st), *d.detaches(st))
	case d.delays(st) != nil:
		d.judgeNode(st, phase(st), *d.delays(st))
	case d.rests(g) != nil:
		if g.Deleting() > 0 {
			d.inFlight-- // it is ready, and goes with all that are when its group's turn comes
		}
		d.judgeNode(st, phase(st), *d.rests(g))
	case d.gathersOthers(g) != nil:
		d.inFlight-- // as above
		d.judgeNode(st, phase(st), *d.gathersOthers(g))
	default:
		switch r := exitOf(st, removal.Why).May(g.Contract.Leave); {
		case r == nil:
			d.leave(st)
		default:
			d.inFlight-- // as above
			d.judgeNode(st, phase(st), d.HeldBy(about, g.GroupFacts, r)...)
		}
	}
}

// leave has the machine of an empty node deleted, once its daemons have been told to end.
func (d *Removal) leave(st *candidate) {
	if why := d.dismisses(st); why != nil {
		d.judgeNode(st, action.NodeDraining, *why)
		return
	}
	d.inFlight--
	d.disruptAll(st)
	why := reason.New(reason.NodeDrained, reason.Node(st.Name()), "but", d.below(st, " but for"), "fate", node.Fate(d.Parks(st.group.GroupFacts, st.Node)))
	if n := len(d.returning(st)); n > 0 {
		why = reason.New(reason.NodeClung, reason.Node(st.Name()), "fate", node.Fate(d.Parks(st.group.GroupFacts, st.Node)), "pods", n)
	}
	d.removes(st.group, exitOf(st, st.Removal.Why), action.Leaving{Machine: st.Instance.Machine(), Node: st.Name(), Discard: st.group.Parks && !d.Parks(st.group.GroupFacts, st.Node), Because: why})
	d.judgeNode(st, node.Leaves(d.Parks(st.group.GroupFacts, st.Node)), why)
}

// below names, after that word, the expendable pods that go with the node; "" when there are none.
func (d *Removal) below(st *candidate, word string) string {
	if !slices.ContainsFunc(st.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Finished() && d.Policy.Expendable(p) }) {
		return ""
	}
	return word + " pods below priority " + strconv.Itoa(int(d.Policy.Growth.PriorityCutoff))
}

// considerIdle cordons nodes that have carried nothing but daemons for long enough, the longest idle first, and so that zones stay balanced where there is a choice.
func (d *Removal) considerIdle(nodes []*candidate) {
	d.order(nodes)
	d.balanceZones(nodes)
	for _, st := range nodes {
		about := reason.Node(st.Name())
		why, limit := cluster.Idle, d.limitOf(st)
		waits := reason.New(reason.NodeIdle, about, "pods", "daemons"+d.below(st, " and"), "idle", d.idleFor(st), "limit", limit)
		goes := reason.New(reason.NodeIdleFor, about, "idle", d.idleFor(st))
		if !st.Ready {
			why = "unready"
			waits = reason.New(reason.NodeNotReady, about, "age", d.idleFor(st), "limit", limit)
			goes = waits
		}
		block := d.forbidden(st)
		if block == nil {
			block = d.notYet(st, limit)
		}
		if held := d.keptFromLadder(st, why, block); held != nil {
			block = held
		}
		if block != nil {
			d.noteSoon(st, block)
			if d.unrepaired(st, block) {
				block = append([]reason.Reason{d.lasting(st)}, block...)
			} else {
				block = append(block, waits)
			}
			if facts := d.AwaitsTaint(st.Node); facts != nil {
				block = append(block, reason.New(reason.NodeTaintStays, about, facts...))
			}
			d.judgeNode(st, action.NodeIdle, block...)
			continue
		}
		d.stepOn(st, why, goes)
	}
}

// considerUnderused cordons nodes whose few pods may be evicted and have somewhere to go. Which nodes can be emptied is found for all of them
// together, those that have to wait included: nobody is promised a place twice, and nobody moves twice.
func (d *Removal) considerUnderused(nodes []*candidate) {
	var working []*candidate
	for _, st := range nodes {
		if d.receives(st.Facts) && !d.bound(st) {
			d.judgeNode(st, action.NodeKeep, receiving(st)) // its time goes on: it could go in their place
			continue
		}
		about := reason.Node(st.Name())
		because, tried := d.stays(st)
		switch {
		case len(because) > 0 && policy.Work(because[0].Code):
			working = append(working, st)
			continue
		case len(because) > 0:
			if tried {
				d.destinations.Back()
			}
			d.keep(st, because...)
			continue
		}
		word := "underused"
		if !st.Ready {
			word = "unready"
		}
		limit := d.limitOf(st)
		fact := d.underuse(st, limit)
		if block := d.forbidden(st); block != nil {
			d.destinations.Back()
			if d.unrepaired(st, block) {
				block = append([]reason.Reason{d.lasting(st)}, block...)
			}
			d.judgeNode(st, action.NodeIdle, append(block, fact)...)
			continue
		}
		block := d.notYet(st, limit)
		if block == nil && d.drains >= d.Policy.Removal.Drain.Parallelism {
			block = []reason.Reason{reason.New(reason.RemovalBudget, about, "inflight", d.drains, "limit", d.Policy.Removal.Drain.Parallelism)}
		}
		if vain := d.vain(st); block == nil && vain != nil {
			block = []reason.Reason{*vain}
		}
		if block == nil && d.Snapshot.Objects.Lacks.Has(cluster.EvictPods) {
			block = []reason.Reason{node.Missing(about, cluster.EvictPods)}
		}
		if held := d.keptFromLadder(st, word, block); held != nil {
			block = held
		}
		if g := st.group; block == nil {
			d.destinations.settle()
		} else if d.neededOf(st, g.emptied+1) == nil {
			d.destinations.settle() // whoever goes later counts on its places as well
			g.emptied++
		} else {
			d.destinations.Back()
		}
		if block != nil {
			d.noteSoon(st, block)
			all := d.growth.Reasons(len(block) + 1)
			all[copy(all, block)] = fact
			d.judgeNode(st, action.NodeIdle, all...)
			continue
		}
		d.drains++
		d.stepOn(st, word, fact)
	}
	d.considerDry(working)
}

// stepOn puts a node on the ladder.
func (d *Removal) stepOn(st *candidate, why string, because reason.Reason) {
	d.step(st, why)
	if len(st.Movers) > 0 {
		d.empties(st)
	}
	st.group.Headroom.Lose(st.Name())
	st.going = true
	if d.kept != nil {
		d.kept.Add(st.Object, -1)
	}
	if st.pinned && d.destinations != nil {
		if h, present := d.Check.Handle(st.Name()); present {
			d.destinations.Shut(h) // its group can spare it after all
		}
	}
	d.Wake(d.Now.Add(d.Policy.Removal.Pause()))
	removal := cluster.Removal{Since: d.Now.Truncate(time.Second), Why: why}
	d.act(action.Cordon{Node: st.Name(), UID: st.Object.UID, Removal: removal, Machine: st.Instance.Machine(), Exclude: d.Policy.Removal.Delay.Exclusion > 0, Because: because})
	d.judgeNode(st, action.NodeCordoned, because)
}
