package remove

import (
	"time"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// underuse is what is said of an underused node.
type underuse struct {
	used, resource, threshold string
	idle, limit               time.Duration
}

// underuse is in what an underused node that could go is underused, and for how long it has been. Nodes of which the same is to be said share
// the words.
func (d *Removal) underuse(st *candidate, limit time.Duration) reason.Reason {
	words := underuse{node.Percent(st.Used), string(st.Resource), node.Percent(st.Threshold), d.idleFor(st), limit}
	said, ok := d.underuses[words]
	if !ok {
		said = reason.New(reason.NodeUnderused, reason.Ref{}, "used", words.used, "resource", words.resource, "threshold", words.threshold, "idle", words.idle, "limit", words.limit)
		d.underuses[words] = said
	}
	said.About = reason.Node(st.Name())
	return said
}
