package grow

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// assumed are prices in USD an hour of groups that have none, by group: what others cost that have as much. They decide between groups and
// are never told as cost, nor counted for ceilings. It is nil when all groups have a price, and when no group of the cluster has one.
type assumed map[cluster.GroupID]float64

// assumePrices assumes prices for those of the groups that have none, and says so of them (scenario price-unknown). Groups with the same
// kinds of devices are compared first, then all. The dearest of them decides. An assumption that is too high lets what is known to be cheap
// be bought first.
func (o *Orders) assumePrices(groups []*Order) assumed {
	var out assumed
	for _, st := range groups {
		if st.PriceUSDPerHour > 0 {
			continue
		}
		price, by := o.asMuch(st, func(g *cluster.Group) bool { return sameKinds(st.Template, g.Template) })
		if price == 0 {
			price, by = o.asMuch(st, func(*cluster.Group) bool { return true })
		}
		if price == 0 {
			return nil
		}
		if out == nil {
			out = assumed{}
		}
		out[st.ID] = price
		st.Assumed = new(reason.New(reason.PriceAssumed, reason.Group(string(st.ID)), "price", Dollars(price), "group", by))
	}
	return out
}

// asMuch is what so many machines of another group cost as have as much of everything as one of this group, by the dearest group that is
// like; 0 when there is none. The number of machines may be a fraction. A device that the other group lacks counts by its weight.
func (o *Orders) asMuch(st *Order, like func(*cluster.Group) bool) (price float64, of cluster.GroupID) {
	for _, g := range o.Snapshot.Groups {
		if g.PriceUSDPerHour <= 0 || g.Template == nil || place.Weight(g.Template.Status.Allocatable) == 0 || !like(g) {
			continue
		}
		machines := place.Weight(st.Template.Status.Allocatable) / place.Weight(g.Template.Status.Allocatable) // tells devices that the other has none of
		for name, has := range st.Template.Status.Allocatable {
			if each := g.Template.Status.Allocatable[name]; !each.IsZero() && counts(name) {
				machines = max(machines, has.AsApproximateFloat64()/each.AsApproximateFloat64())
			}
		}
		if p := machines * g.PriceUSDPerHour; p > price {
			price, of = p, g.ID
		}
	}
	return price, of
}

// sameKinds says whether machines have the same devices and the like, in whatever number.
func sameKinds(a, b *corev1.Node) bool {
	kinds := func(n *corev1.Node) []corev1.ResourceName {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(n.Status.Allocatable)), func(name corev1.ResourceName) bool { return !counts(name) })
	}
	return slices.Equal(kinds(a), kinds(b))
}

// counts says whether a machine is paid for by how much it has of the resource.
func counts(name corev1.ResourceName) bool {
	return name != corev1.ResourceEphemeralStorage && name != corev1.ResourcePods
}

// price is what a machine of the group costs in USD an hour, by the list or assumed; 0 where nothing is known.
func (b *mix) price(st *Order) float64 {
	if p := b.assumed[st.ID]; p > 0 {
		return p
	}
	return st.PriceUSDPerHour
}
