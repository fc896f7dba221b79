package node

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Unjoined are the group's machines that never became nodes although they have had their time. One that is lost was a node.
func (d *View) Unjoined(st *GroupFacts) []*cluster.Instance {
	var all []*cluster.Instance
	for _, in := range st.Nodeless {
		if in.State.Expected() && !d.lost[in.UID] && d.Overdue(st, in) && d.Suspect(in) == nil && d.Snapshot.Stray(in.ComputerName) == nil {
			all = append(all, in)
		}
	}
	return all
}

// LastJoin is when the youngest node of the group registered that came up, and whose machine is there.
func (d *View) LastJoin(g cluster.GroupID) (at time.Time) {
	for _, n := range d.Snapshot.Nodes {
		if n.Group == g && n.Instance != nil && n.Object.CreationTimestamp.After(at) && d.Policy.Growth.CameUp(n.Object) {
			at = n.Object.CreationTimestamp.Time
		}
	}
	return at
}

// Foreign says that machines of the group may be another cluster's, so that none of them is deleted; nil when there are none, or when the operator has
// said which cluster the groups belong to (S-22).
func (d *View) Foreign(st *GroupFacts) *reason.Reason {
	if st.Joined || d.Policy.ClusterID != "" {
		return nil
	}
	n := st.Foreign(d.Fleet)
	if n == 0 {
		return nil
	}
	facts := []any{"machines", n}
	if id := d.Snapshot.Objects.ID(); id != "" { // else the remedy says what is to be put there
		facts = append(facts, "cluster", id)
	}
	return new(reason.New(reason.GroupForeign, reason.Group(string(st.ID)), facts...))
}
