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
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// Removal moves nodes towards their removal.
type Removal struct {
	*grow.Growth
	groups map[cluster.GroupID]*Outgoing
	listed []*Outgoing // the same in the snapshot's order

	Ladder    []action.Action // Mark, AnswerNotice, Uncordon, Evict, DeleteNode, Cordon in the order of nodes
	Soft      []action.Action // SoftUntaint, then SoftTaint
	Leaving   map[cluster.GroupID][]action.Leaving
	states    []*candidate                 // by the snapshot's nodes; nil for those about which there is nothing more to say
	removable []*candidate                 // nodes about which there is more to say than what they show, in the order of nodes
	soon      []*candidate                 // of these, nodes that will go when their time or turn has come, those first that can be spared most
	refuge    *refuge                      // where the pods of leaving nodes may move to, nil until somebody asks
	kept      *grow.Totals                 // what the nodes have that stay, nil until somebody asks
	underuses map[underuse]reason.Reason   // see [Removal.underuse]
	inFlight  int                          // nodes on the ladder that have yet to become ready for their machine's deletion; once it is requested, or waits for its group's turn, or their drain is overdue, a node is none of them
	drains    int                          // of these, nodes that pods still have to leave
	unhealthy []reason.Reason              // why nothing may be removed at all, nil when all is well
	gathers   map[cluster.GroupID]gathered // groups whose deletions wait for further machines
	use       uses                         // see [Removal.inUse]
	detaching map[string]time.Time         // since when empty nodes wait for volumes
	dismissed map[string]time.Time         // when the daemons of empty nodes were told to end
}

// NewRemoval is a cycle in which nothing leaves yet.
func NewRemoval(growth *grow.Growth) *Removal {
	d := &Removal{
		Growth: growth, groups: make(map[cluster.GroupID]*Outgoing, len(growth.Listed)),
		underuses: map[underuse]reason.Reason{}, Leaving: map[cluster.GroupID][]action.Leaving{},
	}
	for _, g := range growth.Listed {
		st := &Outgoing{Order: g}
		d.groups[g.ID], d.listed = st, append(d.listed, st)
	}
	return d
}

// outgoing is the same with its machines that leave.
func (d *Removal) outgoing(v *node.Facts) *Outgoing {
	if v.Of < 0 {
		return nil
	}
	return d.listed[v.Of]
}

// judgeNode records a verdict on a node.
func (d *Removal) judgeNode(st *candidate, outcome action.Outcome, because ...reason.Reason) {
	v := action.Verdict{Subject: reason.Node(st.Name()), Outcome: outcome, Because: because}
	if d.states[st.at] == st {
		d.Memo.Said[st.at] = v
	} else {
		d.Besides = append(d.Besides, node.Judged{At: st.at, Verdict: v})
	}
}

// Outgoing is a group and its machines that leave.
type Outgoing struct {
	*grow.Order
	leaving    int // machines that still count as capacity and are on the ladder, stepping on it or being cleaned up
	unrepaired int // nodes that are not Ready and that its min keeps
	drying     int // nodes that run dry, or could
	emptied    int // further nodes of which this cycle found that they can be emptied with those that leave
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

// JudgeNodes says of every node whether it could go. Nodes on the ladder and nodes that may step on it are left to climbLadder.
func (d *Removal) JudgeNodes() {
	d.states = make([]*candidate, len(d.Snapshot.Nodes))
	d.removable = make([]*candidate, 0, len(d.Memo.Watched))
	unready, nodes := 0, len(d.Snapshot.Nodes) // nodes that are neither Ready nor starting, and all but those whose machines are switched off or known to be lost
	d.Watch(func(at int, v *node.Facts) {
		switch {
		case v.Parked.UID != "" && !v.Ready, !v.Ready && d.Departed(v.Node), !v.Ready && d.Acknowledged(v.Node):
			nodes--
		case !v.Ready && !d.Starting(v.Node) && !d.Restarts(v.Node):
			unready++
		}
		if v.Settled {
			d.Memo.Said[at] = v.Verdict
			return
		}
		st := &candidate{Facts: v, group: d.outgoing(v), at: at}
		d.states[at] = st
		d.removable = append(d.removable, st)
	})
	if !d.Policy.Health.Tolerates(unready, nodes) {
		d.unhealthy = []reason.Reason{reason.New(reason.UnhealthyCluster, reason.Ref{Kind: reason.KindCluster},
			"unready", unready, "nodes", nodes, "tolerated", fmt.Sprintf("%d or %g%%", d.Policy.Health.UnreadyCount, d.Policy.Health.UnreadyPercent))}
	}
	if right, halts := d.Snapshot.Objects.Lacks.Halting(); halts {
		d.unhealthy = []reason.Reason{node.Missing(reason.Ref{Kind: reason.KindCluster}, right)}
	}
}
