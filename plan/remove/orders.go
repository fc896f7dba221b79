package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
)

// orders are the actions of a cycle.
//
//	field     holds                                                order
//	Steps     Mark, AnswerNotice, Uncordon, Evict, DeleteNode,     as decided: marks, answers to notices with their evictions, then what
//	          Cordon                                               Advance does with one list of nodes after the other
//	Steering  CandidateUntaint, CandidateTaint                     after Leaving
//	Leaving   machines, by group: one request for each group       after Steps, by id
type orders struct {
	Steps    []action.Action // in the order in which they were decided
	Steering []action.Action // each CandidateUntaint before each CandidateTaint, but for nodes that are handed over
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
