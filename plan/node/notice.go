package node

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Noticed is what the cloud has announced to the node's machine.
func Noticed(n *cluster.Node) reason.Reason {
	notice, _ := cluster.NoticeOf(n.Object)
	if !notice.Stops() && notice.Kind != "Freeze" {
		return reason.New(reason.NodeNoticeUnclear, reason.Node(n.Name()), "annotation", cluster.NoticeAnnotation)
	}
	at := "now"
	if !notice.Deadline.IsZero() {
		at = notice.Deadline.Format(time.RFC3339)
	}
	return reason.New(reason.NodeNoticed, reason.Node(n.Name()), "kind", notice.Kind, "at", at)
}
