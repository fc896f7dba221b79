package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// ofIncumbent says that cluster-autoscaler has begun to remove the node: it is left to it while it does so, and given back when it began before this sluice led,
// as cluster-autoscaler does itself when it begins to lead.
func (d *decision) ofIncumbent(n *cluster.Node) *reason.Reason {
	since, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case !incumbent:
		return nil
	case since.After(d.leads()):
		return new(reason.New(reason.NodeOfIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339)))
	}
	return new(leftByIncumbent(n, since))
}

// leads is since when this process has decided.
func (d *decision) leads() time.Time {
	if d.m.Since.IsZero() {
		return d.now
	}
	return d.m.Since
}

// leftByIncumbent says that cluster-autoscaler has stopped half way.
func leftByIncumbent(n *cluster.Node, since time.Time) reason.Reason {
	return reason.New(reason.NodeLeftByIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339))
}
