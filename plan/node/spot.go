package node

import (
	"sluice.dev/sluice/cluster"
)

// leavesSpot says of a node whether its machine may be a spot machine that is taken away: something is announced to it, or it leaves or has
// left by no doing of sluice's.
func (d *View) leavesSpot(v *Facts) bool {
	g := d.groups[v.Group]
	if g == nil || !g.Spot {
		return false
	}
	return v.noticed || !v.OnLadder && (v.Instance == nil || v.Instance.State == cluster.StateDeleting || v.Instance.Stopped())
}
