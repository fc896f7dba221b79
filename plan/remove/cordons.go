package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// cordons cordons nodes and gives them back.
type cordons struct {
	*node.View
	*orders
	nodes     *nodes
	traffic   *traffic
	queue     *queue
	evictions *evictions
	deletions *deletions
	places    *places
	holds     *holds
}

// step counts a node that is cordoned for that reason.
//
// Where its group's deletion is under way or waits, an idle node goes with the next request: it holds up no other node.
func (co *cordons) step(st *candidate, why string) {
	if co.traffic.count(st, why); co.deletions.queued(st) {
		co.traffic.ready()
	}
}

// goes says that a node leaves: nothing counts on it any more.
//
// Each later question of the cycle is answered without the node: headroom, the cluster's minimum, quorum, destinations.
func (co *cordons) goes(st *candidate) {
	st.going = true
	st.group.Headroom.Lose(st.Name())
	if co.holds.stay != nil {
		co.holds.stay.Add(st.Object, -1)
	}
}

// cordon cordons a node that is to leave.
func (co *cordons) cordon(st *candidate, why string, because reason.Reason) {
	co.step(st, why)
	if len(st.Movers) > 0 {
		co.evictions.empties(st)
	}
	co.goes(st)
	// A pinned node may be among the destinations already. Other idle nodes are none, and underused ones are shut when their own pods have
	// left.
	if st.pinned && co.places.found != nil {
		if h, present := co.Check.Handle(st.Name()); present {
			co.places.found.Shut(h) // its group can spare it after all
		}
	}
	co.Wake(co.Now.Add(co.Policy.Removal.Pause()))
	co.taint(st, why, because)
	co.nodes.judge(st, action.NodeCordoned, because)
}

// taint has the removal taint put on the node, with the reason for which it is to leave.
func (co *cordons) taint(st *candidate, why string, because reason.Reason) {
	removal := cluster.Removal{Since: co.Now.Truncate(time.Second), Why: why}
	// Work goes on where a node quiesces: load balancers are told only when it leaves.
	exclude := why != cluster.RunsDry && co.Policy.Removal.Delay.Exclusion > 0
	co.act(action.Cordon{Node: st.Name(), UID: st.Object.UID, Removal: removal, Machine: st.Instance.Machine(), Exclude: exclude, Because: because})
}

// giveBack uncordons a node.
//
// The action bears the first reason, the verdict all of them. traffic.drains still counts a drain that this ends: another one begins in
// the next cycle at the earliest.
func (co *cordons) giveBack(st *candidate, because ...reason.Reason) {
	if st.counted {
		co.traffic.uncount(st, co.nodes.outstays(st))
	} else {
		co.traffic.quiesce(st.group, -1)
	}
	co.act(action.Uncordon{Node: st.Name(), UID: st.Object.UID, Because: because[0]})
	co.nodes.judge(st, action.NodeRescue, because...)
}
