package place

import (
	"sluice.dev/sluice/cluster"
)

// Claims adds n virtual pods to those that wait. judged says whether groups may grow for them.
//
// All n share the record p, and the subject of their verdicts is c.About. They stand in Waiting behind all pods that are there, so this is
// called after [Room.Collect]. The caller appends the new demand to Demands or to Later.
func (d *Room) Claims(c *Claim, p *cluster.Pod, n int, judged bool) {
	if n <= 0 {
		return
	}
	dm := &Demand{Of: p.Class, Eldest: len(d.Waiting), Judged: judged, Claim: c, Booked: c.Booked, priority: p.Class.Priority()}
	for range n {
		dm.add(len(d.Waiting))
		d.line(p, c.About)
	}
	c.Demands = append(c.Demands, dm)
}
