package plan

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// loss is what the pods are worth that leave with a node.
type loss struct {
	cost     int64 // of their deletion, summed up
	priority int64 // the highest of them, counted from 1 for the least that there is; 0 where nobody leaves
}

// add counts a pod.
func (l *loss) add(p *cluster.Pod) {
	if said, ok := p.Annotations[corev1.PodDeletionCost]; ok {
		cost, _ := strconv.ParseInt(said, 10, 32) // what is no number says nothing, as in Kubernetes
		l.cost += cost
	}
	l.priority = max(l.priority, int64(p.Priority())-math.MinInt32+1)
}

// wait is how a node's timers stand.
type wait struct {
	removable time.Time // since when it could go without a break
	since     time.Time // since when its limit runs: no earlier than removable
	due       bool      // its limit is over
}

// order starts or reads the nodes' timers, starts those anew of nodes that have received pods of a drain, and sorts them into the order in which
// they may go. Those whose time has come are before those that wait, of whom the longest removable come first. Of those whose time has come that
// one is first whose pods are cheapest to lose, by the cost of their deletion, then by the highest priority; then the one that is dearest to keep,
// regular ones before spot ones; then the least used, then the longest removable, then by name. How new a node is plays no part.
func (d *removing) order(nodes []*nodeState) {
	for _, st := range nodes {
		since, known := d.m.Removable[st.Name()]
		if !known || d.received(st, since) {
			since = d.now
		}
		st.removable = since
		if !st.ready { // it has another limit, which runs from when it ceased to be Ready
			if silent := cluster.NotReadySince(st.Object).Time; silent.After(since) {
				since = silent
			}
		}
		st.since = since
		st.due = !d.now.Before(since.Add(d.limitOf(st)))
	}
	slices.SortFunc(nodes, d.goesBefore)
}

// limitOf is how long a node must have been removable before it goes.
func (d *removing) limitOf(st *nodeState) time.Duration {
	if !st.ready {
		return d.removal(st).Unready
	}
	return d.removal(st).Unneeded
}

func (d *removing) goesBefore(a, b *nodeState) int {
	switch {
	case a.due != b.due:
		if a.due {
			return -1
		}
		return 1
	case !a.due && !a.since.Equal(b.since):
		return a.since.Compare(b.since)
	}
	return cmp.Or(d.dearest(a.sight, b.sight), a.since.Compare(b.since), cmp.Compare(a.at, b.at))
}

// dearest compares nodes by what is lost with them and what they cost, and then by how much they are used: the one that is spared more is the
// first. Those of no group cost nothing.
func (d *removing) dearest(a, b *sight) int {
	if a.loss != b.loss {
		return cmp.Or(cmp.Compare(a.loss.cost, b.loss.cost), cmp.Compare(a.loss.priority, b.loss.priority))
	}
	if a.Group != b.Group {
		g, h := d.costs(a), d.costs(b)
		if dearer := cmp.Or(cmp.Compare(h.price, g.price), btoi(g.spot)-btoi(h.spot)); dearer != 0 {
			return dearer
		}
	}
	return cmp.Compare(a.used, b.used)
}

// costs is what the node costs.
func (d *removing) costs(v *sight) cost {
	if g := d.groupOf(v); g != nil {
		return cost{g.PriceUSDPerHour, g.Spot}
	}
	return cost{}
}

// cost is the price of a node, and whether it is that of a spot machine.
type cost struct {
	price float64
	spot  bool
}
