package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// keeps says why the policy keeps a pod where it is, false when it may be evicted.
func (d *view) keeps(p *cluster.Pod, v *sight) (reason.Reason, bool) {
	if why, keeps := d.allowed.Uncontrolled(p, d.s.Objects.Controllers); keeps {
		return why, true
	}
	at := v.where
	at.Budgets = d.s.Objects.Budgets // which may be others than when the node was looked at
	return d.allowed.Keeps(p, at, d.now)
}
