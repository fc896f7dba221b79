package packing

import "slices"

// offer is what a group would give for its money next: the content of one more machine.
type offer struct {
	lanes *lanes
	loads []load
	ratio float64 // worth of the content by the group's price; for an offer that was never made, what it cannot exceed
	made  bool
}

// build adds machines until every pod has a place or no limit allows another machine. It takes the content that is worth most for its
// money over all groups, as many times as there are pods for it, and asks a group again only when its last offer can no longer be
// kept. Pods with a place are taken from have and their machines from the room. By price, the caller can make groups dearer or cheaper
// than they are.
func build(in *instance, p *prices, price []float64, have []int, left *room, how style) []pattern {
	var patterns []pattern
	offers := make([]offer, in.groups)
	for g := range offers {
		offers[g].ratio = -1
		if left.machines(g, 1) > 0 {
			offers[g].ratio = in.promise(g, p, price, have)
		}
	}
	free := make([]int64, in.dims)
	for {
		best := -1
		for g := range offers {
			if o := &offers[g]; o.ratio > 0 && (best < 0 || o.ratio > offers[best].ratio ||
				o.ratio == offers[best].ratio && in.tie[g] < in.tie[best]) {
				best = g
			}
		}
		if best < 0 {
			return patterns
		}
		o := &offers[best]
		most := left.machines(best, Unlimited)
		if most <= 0 {
			o.ratio = -1
			continue
		}
		if n := copies(o.loads, have); o.made && n > 0 {
			n = min(n, most)
			for _, l := range o.loads {
				have[l.kind] -= n * l.count
			}
			left.take(best, n)
			loads := slices.Clone(o.loads)
			slices.SortFunc(loads, func(a, b load) int { return a.kind - b.kind })
			patterns = append(patterns, pattern{best, n, loads})
			continue
		}
		if o.lanes == nil {
			o.lanes = newLanes(in, best, p, have)
		}
		copy(free, in.machine(best))
		o.loads = o.lanes.fill(in, p, have, free, how, o.loads[:0])
		o.made = true
		o.ratio = -1
		if len(o.loads) > 0 {
			o.ratio = max(1e-9, worthOf(o.loads, p.pod)) / price[best]
		}
	}
}

// copies is how many machines can be given these loads.
func copies(loads []load, have []int) int {
	if len(loads) == 0 {
		return 0
	}
	n := Unlimited
	for _, l := range loads {
		if n = min(n, have[l.kind]/l.count); n == 0 {
			break
		}
	}
	return n
}

// promise is a ratio that no offer of the group exceeds by much: that of the kind which gains most from it. It is above zero where there
// are pods for the group, even if their price is nothing: a pod that is free beside others still needs a machine when it is alone.
func (in *instance) promise(g int, p *prices, price []float64, have []int) float64 {
	l := lanes{group: g}
	best := -1.0
	for c, n := range have {
		if n > 0 && in.takes[c].Has(g) {
			best = max(best, l.fitness(in, c, p), 1e-9)
		}
	}
	return best * in.price[g] / price[g]
}
