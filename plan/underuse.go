package plan

import (
	"time"

	"sluice.dev/sluice/reason"
)

// underuse is what is said of an underused node.
type underuse struct {
	used, resource, threshold string
	idle, limit               time.Duration
}

// underuse is in what an underused node that could go is underused, and for how long it has been. Nodes of which the same is to be said share
// the words.
func (d *removing) underuse(st *nodeState, limit time.Duration) reason.Reason {
	words := underuse{percent(st.used), string(st.resource), percent(st.threshold), d.idleFor(st), limit}
	said, ok := d.underuses[words]
	if !ok {
		said = reason.New(reason.NodeUnderused, reason.Ref{}, "used", words.used, "resource", words.resource, "threshold", words.threshold, "idle", words.idle, "limit", words.limit)
		d.underuses[words] = said
	}
	said.About = reason.Node(st.Name())
	return said
}
