// Package remove takes nodes out of the cluster, phase by phase. The phase is read off the cluster, so that any process goes on where another one stopped.
//
//	phase      evidence                              next
//	candidate  idle or underused for long enough     cordoned, unless something forbids it
//	cordoned   sluice's taint stands on the node     draining after the pause; uncordoned when it is needed again
//	draining   pods that have to leave are there     empty, or given back at the deadline
//	deleting   the deletion of the machine was sent  gone
//	gone       the ledger says that the machine is   its Node object is deleted by UID
//
// A node comes back in each phase before deleting when a pod, a person or the safety contract needs it.
package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// orders are the actions of a cycle.
type orders struct {
	Ladder  []action.Action // Mark, AnswerNotice, Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	Soft    []action.Action // SoftUntaint, then SoftTaint
	Leaving map[cluster.GroupID][]action.Leaving
}

// act adds what is done to a node, in the order of the plan.
func (o *orders) act(a action.Action) { o.Ladder = append(o.Ladder, a) }

// steer adds what only makes the scheduler prefer other nodes, or no longer.
func (o *orders) steer(a action.Action) { o.Soft = append(o.Soft, a) }

// removes has a machine removed in this cycle.
func (o *orders) removes(g *Outgoing, e node.Exit, l action.Leaving) {
	g.Contract.Leave.Add(e.Verb, e.Target)
	o.Leaving[g.ID] = append(o.Leaving[g.ID], l)
}

// Removal moves nodes towards their removal.
type Removal struct {
	*node.View
	*orders
	Measure []string // nodes whose use is to be measured before the next cycle

	growth *grow.Growth
	groups map[cluster.GroupID]*Outgoing
	listed []*Outgoing // the same in the snapshot's order

	states    []*candidate // by the snapshot's nodes; nil for those about which there is nothing more to say
	removable []*candidate // nodes about which there is more to say than what they show, in the order of nodes
	inFlight  int          // nodes on the ladder that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn, or their drain is overdue, a node is none of them
	drains    int          // of these, nodes that pods still have to leave

	use           *uses
	vacated       *vacated
	evictions     *evictions
	deletions     *deletions
	quiescing     *quiescing
	consolidation *consolidation
	ownership     *ownership
	notices       *notices
	machines      *machines
	taints        *taints
	queue         *queue
	places        *places
	holds         *holds
	report        *report
}

// NewRemoval is a cycle in which nothing leaves yet.
func NewRemoval(growth *grow.Growth) *Removal {
	r := &Removal{
		View: growth.View, orders: &orders{Leaving: map[cluster.GroupID][]action.Leaving{}},
		growth: growth, groups: make(map[cluster.GroupID]*Outgoing, len(growth.Listed)),
	}
	for _, g := range growth.Listed {
		st := &Outgoing{Order: g}
		r.groups[g.ID], r.listed = st, append(r.listed, st)
	}
	r.use, r.vacated, r.evictions, r.notices = &uses{View: r.View}, &vacated{View: r.View, orders: r.orders}, &evictions{View: r.View, orders: r.orders}, &notices{r.View, r.orders}
	r.deletions, r.quiescing, r.consolidation, r.ownership = &deletions{View: r.View, r: r}, &quiescing{r.View, r.orders, r}, &consolidation{r.View, r.orders, r}, &ownership{r.View, r.orders, r}
	r.machines, r.taints, r.queue, r.places = &machines{r.View, r.orders, r}, &taints{View: r.View, orders: r.orders, r: r}, &queue{r.View, r}, &places{View: r.View, r: r}
	r.holds, r.report = &holds{View: r.View, r: r}, &report{r.View, r, map[underuse]reason.Reason{}}
	return r
}

// Decide takes each node and each machine without a node as far as it may go in this cycle.
func (r *Removal) Decide() {
	r.machines.CleanUpMachines()
	r.JudgeNodes()
	r.machines.Mark()
	r.notices.Heed()
	r.ClimbLadder()
	r.report.JudgeGroups()
	r.Measure = r.use.EndUse()
}

// candidate is a node of a managed group within one cycle, about which its sight has not said the last word.
type candidate struct {
	*node.Facts
	group *Outgoing // nil when it is of none that is managed
	at    int       // its place among the snapshot's nodes
	wait
	going      bool      // steps on the ladder in this cycle
	pinned     bool      // idle, but its group is at its minimum
	kept       bool      // needed after all
	counted    bool      // among its group's leaving nodes and those in flight
	passedOver bool      // no pending pod is welcome on it
	exit       node.Exit // how its machine is to go, once it is counted
}

// Outgoing is a group and its machines that leave.
type Outgoing struct {
	*grow.Order
	leaving    int // machines that still count as capacity and are on the ladder, stepping on it or being cleaned up
	unrepaired int // nodes that are not Ready and that its min keeps
	drying     int // nodes that run dry, or could
	emptied    int // further nodes of which this cycle found that they can be emptied with those that leave
}

// wait is how a node's timers stand.
type wait struct {
	removable time.Time // since when it could go without a break
	since     time.Time // since when its limit runs: no earlier than removable
	due       bool      // its limit is over
}

// cost is the price of a node, and whether it is that of a spot machine.
type cost struct {
	price float64
	spot  bool
}

// destinations is where pods of leaving nodes could move to: nodes that are Ready, not on their way out, and not idle unless their group keeps them
// anyway, as otherwise it is the idle one that should go. Those that are least likely to leave come first: pods that move gather there.
//
// The tries of a cycle are made one after the other, and each rests on those before it: see [scheduling.Destinations].
type destinations struct {
	*scheduling.Destinations
	check *scheduling.Checker
	took  map[scheduling.Handle]bool // pods have moved there
}

// gathering is the machines of one group that are about to leave.
type gathering struct {
	takes time.Duration   // a deletion, as far as anybody knows
	ready int             // for deletion now
	since time.Time       // when the first of them was
	soon  []time.Duration // when others will be, from now; in order once all are known
	with  *fleet.Batch    // those that go already, by the safety contract
}

// gathered is a deletion that waits.
type gathered struct {
	until  time.Time
	others int // that it waits for, or some of them
}

// underuse is what is said of an underused node.
type underuse struct {
	used, resource, threshold string
	idle, limit               time.Duration
}

// uses is what a cycle finds of measured use.
type uses struct {
	*node.View
	above  map[string]memory.InUse // nodes whose measured use is above the threshold
	asking []string                // nodes to be measured
}

// annex is where the pods of one node could move to: nodes that stay and, where a group is given, one more machine of it. Nothing else may ask the
// checker until it is closed.
type annex struct {
	d            *Removal
	destinations *scheduling.Destinations
	close        func()
}

// drying is a node that could run dry.
type drying struct {
	*candidate
	works []worker
}

// worker is a pod that works.
type worker struct {
	*cluster.Pod
	why  reason.Reason
	left time.Duration // until it is expected to end, 0 when nobody knows
}

// saving is a way to run a node's pods for less.
type saving struct {
	st    *candidate
	into  *Outgoing // that grows by one machine for it, nil when none has to
	usd   float64   // an hour
	cost  float64   // of moving, once
	worth float64
}

type vacated struct {
	*node.View
	*orders
	detaching map[string]time.Time // since when empty nodes wait for volumes
	dismissed map[string]time.Time // when the daemons of empty nodes were told to end
}
type evictions struct {
	*node.View
	*orders
}
type deletions struct {
	*node.View
	r       *Removal
	gathers map[cluster.GroupID]gathered // groups whose deletions wait for further machines
}
type quiescing struct {
	*node.View
	*orders
	r *Removal
}
type consolidation struct {
	*node.View
	*orders
	r *Removal
}
type ownership struct {
	*node.View
	*orders
	r *Removal
}
type notices struct {
	*node.View
	*orders
}
type machines struct {
	*node.View
	*orders
	r *Removal
}
type taints struct {
	*node.View
	*orders
	r    *Removal
	soon []*candidate // nodes that will go when their time or turn has come, those first that can be spared most
}
type queue struct {
	*node.View
	r *Removal
}
type places struct {
	*node.View
	r     *Removal
	found *destinations // where the pods of leaving nodes may move to, nil until somebody asks
}
type holds struct {
	*node.View
	r         *Removal
	stay      *grow.Totals    // what the nodes have that stay, nil until somebody asks
	unhealthy []reason.Reason // why nothing may be removed at all, nil when all is well
}
type report struct {
	*node.View
	r         *Removal
	underuses map[underuse]reason.Reason // see [Removal.underuse]
}
