package remove

import (
	"fmt"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// nodes are the nodes of a cycle, with the groups that they leave.
//
// How an idle or underused node's time goes on is decided by how its verdict is given:
//
//	judge   its time goes on: it waits for something that passes
//	keep    its time begins anew: it is needed
type nodes struct {
	*node.View
	groups    map[cluster.GroupID]*Outgoing
	listed    []*Outgoing  // the same in the snapshot's order
	states    []*candidate // by the snapshot's nodes; nil for those about which there is nothing more to say
	removable []*candidate // nodes about which there is more to say than what they show, in the order of nodes
}

func newNodes(growth *grow.Growth) *nodes {
	ns := &nodes{View: growth.View, groups: make(map[cluster.GroupID]*Outgoing, len(growth.Listed))}
	for _, g := range growth.Listed {
		st := &Outgoing{Order: g}
		ns.groups[g.ID], ns.listed = st, append(ns.listed, st)
	}
	return ns
}

// outgoing is the same with its machines that leave.
func (ns *nodes) outgoing(v *node.Facts) *Outgoing {
	if v.Of < 0 {
		return nil
	}
	return ns.listed[v.Of]
}

// judge records a verdict on a node.
//
// A candidate that consolidation made is not in states: its verdict stands in place of what the node shows.
func (ns *nodes) judge(st *candidate, outcome action.Outcome, because ...reason.Reason) {
	v := action.Verdict{Subject: reason.Node(st.Name()), Outcome: outcome, Because: because}
	if ns.states[st.at] == st {
		ns.Memo.Said[st.at] = v
	} else {
		ns.Besides = append(ns.Besides, node.Judged{At: st.at, Verdict: v})
	}
}

// read says of every node whether it could go, and why none may be removed at all, nil when all is well. Cordoned nodes and candidates are
// left to [Removal.Advance].
//
// Which nodes are compared with what [policy.Policy.Health] tolerates:
//
//	node that is not Ready                           nodes  not Ready
//	its machine is parked, gone or known to be lost  no     no
//	it starts, or its machine is started again       yes    no
//	any other                                        yes    yes
//
// A missing right to change nodes stops removal as well: nothing could be cordoned (scenario right-missing).
func (ns *nodes) read() (unhealthy *reason.Reason) {
	ns.states = make([]*candidate, len(ns.Snapshot.Nodes))
	ns.removable = make([]*candidate, 0, len(ns.Memo.Watched))
	unready, all := 0, len(ns.Snapshot.Nodes) // nodes that are neither Ready nor starting, and all but those whose machines are switched off or known to be lost
	ns.Watch(func(at int, v *node.Facts) {
		switch {
		case v.Parked.UID != "" && !v.Ready, !v.Ready && ns.Departed(v.Node), !v.Ready && ns.Acknowledged(v.Node):
			all--
		case !v.Ready && !ns.Starting(v.Node) && !ns.Restarts(v.Node):
			unready++
		}
		if v.Settled {
			ns.Memo.Said[at] = v.Verdict
			return
		}
		st := &candidate{Facts: v, group: ns.outgoing(v), at: at}
		ns.states[at] = st
		ns.removable = append(ns.removable, st)
	})
	if !ns.Policy.Health.Tolerates(unready, all) {
		unhealthy = new(reason.New(reason.UnhealthyCluster, reason.Ref{Kind: reason.KindCluster},
			"unready", unready, "nodes", all, "tolerated", fmt.Sprintf("%d or %g%%", ns.Policy.Health.UnreadyCount, ns.Policy.Health.UnreadyPercent)))
	}
	if right, halts := ns.Snapshot.Objects.Lacks.Halting(); halts {
		unhealthy = new(node.Missing(reason.Ref{Kind: reason.KindCluster}, right))
	}
	return unhealthy
}

// keep says that a node that could have gone is needed: its time starts anew.
func (ns *nodes) keep(st *candidate, because ...reason.Reason) {
	st.kept = true
	ns.judge(st, action.NodeKeep, because...)
}

// neededOf says why its group's min keeps one of n machines like the node's, nil when it does not. Beside them go all that traffic has
// counted, those that this cycle cordons included. [Removal.advance] asks beside machines that are deleted in this cycle instead.
func (ns *nodes) neededOf(st *candidate, n int) *reason.Reason {
	return ns.Needed(st.group.GroupFacts, exitOf(st, ""), st.group.Contract.Leaving, n)
}

// outstays says whether a node's pods have had their time to leave and are still there. It holds up no other node: a tenant's pod, or a Job
// on a node that a person has asked for, may take days.
func (ns *nodes) outstays(st *candidate) bool {
	return len(st.Movers) > 0 && !ns.Now.Before(st.Removal.Since.Add(ns.Policy.Removal.Drain.Deadline))
}
