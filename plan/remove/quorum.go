package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// quorum says why a control-plane node may not leave although such nodes are opted in, nil when it may, and for every other node: one leaves at a
// time, and those that vote on the cluster's state keep their quorum, counted as if the one that left had a vote still (S-17).
func (d *Removal) quorum(st *candidate) *reason.Reason {
	if !st.Controls {
		return nil
	}
	about := reason.Node(st.Name())
	for at, n := range d.Snapshot.Nodes {
		if n.Object == st.Object || !cluster.ControlPlane(n.Object) {
			continue
		}
		_, leaves := cluster.RemovalOf(n.Object)
		if other := d.states[at]; leaves || other != nil && other.going || n.Instance != nil && n.Instance.State == cluster.StateDeleting {
			return new(reason.New(reason.ControlPlaneTurn, about, "other", n.Name()))
		}
	}
	voters := cluster.Voters(d.Snapshot.Nodes)
	left := 0
	for _, n := range voters {
		if n.Object != st.Object && n.Serving() {
			left++
		}
	}
	if needs := cluster.Quorum(len(voters)); left < needs {
		return new(reason.New(reason.ControlPlaneQuorum, about, "left", left, "needs", needs, "voters", len(voters)))
	}
	return nil
}
