package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
)

// candidate is a node of a managed group within one cycle, about which its facts are not the last word.
//
// Fields are zero until their writer has run in this cycle:
//
//	field       written by                                   read for
//	wait        queue.order, for idle and underused nodes    whether its time has come
//	pinned      Advance, for idle nodes                      whether others may move there
//	kept        nodes.keep                                   whether its time begins anew
//	going       cordons.goes                                 no pods move there, nothing counts on it
//	counted     traffic.count                                giveBack, to take back what was counted
//	exit        traffic.count; emptied clears Idle           the budgets of the safety contract
//	passedOver  places.fitsPending                           asking only once a cycle
//
// Consolidation makes candidates of its own for nodes that are used too much to go, see moveable.
type candidate struct {
	*node.Facts
	group *Outgoing // nil when it is of none that is managed
	at    int       // its place among the snapshot's nodes
	wait
	going      bool      // is cordoned in this cycle
	pinned     bool      // idle, but its group is at its minimum
	kept       bool      // needed after all
	counted    bool      // among its group's leaving nodes and those in flight
	passedOver bool      // no pending pod is welcome on it
	exit       node.Exit // how its machine is to go, once it is counted
}

// Outgoing is a group and its machines that leave.
//
// Nothing of it outlasts the cycle: nodes and the list of machines tell the next one.
type Outgoing struct {
	*grow.Order
	leaving    int // machines that still count as capacity and are cordoned, about to be, or being cleaned up
	unrepaired int // nodes that are not Ready and that its min keeps
	lost       int // machines whose Node objects went, and that pods count on: they are not on their way
	quiescent  int // nodes that run dry, or could
	emptied    int // further nodes of which this cycle found that they can be emptied with those that leave
}

// wait is how a node's timers stand.
//
// removable is remembered from cycle to cycle, since is not. They differ for a node that is not Ready: its limit runs from when that began.
type wait struct {
	removable time.Time // since when it could go without a break
	since     time.Time // since when its limit runs: no earlier than removable
	due       bool      // its limit is over
}

// exitOf is the machine of a node that is cordoned for that reason.
//
// why is the word of the removal taint; "" asks about the min alone. Idle and Person let a machine go without the budget of emptied nodes
// (S-19). A machine that failed is deleted, also by a group that parks.
func exitOf(st *candidate, why string) node.Exit {
	e := node.Exit{Verb: fleet.Delete, Target: fleet.Target{UID: fleet.UID(st.Instance.UID), ID: string(st.Instance.ID), Clear: true, Idle: why == cluster.Idle, Person: why == cluster.AskedFor}}
	if st.group.Parks && st.Instance.State != cluster.StateFailed {
		e.Verb = fleet.Park
	}
	return e
}

// phase is how far a cordoned node is whose machine has not been asked to go.
func phase(st *candidate) action.Outcome {
	if len(st.Movers) > 0 || quiesces(st) {
		return action.NodeDraining
	}
	return action.NodeCordoned
}

// quiesces says whether a node runs dry.
func quiesces(st *candidate) bool { return st.Removal.Why == cluster.RunsDry }
