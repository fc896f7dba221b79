package node

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// AskedFor says that a person has asked for the node to be emptied and removed, nil when nobody has.
func AskedFor(n *cluster.Node) *reason.Reason {
	at, asked := n.Object.Annotations[cluster.DrainAnnotation]
	if !asked {
		return nil
	}
	r := reason.New(reason.NodeAskedFor, reason.Node(n.Name()), "at", at)
	return &r
}
