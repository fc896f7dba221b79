package remove

import (
	"sluice.dev/sluice/plan/node"
)

// traffic counts the nodes that are on their way out.
//
//	node                                      inFlight  drains                 leaving of its group
//	cordoned, in its pause                    yes       while it has pods      yes
//	its drain is overdue                      no        no                     yes
//	waits for its group's turn                no        no                     yes
//	its machine is being deleted              no        no                     no: the group's list counts it
//	quiescing                                 no        no                     no, but in quiescent
//
// Each cycle counts anew: nothing is carried over.
type traffic struct {
	inFlight int // cordoned nodes that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn, or their drain is overdue, a node is none of them
	drains   int // of these, nodes that pods still have to leave
}

// count counts a node that was cordoned for that reason.
func (tf *traffic) count(st *candidate, why string) {
	st.exit = exitOf(st, why)
	st.counted = true
	st.group.leaving++
	st.group.Contract.Leaving.Add(st.exit.Verb, st.exit.Target)
	tf.inFlight++
}

// uncount takes a node off that is given back; it holds up others unless it outstays.
func (tf *traffic) uncount(st *candidate, outstays bool) {
	st.group.leaving--
	st.group.Contract.Leaving.Drop(st.exit.Verb, st.exit.Target)
	if !outstays {
		tf.inFlight--
	}
}

// ready says that a node holds up no other any more: its machine's deletion is requested, or waits for its group's turn.
func (tf *traffic) ready() { tf.inFlight-- }

// drain counts a node that pods have to leave.
func (tf *traffic) drain() { tf.drains++ }

// lose counts a machine without a node that leaves.
func (tf *traffic) lose(g *Outgoing, e node.Exit) {
	g.leaving++
	g.Contract.Leaving.Add(e.Verb, e.Target)
}

// quiesce counts so many more nodes of the group as running dry.
func (tf *traffic) quiesce(g *Outgoing, n int) { g.quiescent += n }

// emptied charges the budget for a node that was cordoned with no pods on it, and has some now.
func (st *candidate) emptied() {
	if !st.counted || !st.exit.Idle {
		return
	}
	leaving := st.group.Contract.Leaving
	leaving.Drop(st.exit.Verb, st.exit.Target)
	st.exit.Idle = false
	leaving.Add(st.exit.Verb, st.exit.Target)
}
