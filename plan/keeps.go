package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// keeps says why the policy keeps a pod where it is, false when it may be evicted.
func (d *decision) keeps(p *cluster.Pod, st *nodeState) (reason.Reason, bool) {
	if why, keeps := d.allowed.Uncontrolled(p, d.s.Objects.Controllers); keeps {
		return why, true
	}
	at := st.where
	at.Budgets = d.s.Objects.Budgets // which may be others than when the node was looked at
	return d.allowed.Keeps(p, at, d.now)
}

// owners notes when the controllers of pods are others than before.
type owners struct {
	are   cluster.Controllers
	turns uint64 // how often that was so
}

// turn turns to the controllers that there are now.
func (o *owners) turn(are cluster.Controllers) {
	if !o.are.Same(are) {
		o.are, o.turns = are, o.turns+1
	}
}
