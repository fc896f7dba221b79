package remove

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
)

// cost is the price of a node, and whether it is that of a spot machine.
type cost struct {
	price float64
	spot  bool
}

// queue is the order in which nodes leave.
type queue struct {
	*node.View
	nodes     *nodes
	evictions *evictions
}

// order starts or reads the nodes' timers, and sorts the nodes into the order in which they may go. The time of a node begins anew when it
// has received a pod of a drain. How new a node is plays no part.
//
//	compared, in this order          first goes                                        scenario
//	whether its time has come        the one whose time has come
//	among those that wait: the time  the longest removable
//	cost of deletion of its pods     the cheapest to lose
//	highest priority of its pods     the least important                               cheapest-to-lose-first, negative-priority-first
//	price of its machine             the dearest to keep
//	spot                             the regular one
//	use                              the least used
//	time                             the longest removable
//	name                             the first
func (qu *queue) order(nodes []*candidate) {
	for _, st := range nodes {
		since, known := qu.Memory.Removable[st.Name()]
		if !known || qu.evictions.received(st, since) {
			since = qu.Now
		}
		st.removable = since
		if !st.Ready { // it has another limit, which runs from when it ceased to be Ready
			if silent := cluster.NotReadySince(st.Object).Time; silent.After(since) {
				since = silent
			}
		}
		st.since = since
		st.due = !qu.Now.Before(since.Add(qu.limitOf(st)))
	}
	slices.SortFunc(nodes, qu.goesBefore)
}

// limitOf is how long a node must have been removable before it goes.
//
// The group's tags may set it; it then holds for the nodes of that group alone (scenario unneeded-by-tag).
func (qu *queue) limitOf(st *candidate) time.Duration {
	if !st.Ready {
		return st.group.Removal.UnreadyTime
	}
	return st.group.Removal.UnneededTime
}

func (qu *queue) goesBefore(a, b *candidate) int {
	switch {
	case a.due != b.due:
		if a.due {
			return -1
		}
		return 1
	case !a.due && !a.since.Equal(b.since):
		return a.since.Compare(b.since)
	}
	return cmp.Or(qu.dearest(a.Facts, b.Facts), a.since.Compare(b.since), cmp.Compare(a.at, b.at))
}

// dearest compares nodes by what is lost with them and what they cost, and then by how much they are used: the one that is spared more is
// the first. Those of no group cost nothing.
func (qu *queue) dearest(a, b *node.Facts) int {
	if a.Loss != b.Loss {
		return cmp.Or(cmp.Compare(a.Loss.Cost, b.Loss.Cost), cmp.Compare(a.Loss.Priority, b.Loss.Priority))
	}
	if a.Group != b.Group {
		g, h := qu.costs(a), qu.costs(b)
		if dearer := cmp.Or(cmp.Compare(h.price, g.price), node.Btoi(g.spot)-node.Btoi(h.spot)); dearer != 0 {
			return dearer
		}
	}
	return cmp.Compare(a.Used, b.Used)
}

// costs is what the node costs.
func (qu *queue) costs(v *node.Facts) cost {
	if g := qu.GroupOf(v); g != nil {
		return cost{g.PriceUSDPerHour, g.Spot}
	}
	return cost{}
}

// idleFor is how long the node could have gone, in whole seconds.
func (qu *queue) idleFor(st *candidate) time.Duration {
	return qu.Now.Sub(st.since).Truncate(time.Second)
}

// balanceZones puts idle nodes whose time has come, of a group that spans zones, into the order in which they leave its zones balanced: the
// next one is of the zone that has the most machines, of several the one that came first. Nothing else tells them apart by then: all of
// them go unless a limit stops them. Other nodes keep their places.
// See scenario zone-removal-balanced.
func (qu *queue) balanceZones(nodes []*candidate) {
	due := map[*Outgoing][]int{}
	for i, st := range nodes {
		if g := st.group; g.Spans() && st.Instance != nil && st.due {
			due[g] = append(due[g], i)
		}
	}
	for g, places := range due {
		if len(places) < 2 {
			continue
		}
		has := qu.staysIn(g)
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

// staysIn counts the machines of a group in each zone without those whose nodes are cordoned.
func (qu *queue) staysIn(g *Outgoing) map[string]int {
	has := g.InZones()
	for _, st := range qu.nodes.removable {
		if st.Group == g.ID && st.Leaves && st.Instance != nil && st.Instance.State != cluster.StateDeleting {
			has[st.Instance.Zone]--
		}
	}
	return has
}
