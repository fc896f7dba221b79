package node

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// ofIncumbent says that cluster-autoscaler has begun to remove the node: it is left to it while it does so, and given back when it began
// before this sluice led, as cluster-autoscaler does itself when it begins to lead.
func (d *View) ofIncumbent(n *cluster.Node) *reason.Reason {
	since, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case !incumbent:
		return nil
	case since.After(d.Leads()):
		return new(reason.New(reason.NodeOfIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339)))
	}
	return new(LeftByIncumbent(n, since))
}

// Returned says whether this cycle gives the node back that cluster-autoscaler has left half way: pods may count on it.
//
//	node                                                                pods may count on it
//	cluster-autoscaler began after this process                         no: it ends what it began (scenario switch-over-both-lead)
//	of a machine that is parked or being deleted, or of a paused group  no: sluice does not change the node
//	sluice may not change nodes at all                                  no: the taint stays
//	any other that bears its taint, but no control-plane node           yes, in the same cycle (scenario switch-over-pods-wait)
func (d *View) Returned(n *cluster.Node) bool {
	since, incumbent := cluster.IncumbentSince(n.Object)
	if _, halted := d.Snapshot.Objects.Lacks.Halting(); halted {
		return false
	}
	return incumbent && !since.After(d.Leads()) && marked(n) && n.Parked.UID == "" && n.Instance.State != cluster.StateDeleting && d.groups[n.Group].Paused == nil
}

// WithoutIncumbent is the node without what cluster-autoscaler puts on it for its removal.
func WithoutIncumbent(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cluster.IncumbentTaint || t.Key == corev1.TaintNodeUnschedulable
	})
	return out
}

// Leads is since when this process has decided.
// Memory.Since is zero only in the first cycle, before package grow has set it.
func (d *View) Leads() time.Time {
	if d.Memory.Since.IsZero() {
		return d.Now
	}
	return d.Memory.Since
}

// LeftByIncumbent says that cluster-autoscaler has stopped half way.
func LeftByIncumbent(n *cluster.Node, since time.Time) reason.Reason {
	return reason.New(reason.NodeLeftByIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339))
}
