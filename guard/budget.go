package guard

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
)

// checkEmpty holds a node that may not be emptied of its pods by the budget that all removals of its group share. A person's own wish does
// not wait, and counts for the others; so does a machine that the cloud has announced to take: see [Expel].
func checkEmpty(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if n.Instance == nil || !spends(n, e, allowed) || n.Object.Annotations[cluster.DrainAnnotation] != "" {
		return nil
	}
	if r := e.Fleet.MayEmpty(fleet.GroupID(n.Group), fleet.UID(n.Instance.UID), allowed.Fleet(e.Newest.Group(n.Group))); r != nil {
		return refuseAs(r, n.Group)
	}
	return nil
}

// Emptying is the machine for which the budget is charged once the write is sent, since pods have to leave its node; nil for none.
func Emptying(w Write, e Evidence, allowed *policy.Policy) *cluster.Instance {
	var node string
	switch w := w.(type) {
	case Cordon:
		if n := e.Newest.Node(w.Node); w.Why != cluster.RunsDry && n != nil && spends(n, e, allowed) {
			node = w.Node
		}
	case Evict:
		if n := e.Newest.Node(w.Node); n != nil && podOf(n, w) != nil && !allowed.Belongs(podOf(n, w), e.on(n), e.Newest.Time) {
			node = w.Node
		}
	case Expel:
		node = w.Node
	}
	if n := e.Newest.Node(node); n != nil {
		return n.Instance
	}
	return nil
}

// spends says whether the budget is charged for a node that is cordoned: somebody has to leave it, or nobody saw that it was empty, since
// it is not Ready.
func spends(n *cluster.Node, e Evidence, allowed *policy.Policy) bool {
	if !cluster.Ready(n.Object) {
		return true
	}
	for _, p := range n.Pods {
		if !allowed.Belongs(p, e.on(n), e.Newest.Time) && !p.Finished() && !p.Overstayed(e.Newest.Time) {
			return true
		}
	}
	return false
}
