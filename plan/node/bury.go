package node

import (
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// marked notes of a node by its machine's state that the mark on it is to be changed: that of a machine which is parked is cordoned, and one that stays
// bears no mark of its removal by somebody else.
func marked(n *cluster.Node) (changed bool) {
	removal, on := cluster.RemovalOf(n.Object)
	_, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case n.Parked.UID != "":
		return n.Rests() && removal.Why != cluster.Parked
	case on || n.Instance == nil || cluster.ControlPlane(n.Object):
		return false
	}
	return n.Instance.State != cluster.StateDeleting && (n.Marked.UID != "" || incumbent)
}

// Departed says whether nothing but the Node object may be left of the node: its machine is gone, or on its way out and in no list. It counts as no node.
func (d *View) Departed(n *cluster.Node) bool {
	if n.Instance != nil || n.Parked.UID != "" {
		return false
	}
	kept := n.MayDelete(d.Fleet)
	return kept == nil || kept.Code == fleet.IsLeaving
}

// Finalized are the finalizers that hold the Node object although somebody has deleted it, in one word, "" for one that nobody has deleted.
func Finalized(n *cluster.Node) string {
	if n.Object.DeletionTimestamp == nil {
		return ""
	}
	return strings.Join(n.Object.Finalizers, ", ")
}
