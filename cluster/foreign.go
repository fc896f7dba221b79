package cluster

import "sluice.dev/sluice/fleet"

// Foreign counts machines of the group that may be another cluster's, by the ledger of machines: they are no node here, whatever else they
// do; no machine of the group was ever known as one; and no growth of sluice's made them. One that failed, says the cloud, may be at work
// for another cluster.
func (g *Group) Foreign(v *fleet.View) int {
	if g.Joined {
		return 0
	}
	n := 0
	for _, in := range g.Instances {
		if in.Node == "" && in.State != StateDeleting && !v.Own(fleet.GroupID(g.ID), fleet.UID(in.UID)) {
			n++
		}
	}
	return n
}
