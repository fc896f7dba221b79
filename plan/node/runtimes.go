package node

import (
	"sluice.dev/sluice/cluster"
)

// OwnerOf names the controller of a class's pods, "" when they have none or belong to their node.
func OwnerOf(of *cluster.Class) string {
	o := of.Owner()
	if o == nil || of.Daemon() {
		return ""
	}
	return of.Namespace + "/" + o.Kind + "/" + o.Name
}
