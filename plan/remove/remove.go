// Package remove takes nodes out of the cluster, phase by phase. The phase is read off the cluster, so that any process goes on where
// another one stopped.
//
//	phase      evidence                              next
//	candidate  idle or underused for long enough     cordoned, unless something forbids it
//	cordoned   sluice's taint stands on the node     draining after the pause; uncordoned when it is needed again
//	draining   pods that have to leave are there     empty, or given back at the deadline
//	deleting   the deletion of the machine was sent  gone
//	gone       the ledger says that the machine is   its Node object is deleted by UID
//
// A node comes back in each phase before deleting when a pod, a person or the safety contract needs it. Where a new rule goes:
//
//	a reason why a node may not be cordoned                           holds.go, a row of standing; a quiescing node was asked when it was tainted
//	how long a node must have been idle, underused or silent          queue.go, limitOf; what a label of it says is read in package policy
//	a delay that only nodes by themselves wait for, no person         holds.go, notYet; consolidation asks cools alone
//	a label or annotation of the node that keeps it for good          node.View.untouched, a row of advance, and the guard
//	a reason why a cordoned node is given back                        phases.go, advance, before the phases; the first that holds wins
//	something that an empty node waits for before its machine goes    vacated.go, and a row of advance
//	a limit of how many leave at once                                 traffic.go counts them, holds.go and evictions.go ask
//	a reason that time or a turn takes away                           its row in package reason says so (turn); the rule calls Wake
//	the order in which nodes leave                                    queue.go
//	a place where pods of a leaving node may not go                   places.go
//	what is said of a group                                           report.go
//
// Every reason is a code of package reason, with its sentence there; every limit is a row of package setting, and a field of package
// policy.
package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/reason"
)

// Removal is a cycle's removal: its steps, and what they share.
type Removal struct {
	*cordons
	Measure []string // nodes whose use is to be measured before the next cycle

	growth        *grow.Growth
	use           *uses
	vacated       *vacated
	taints        *taints
	quiescing     *quiescing
	consolidation *consolidation
	ownership     *ownership
	notices       *notices
	machines      *machines
	report        *report
}

// NewRemoval is a cycle in which nothing leaves yet.
func NewRemoval(growth *grow.Growth) *Removal {
	v := growth.View
	actions, nodes, traffic := &orders{Leaving: map[cluster.GroupID][]action.Leaving{}}, newNodes(growth), &traffic{}
	evictions, use := &evictions{v, actions}, &uses{View: v}
	queue := &queue{v, nodes, evictions}
	deletions := &deletions{View: v, nodes: nodes, queue: queue, evictions: evictions}
	places := &places{View: v, growth: growth, nodes: nodes, queue: queue}
	holds := &holds{View: v, nodes: nodes, traffic: traffic, queue: queue, evictions: evictions, deletions: deletions, places: places}
	cordons := &cordons{v, actions, nodes, traffic, queue, evictions, deletions, places, holds}
	taints := &taints{View: v, orders: actions, nodes: nodes, queue: queue, use: use}
	return &Removal{
		cordons: cordons, growth: growth, use: use, taints: taints,
		vacated:       &vacated{View: v, orders: actions},
		quiescing:     &quiescing{cordons, growth},
		consolidation: &consolidation{cordons, growth, taints, use},
		ownership:     &ownership{v, actions, nodes},
		notices:       &notices{v, actions},
		machines:      &machines{v, actions, nodes, traffic, growth, deletions},
		report:        &report{v, nodes, growth, queue, map[underuse]reason.Reason{}},
	}
}

// Decide takes each node and each machine without a node as far as it may go in this cycle.
func (d *Removal) Decide() {
	d.machines.CleanUpMachines()
	d.holds.unhealthy = d.nodes.read()
	d.machines.Mark()
	d.notices.Heed()
	d.Advance()
	d.report.JudgeGroups()
	d.Measure = d.use.EndUse()
}
