package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// ofIncumbent says that cluster-autoscaler has begun to remove the node: it is left to it while it does so, and given back when it began before this sluice led,
// as cluster-autoscaler does itself when it begins to lead.
func (d *view) ofIncumbent(n *cluster.Node) *reason.Reason {
	since, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case !incumbent:
		return nil
	case since.After(d.leads()):
		return new(reason.New(reason.NodeOfIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339)))
	}
	return new(leftByIncumbent(n, since))
}

// returned says whether this cycle gives the node back that cluster-autoscaler has left half way: pods may count on it.
func (d *view) returned(n *cluster.Node) bool {
	since, incumbent := cluster.IncumbentSince(n.Object)
	if _, halted := d.s.Objects.Lacks.Halting(); halted {
		return false
	}
	return incumbent && !since.After(d.leads()) && marked(n) && n.Parked.UID == "" && n.Instance.State != cluster.StateDeleting && d.groups[n.Group].paused == nil
}

// withoutIncumbent is the node without what cluster-autoscaler puts on it for its removal.
func withoutIncumbent(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cluster.IncumbentTaint || t.Key == corev1.TaintNodeUnschedulable
	})
	return out
}

// leads is since when this process has decided.
func (d *view) leads() time.Time {
	if d.m.Since.IsZero() {
		return d.now
	}
	return d.m.Since
}

// leftByIncumbent says that cluster-autoscaler has stopped half way.
func leftByIncumbent(n *cluster.Node, since time.Time) reason.Reason {
	return reason.New(reason.NodeLeftByIncumbent, reason.Node(n.Name()), "since", since.Format(time.RFC3339))
}
