package place

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
)

// Claims adds n pretended pods to those that wait. judged says whether groups may grow for them.
func (d *Room) Claims(c *Claim, p *cluster.Pod, n int, judged bool) {
	if n <= 0 {
		return
	}
	dm := &Demand{Of: p.Class, Eldest: len(d.Waiting), Judged: judged, Claim: c, Booked: c.Booked, priority: p.Class.Priority()}
	if len(d.Waiting) == len(d.Snapshot.Pending) {
		d.Waiting = slices.Clip(d.Waiting) // the list is the snapshot's own
	}
	for range n {
		dm.Pods = append(dm.Pods, len(d.Waiting))
		d.Waiting, d.PodVerdicts = append(d.Waiting, p), append(d.PodVerdicts, action.Verdict{Subject: c.About})
	}
	c.Demands = append(c.Demands, dm)
}
