package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
)

// orders are the actions of a cycle.
type orders struct {
	Steps    []action.Action // Mark, AnswerNotice, Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	Steering []action.Action // SoftUntaint, then SoftTaint
	Leaving  map[cluster.GroupID][]action.Leaving
}

// act adds what is done to a node, in the order of the plan.
func (o *orders) act(a action.Action) { o.Steps = append(o.Steps, a) }

// steer adds what only makes the scheduler prefer other nodes, or no longer.
func (o *orders) steer(a action.Action) { o.Steering = append(o.Steering, a) }

// removes has a machine removed in this cycle.
func (o *orders) removes(g *Outgoing, e node.Exit, l action.Leaving) {
	g.Contract.Leave.Add(e.Verb, e.Target)
	o.Leaving[g.ID] = append(o.Leaving[g.ID], l)
}
