package place

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
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

// KeepFor notes that a node stays for the sake of the claim's pods.
func (d *Room) KeepFor(c *Claim, node string) {
	if _, known := d.Booked[node]; known {
		return
	}
	why := c.Keeps
	why.About = reason.Node(node)
	d.Booked[node] = why
}

// DoesNotFit says that so few pods of a claim find room that none is kept for them.
func (c *Claim) DoesNotFit(fit int) reason.Reason {
	all := 0
	for _, dm := range c.Demands {
		all += len(dm.Pods)
	}
	verdict := "nothing is bought for it"
	if !c.Asks {
		verdict = "none is bought for such a request"
	}
	return reason.New(reason.RequestDoesNotFit, c.About, "fit", fit, "pods", all, "verdict", verdict)
}
