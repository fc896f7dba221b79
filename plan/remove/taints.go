package remove

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// fewestUntaints is how many candidate taints a cycle may take off even if it may put none on.
const fewestUntaints = 10

// taints has the scheduler prefer other nodes to those that leave soon.
type taints struct {
	*node.View
	*orders
	nodes *nodes
	queue *queue
	use   *uses
	soon  []*candidate // nodes that will go when their time or turn has come, those first that can be spared most
}

// apply has the scheduler prefer other nodes to those that could go, at once and not only when their time has come, so that they stay
// without pods. The candidate taint comes off when the node is needed again; that goes first. Both count as one budget, since each is a
// write.
//
//	the taint stands on the node       does
//	it has no machine that is known    leaves it
//	the node waits for its time        leaves it, unless taints are switched off (a count of 0)
//	it is cordoned                     leaves it
//	any other                          takes it off
//
// Where the count is 0 taints still come off, ten a cycle.
func (tn *taints) apply() {
	most := tn.Policy.Removal.MaxCandidateTaints
	left := cmp.Or(most, fewestUntaints)
	goes := map[int]bool{}
	if len(tn.Memo.Steered) > 0 {
		for _, st := range tn.soon {
			goes[st.at] = true
		}
	}
	for _, at := range tn.Memo.Steered {
		n := tn.Snapshot.Nodes[at]
		if left == 0 {
			return
		}
		if st := tn.nodes.states[at]; n.Instance == nil || goes[at] && most > 0 || st != nil && (st.Leaves || st.going) {
			continue
		}
		left--
		tn.steer(action.CandidateUntaint{Node: n.Name(), UID: n.Object.UID, Because: reason.New(reason.NodeWelcome, reason.Node(n.Name()))})
	}
	for _, st := range tn.soon {
		if left == 0 || most == 0 {
			return
		}
		if _, bears := slices.BinarySearch(tn.Memo.Steered, st.at); bears {
			continue
		}
		left--
		tn.steer(action.CandidateTaint{Node: st.Name(), UID: st.Object.UID, Since: st.removable, Because: reason.New(reason.NodeShunned, reason.Node(st.Name()))})
	}
}

// noteSoon notes a node that may not be cordoned for these reasons, if it waits for nothing but its time or its turn. Control-plane nodes
// are nothing that pods are steered by.
func (tn *taints) noteSoon(st *candidate, block []reason.Reason) {
	if len(block) > 0 && !block[0].Turn() {
		return
	}
	tn.use.measureSoon(st, st.since.Add(tn.queue.limitOf(st)))
	if st.Takes && !st.Controls {
		tn.soon = append(tn.soon, st)
	}
}
