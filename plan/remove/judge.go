package remove

import (
	"fmt"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

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
		d.holds.unhealthy = []reason.Reason{reason.New(reason.UnhealthyCluster, reason.Ref{Kind: reason.KindCluster},
			"unready", unready, "nodes", nodes, "tolerated", fmt.Sprintf("%d or %g%%", d.Policy.Health.UnreadyCount, d.Policy.Health.UnreadyPercent))}
	}
	if right, halts := d.Snapshot.Objects.Lacks.Halting(); halts {
		d.holds.unhealthy = []reason.Reason{node.Missing(reason.Ref{Kind: reason.KindCluster}, right)}
	}
}
