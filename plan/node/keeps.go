package node

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Keeps says why the policy keeps a pod where it is, false when it may be evicted.
func (d *View) Keeps(p *cluster.Pod, v *Facts) (reason.Reason, bool) {
	if why, keeps := d.Policy.Uncontrolled(p, d.Snapshot.Objects.Controllers); keeps {
		return why, true
	}
	at := v.Where
	at.Budgets = d.Snapshot.Objects.Budgets // which may be others than when the node was looked at
	return d.Policy.Keeps(p, at, d.Now)
}
