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

// Advance moves nodes towards their removal, phase by phase: a node that has been idle, or underused with its pods welcome
// elsewhere, for long enough is cordoned; a cordoned node is drained; a drained node's machine is deleted by name; the Node
// object of a machine that is gone is deleted by UID. The phase is read off the cluster, so that any process goes on where
// another stopped. A node that is needed again comes down at once.
//
// The steps come in this order:
//
//	step                        why it comes before the next ones
//	count cordoned nodes        they fill the budgets that every later cordon asks for
//	fitsPending of underused    it asks about nodes as they are; a drain moves pods away in the checker, see places
//	gatherLeaving               advance asks it whether an empty node's machine waits for others
//	advance cordoned nodes      a node that is given back leaves its share of the budgets to others
//	asked, idle, underused      a person's node takes the budgets first, an idle node costs no eviction
//	look for a saving           it begins only when no other node may leave, see consolidation.restful
func (d *Removal) Advance() {
	var on, asked, idle, underused []*candidate
	// Each node is in one list, or it is kept. The idle or underused time of a kept node begins anew.
	//
	//	evidence                                        list       why
	//	cordoned, or the node has no machine            on         what has begun goes on, whatever the node's use is
	//	a person asked for it                           asked      neither use nor a saving keeps it
	//	idle, in the group of an expected replacement   kept       pods are to move there (scenario consolidation-beside-min)
	//	not idle, and its own replacement was bought    kept       consolidation.end decides about it
	//	its measured CPU is above the threshold         kept       requests do not show what it does (scenario busy-by-measure)
	//	no pod has to leave                             idle
	//	some pods have to leave                         underused
	for _, st := range d.nodes.removable {
		switch {
		case st.Leaves || st.Instance == nil:
			on = append(on, st)
		case st.Asked:
			asked = append(asked, st)
		case len(st.Movers) == 0 && d.consolidation.reserved(st.Node):
			st.pinned = true
			d.nodes.keep(st, reason.New(reason.NodeReplaces, reason.Node(st.Name()), "node", d.Memory.Consolidation.Node))
		case len(st.Movers) > 0 && d.consolidation.replaced(st.Name()):
			d.nodes.keep(st, d.consolidation.awaitsReplacement()) // unless it is there already
		case d.use.inUse(st) != nil:
			d.nodes.keep(st, *d.use.inUse(st))
		case len(st.Movers) == 0:
			idle = append(idle, st)
		default:
			underused = append(underused, st)
		}
	}
	for _, st := range on {
		// Such a machine counts for no budget here: its group counts it, see [node.GroupFacts.Deleting].
		if in := st.Instance; in == nil || in.State == cluster.StateDeleting {
			continue
		}
		// A quiescing node may be the one that stays: it is in none of the budgets until its work is done.
		if quiesces(st) {
			d.traffic.quiesce(st.group, 1)
			continue
		}
		switch d.traffic.count(st, cluster.Idle); { // the budget was charged for it when it was cordoned
		// A budget or a tenant may hold a pod for days: the node keeps no other one waiting (scenario drain-overdue-frees-turn).
		case d.nodes.outstays(st):
			d.traffic.ready()
		case len(st.Movers) > 0:
			d.traffic.drain()
		}
		// Work may begin on an idle node before its machine goes; advance then gives the node back. Other nodes are not measured: pods that
		// leave use CPU themselves.
		if st.Removal.Why == cluster.Idle {
			d.use.measure(st)
		}
	}
	for _, st := range idle {
		// A pinned node is a destination for pods of other nodes, since it stays anyway: see places.hosts.
		st.pinned = d.nodes.neededOf(st, 1) != nil
	}
	d.queue.order(underused)
	for _, st := range underused {
		d.places.fitsPending(st) // asked before anybody's pods are pretended away, and remembered
	}
	d.evictions.noticeCordons(on)
	d.deletions.gatherLeaving(on, idle, func(st *candidate) bool { return d.holds.cools(st) == nil && d.holds.forbidden(st) == nil })
	for _, st := range on {
		d.advance(st)
	}
	d.considerAsked(asked)
	d.considerIdle(idle)
	d.consolidation.end()
	d.considerUnderused(underused)
	d.consolidation.begin()
	d.taints.apply()
	d.ownership.handOver()
	d.evictions.forgetEmptied()
	d.rememberRemovable(idle, underused)
	d.vacated.rememberDetaching()
	d.vacated.rememberDismissed()
}

// rememberRemovable leaves to the next cycle since when nodes could go. Nodes that cannot go now are forgotten.
//
// Cordoned nodes are in no list, so that the time of a node that is given back begins anew. A node that this cycle cordons is in a list:
// its cordon may fail, and is then tried again at once.
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

// advance takes a cordoned node one phase further, lets it wait, or gives it back. The first case that holds decides. Cases that give a
// node back for somebody come before those that wait: they hold in an unhealthy cluster, too.
//
//	case                                does       what it prevents, and a scenario that shows it
//	the node has no machine             next       deleteNode asks whether the machine is gone for certain (S-14)
//	its machine is being deleted        waits      a second request for the same machine (delete-asked-twice)
//	it was parked                       back       its machine runs again, and the node would take no pods (parked-started-by-hand)
//	a waiting pod takes it back         back       a machine would be bought although this one is there (rescue)
//	its machine starts, silent since    back       a growth wants what was parked just now; no taint says so yet (parked-started-at-once)
//	nobody asks for it any more         back       the person has thought better of it
//	headroom or a request needs it      back       as for a waiting pod
//	a pod came that tolerates it        back       the machine would go under a pod that the scheduler put there (pod-returns-newcomers)
//	it bears another machine's mark     back       the taint would have a machine deleted that nobody chose
//	it is annotated to stay             back       a person's word counts until the last moment (kept-before-the-delete)
//	a person holds it                   back       the same (held-on-its-way-out)
//	it was idle, and works now          back       work that no pod requests would end
//	its group is paused                 back       a pause stops what is under way as well (paused-group)
//	its machine is protected            back       the guard would refuse the deletion (S-18) and the node would stay cordoned
//	a person uncordoned it              back       that is an order: sluice does not cordon it again before its time comes anew
//	control plane, no longer opted in   back       S-17
//	its group is one of servers         back       S-17
//	the others would be no quorum       back       another voter fell silent meanwhile (S-17)
//	removal is switched off             back       the node would stay cordoned for ever
//	the cluster is unhealthy            waits      the trouble is probably not this node's (unhealthy-cluster)
//	its group is not read well          waits      nothing is deleted on a list that may be wrong (short-list-while-draining)
//	another sluice began                marks it   the sluice that is named there could give the node back
//	it is quiescing                     next       awaitWork
//	pods there, a person asked          next       drainAsked
//	pods there                          next       drain
//	the pause after the cordon          waits      pods that the scheduler was about to bind arrive (pod-returns-newcomers)
//	its group's min needs it            back       S-44: other nodes may have fallen silent since the cordon
//	a pod that goes along may not go    waits      it counts in its budget (S-15, pod-returns-budget); back after --max-drain-time
//	volumes are attached                waits      the next node would wait minutes for them (volume-detached-first)
//	an annotation asks for time         waits      deletion-delayed
//	another deletion of its group       waits      Azure deletes a group's machines by one request at a time (deletion-never-ends)
//	others are about to be ready        waits      they would miss the request (parallel-removals)
//	the safety contract forbids it      waits      the guard would refuse it; the time when it may go is told
//	none of these                       leaves     its daemons are told to end, then its machine goes
func (d *Removal) advance(st *candidate) {
	about, name, removal := reason.Node(st.Name()), st.Name(), st.Removal
	g := st.group
	if st.Instance == nil {
		d.machines.deleteNode(st)
		return
	}
	if st.Instance.State == cluster.StateDeleting {
		d.nodes.judge(st, node.Leaves(d.Parks(g.GroupFacts, st.Node)), reason.New(reason.NodeLeaving, about, "instance", st.Instance.ID, "fate", node.Fate(d.Parks(g.GroupFacts, st.Node))))
		return
	}
	// From here on the machine is there, and nobody has asked for its deletion.
	wait := d.evictions.pausesUntil(st)
	switch pod, rescued := d.growth.Rescues[name]; {
	case node.WasParked(st.Node):
		d.giveBack(st, reason.New(reason.NodeStarted, about))
	case rescued:
		d.evictions.noteAborted(st, wait)
		d.giveBack(st, reason.New(reason.NodeCounted, about, "pod", pod))
	case st.Instance.State == cluster.StateCreating && !st.Ready && cluster.NotReadySince(st.Object).After(removal.Since): // it was parked, and a growth wants it
		d.giveBack(st, reason.New(reason.NodeStarted, about))
	case removal.Why == cluster.AskedFor && node.AskedFor(st.Node) == nil:
		d.giveBack(st, reason.New(reason.NodeNotAskedFor, about))
	case d.growth.Spared[name].Code != "" && removal.Why != cluster.AskedFor:
		d.giveBack(st, d.growth.Spared[name])
	case removal.Why != cluster.AskedFor && d.evictions.newcomer(st) != nil:
		d.giveBack(st, reason.New(reason.NodeJoined, about, "pod", d.evictions.newcomer(st)))
	case st.Marked.UID != st.Instance.UID:
		d.giveBack(st, reason.New(reason.RemovalAbandoned, about))
	case cluster.Kept(st.Object):
		d.giveBack(st, reason.New(reason.NodeScaleDownOff, about))
	case d.Held(st.Node) != nil:
		d.giveBack(st, *d.Held(st.Node))
	// On a drained node the leaving of pods uses CPU: it is not asked.
	case removal.Why == cluster.Idle && d.use.inUse(st) != nil:
		d.giveBack(st, *d.use.inUse(st))
	case g.Paused != nil:
		d.giveBack(st, *g.Paused)
	case st.Instance.Protected:
		d.giveBack(st, reason.New(reason.NodeProtected, about, "instance", st.Instance.ID))
	case !st.Object.Spec.Unschedulable:
		d.giveBack(st, reason.New(reason.NodeFreedByPerson, about))
	case cluster.ControlPlane(st.Object) && !d.Policy.Removal.ControlPlane:
		d.giveBack(st, reason.New(reason.NodeControlPlane, about))
	case g.Servers:
		d.giveBack(st, d.Controlled(g.ID))
	case d.holds.quorum(st) != nil:
		d.giveBack(st, reason.New(reason.RemovalAbandoned, about), *d.holds.quorum(st))
	case !d.Policy.Removal.Enabled:
		d.giveBack(st, reason.New(reason.RemovalDisabled, about))
	case d.holds.unhealthy != nil:
		d.nodes.judge(st, phase(st), *d.holds.unhealthy)
	case g.BlockedRead() != nil:
		d.nodes.judge(st, phase(st), *g.BlockedRead())
	case d.ownership.begunByAnother(st):
		d.ownership.takeOver(st)
	case quiesces(st):
		d.quiescing.awaitWork(st)
	case len(st.Movers) > 0 && removal.Why == cluster.AskedFor:
		d.drainAsked(st, wait)
	case len(st.Movers) > 0:
		d.drain(st, wait)
	case d.Now.Before(wait):
		if d.deletions.queued(st) {
			d.traffic.ready() // as below
		}
		d.Wake(wait)
		d.nodes.judge(st, action.NodeCordoned, reason.New(reason.NodeCordoned, about, "age", max(0, d.Now.Sub(d.Memory.Cordoned[name].By)).Truncate(time.Second), "fate", node.Fate(d.Parks(g.GroupFacts, st.Node)), "delay", d.Policy.Removal.Pause()))
	// The min is asked beside those that this cycle has asked to go, not beside all that are cordoned: the first cordoned ones may go, the
	// last ones are given back.
	case d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1) != nil:
		d.giveBack(st, *d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1))
	case d.evictions.clung(st) != nil && !d.Now.Before(removal.Since.Add(d.Policy.Removal.Drain.Deadline)) && removal.Why != cluster.AskedFor:
		d.giveBack(st, reason.New(reason.RemovalAbandoned, about), *d.evictions.clung(st))
	case d.evictions.clung(st) != nil:
		d.Wake(removal.Since.Add(d.Policy.Removal.Drain.Deadline))
		d.nodes.judge(st, action.NodeDraining, *d.evictions.clung(st))
	case d.vacated.detaches(st) != nil:
		d.nodes.judge(st, phase(st), *d.vacated.detaches(st))
	case d.vacated.delays(st) != nil:
		d.nodes.judge(st, phase(st), *d.vacated.delays(st))
	case d.deletions.rests(g) != nil:
		// After a deletion that failed nothing is under way. The node counts as on its way then: see TestADeletionThatRestsWaitsForNobody.
		if g.Deleting() > 0 {
			d.traffic.ready() // it is ready, and goes with all that are when its group's turn comes
		}
		d.nodes.judge(st, phase(st), *d.deletions.rests(g))
	case d.deletions.gathersOthers(g) != nil:
		d.traffic.ready() // as above
		d.nodes.judge(st, phase(st), *d.deletions.gathersOthers(g))
	default:
		switch r := exitOf(st, removal.Why).May(g.Contract.Leave); {
		case r == nil:
			d.leave(st)
		default:
			d.traffic.ready() // as above
			d.nodes.judge(st, phase(st), d.HeldBy(about, g.GroupFacts, r)...)
		}
	}
}

// leave has the machine of an empty node deleted, once its daemons have been told to end.
//
// A group that parks has the machine deleted all the same while a pod that is no daemon's is on the node, or a volume is attached. The
// pod would stay bound to the parked node, and nobody would make it again (scenario parked-under-a-pod). Pods that go with the machine
// consume their budgets here, so that later nodes of the cycle find less left.
func (d *Removal) leave(st *candidate) {
	if why := d.vacated.dismisses(st); why != nil {
		d.nodes.judge(st, action.NodeDraining, *why)
		return
	}
	d.traffic.ready()
	d.evictions.disruptAll(st)
	why := reason.New(reason.NodeDrained, reason.Node(st.Name()), "but", d.report.below(st, " but for"), "fate", node.Fate(d.Parks(st.group.GroupFacts, st.Node)))
	if n := len(d.evictions.returning(st)); n > 0 {
		why = reason.New(reason.NodeClung, reason.Node(st.Name()), "fate", node.Fate(d.Parks(st.group.GroupFacts, st.Node)), "pods", n)
	}
	d.removes(st.group, exitOf(st, st.Removal.Why), action.Leaving{Machine: st.Instance.Machine(), Node: st.Name(), Discard: st.group.Parks && !d.Parks(st.group.GroupFacts, st.Node), Because: why})
	d.nodes.judge(st, node.Leaves(d.Parks(st.group.GroupFacts, st.Node)), why)
}

// below names, after that word, the expendable pods that go with the node; "" when there are none.
func (rp *report) below(st *candidate, word string) string {
	if !slices.ContainsFunc(st.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Finished() && rp.Policy.Expendable(p) }) {
		return ""
	}
	return word + " pods below priority " + strconv.Itoa(int(rp.Policy.Growth.PriorityCutoff))
}

// considerIdle cordons nodes that have carried nothing but daemons for long enough, the longest idle first, and so that zones stay balanced
// where there is a choice.
//
// The first of these that keeps a node decides:
//
//	asked       keeps it                                       then
//	forbidden   however long it waits, see standing            its time goes on
//	notYet      for its time, a pause after others, a budget   its time goes on
//	contract    since the guard would refuse its machine       its time goes on; it is not cordoned for nothing
//	nobody                                                     it is cordoned
//
// Pods are steered away from a node that waits for nothing but time or a turn, see taints.noteSoon.
func (d *Removal) considerIdle(nodes []*candidate) {
	d.queue.order(nodes)
	d.queue.balanceZones(nodes)
	for _, st := range nodes {
		about := reason.Node(st.Name())
		why, limit := cluster.Idle, d.queue.limitOf(st)
		waits := reason.New(reason.NodeIdle, about, "pods", "daemons"+d.report.below(st, " and"), "idle", d.queue.idleFor(st), "limit", limit)
		goes := reason.New(reason.NodeIdleFor, about, "idle", d.queue.idleFor(st))
		if !st.Ready {
			// The budget of emptied nodes (S-19) leaves out Ready nodes alone: this word makes the node count.
			why = "unready"
			waits = reason.New(reason.NodeNotReady, about, "age", d.queue.idleFor(st), "limit", limit)
			goes = waits
		}
		block := d.holds.forbidden(st)
		if block == nil {
			block = d.holds.notYet(st)
		}
		if held := d.holds.contract(st, why, block); held != nil {
			block = held
		}
		if block != nil {
			d.taints.noteSoon(st, block)
			// Nobody repairs a node that is not Ready and that its group's min keeps: a person is told first (scenario unready-at-min).
			if d.holds.unrepaired(st, block) {
				block = append([]reason.Reason{d.holds.lasting(st)}, block...)
			} else {
				block = append(block, waits)
			}
			if facts := d.AwaitsTaint(st.Node); facts != nil {
				block = append(block, reason.New(reason.NodeTaintStays, about, facts...))
			}
			d.nodes.judge(st, action.NodeIdle, block...)
			continue
		}
		d.cordon(st, why, goes)
	}
}

// considerUnderused cordons nodes whose few pods may be evicted and have somewhere to go. Which nodes can be emptied is found for all of
// them together, those that have to wait included: nobody is promised a place twice, and nobody moves twice.
//
//	case                                    node       its time     places that were found
//	pods of others moved there before       stays      goes on      none was looked for
//	only pods that work are in the way      quiescing  see there    none was looked for
//	a pod may not leave or has no place     stays      begins anew  taken back
//	forbidden                               stays      goes on      taken back
//	time, turn, back-off, right, contract   waits      goes on      settled while its group can spare so many, else taken back
//	none of these                           cordoned                settled
//
// A node to which pods have moved may go in another cycle. Where one of its own pods may not be evicted, and is no work, that is told
// instead.
func (d *Removal) considerUnderused(nodes []*candidate) {
	var working []*candidate
	for _, st := range nodes {
		if d.places.receives(st.Facts) && !d.places.bound(st) {
			d.nodes.judge(st, action.NodeKeep, receiving(st)) // its time goes on: it could go in their place
			continue
		}
		about := reason.Node(st.Name())
		because, tried := d.places.stays(st)
		switch {
		case len(because) > 0 && policy.Work(because[0].Code):
			working = append(working, st)
			continue
		case len(because) > 0:
			// Only a disruption budget refuses after places were found; every other refusal has taken them back itself.
			if tried {
				d.places.found.Back()
			}
			d.nodes.keep(st, because...)
			continue
		}
		word := "underused"
		if !st.Ready {
			word = "unready"
		}
		fact := d.report.underuse(st, d.queue.limitOf(st))
		if block := d.holds.forbidden(st); block != nil {
			d.places.found.Back()
			d.taints.noteSoon(st, block)
			if d.holds.unrepaired(st, block) {
				block = append([]reason.Reason{d.holds.lasting(st)}, block...)
			}
			d.nodes.judge(st, action.NodeIdle, append(block, fact)...)
			continue
		}
		block := d.holds.notYet(st)
		if backoff := d.evictions.backsOff(st); block == nil && backoff != nil {
			block = []reason.Reason{*backoff}
		}
		if block == nil && d.Snapshot.Objects.Lacks.Has(cluster.EvictPods) {
			block = []reason.Reason{node.Missing(about, cluster.EvictPods)}
		}
		if held := d.holds.contract(st, word, block); held != nil {
			block = held
		}
		// A node that waits settles as well, so that no later node is promised the same places. A node that its group's min keeps takes
		// none.
		if g := st.group; block == nil {
			d.places.found.settle()
		} else if d.nodes.neededOf(st, g.emptied+1) == nil {
			d.places.found.settle() // whoever goes later counts on its places as well
			g.emptied++
		} else {
			d.places.found.Back()
		}
		if block != nil {
			d.taints.noteSoon(st, block)
			all := d.growth.Reasons(len(block) + 1)
			all[copy(all, block)] = fact
			d.nodes.judge(st, action.NodeIdle, all...)
			continue
		}
		d.traffic.drain()
		d.cordon(st, word, fact)
	}
	d.quiescing.consider(working)
}
