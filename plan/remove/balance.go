package remove

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// balanceZones puts idle nodes whose time has come, of a group that spans zones, into the order in which they leave its zones balanced: the next
// one is of the zone that has the most machines, of several the one that came first. Nothing else tells them apart by then: all of them go unless
// a limit stops them. Other nodes keep their places.
func (d *Removal) balanceZones(nodes []*candidate) {
	due := map[*Outgoing][]int{}
	for i, st := range nodes {
		limit := d.removal(st).Unneeded
		if !st.Ready {
			limit = d.removal(st).Unready
		}
		if g := st.group; g.Spans() && st.Instance != nil && !d.Now.Before(st.since.Add(limit)) {
			due[g] = append(due[g], i)
		}
	}
	for g, places := range due {
		if len(places) < 2 {
			continue
		}
		has := d.staysIn(g)
		left := make([]*candidate, len(places))
		for i, at := range places {
			left[i] = nodes[at]
		}
		for _, at := range places {
			most := 0
			for i, st := range left {
				if has[st.Instance.Zone] > has[left[most].Instance.Zone] {
					most = i
				}
			}
			nodes[at] = left[most]
			has[nodes[at].Instance.Zone]--
			left = slices.Delete(left, most, most+1)
		}
	}
}

// staysIn counts the machines of a group in each zone without those that are on the removal ladder.
func (d *Removal) staysIn(g *Outgoing) map[string]int {
	has := g.InZones()
	for _, st := range d.removable {
		if st.Group == g.ID && st.OnLadder && st.Instance != nil && st.Instance.State != cluster.StateDeleting {
			has[st.Instance.Zone]--
		}
	}
	return has
}
