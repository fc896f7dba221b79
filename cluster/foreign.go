package cluster

// Foreign counts machines of the group that may be another cluster's: they are no node here, whatever else they do; no machine of the group was ever known
// as one; and they are more than the so many that sluice has asked for. One that failed, says the cloud, may be at work for another cluster.
func (g *Group) Foreign(asked int) int {
	if g.Joined {
		return 0
	}
	n := 0
	for _, in := range g.Instances {
		if in.Node == "" && in.State != StateDeleting {
			n++
		}
	}
	return max(0, n-asked)
}
