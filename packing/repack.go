package packing

import (
	"cmp"
	"slices"
)

// repacker looks for the cheapest few machines that hold a given small number of pods: of the fleets that pass all cuts, it tries to
// pack the cheapest first.
type repacker struct {
	in    *instance
	worth *prices
	cuts  []cut
	kinds []int // that are to be packed, largest first
	have  []int // by kind of the instance
	fleets
	sack knapsack
	try  exact
}

// Work of one repack: steps of the search for fleets, and fleets to try; machines of a fleet that is packed by trying all ways, and steps
// for that.
const (
	exactBins  = 8
	exactSteps = 1_000
	fleetSteps = 3_000
	fleetTries = 24
)

// repack finds machines that hold have of the kinds and stay under a cost, or returns nil. It changes left only in between.
func (r *repacker) repack(have []int, left *room, under below, tries int) []pattern {
	r.have = have
	r.search(r.in, r.cuts, r.kinds, have, left, under, false, tries*fleetSteps/fleetTries)
	for i := range r.found[:min(tries, len(r.found))] {
		if patterns := r.pack(&r.found[i]); patterns != nil {
			return patterns
		}
	}
	return nil
}

// bin is one machine of a fleet being packed.
type bin struct {
	group int
	free  []int64
	loads []load
}

// pack puts all pods on the fleet's machines, or returns nil when it finds no way.
func (r *repacker) pack(f *fleet) []pattern {
	for way := range 4 {
		var bins []bin
		for i := len(r.groups) - 1; i >= 0; i-- { // the cheapest first
			for range f.count[i] {
				bins = append(bins, bin{group: r.groups[i], free: slices.Clone(r.in.machine(r.groups[i]))})
			}
		}
		done := false
		switch way {
		case 0:
			done = r.bestFit(bins, r.kinds)
		case 1:
			done = r.bestFit(bins, r.byWorth())
		case 2:
			done = r.fillUp(bins)
		default:
			done = len(bins) <= exactBins && r.try.solve(r.in, r.kinds, r.have, bins, exactSteps)
			r.work -= (exactSteps - r.try.steps) * r.in.dims
		}
		if !done {
			continue
		}
		patterns := make([]pattern, 0, len(bins))
		for _, b := range bins {
			if len(b.loads) > 0 {
				slices.SortFunc(b.loads, func(a, b load) int { return a.kind - b.kind })
				patterns = append(patterns, pattern{b.group, 1, b.loads})
			}
		}
		return patterns
	}
	return nil
}

// byWorth is the kinds, those that are worth most a pod first.
func (r *repacker) byWorth() []int {
	kinds := slices.Clone(r.kinds)
	slices.SortStableFunc(kinds, func(a, b int) int { return cmp.Compare(r.worth.pod[b], r.worth.pod[a]) })
	return kinds
}

// bestFit takes kinds in their order and puts the pods of each where the least is left.
func (r *repacker) bestFit(bins []bin, kinds []int) bool {
	in := r.in
	for _, c := range kinds {
		requests := in.requests(c)
		for n := r.have[c]; n > 0; {
			best, least := -1, 0.0
			r.work -= len(bins) * in.dims
			for i := range bins {
				b := &bins[i]
				if !in.takes[c].Has(b.group) || !fits(requests, b.free) || len(b.loads) > 0 && b.loads[len(b.loads)-1].kind == c {
					continue
				}
				var slack float64
				for d, f := range b.free {
					j := b.group*in.dims + d
					slack += float64((r.worth.weight[j]+0.05)*float64(f-requests[d])) * in.inverse[j]
				}
				if slack *= in.price[b.group]; best < 0 || slack < least {
					best, least = i, slack
				}
			}
			if best < 0 {
				return false
			}
			b := &bins[best]
			k := times(requests, b.free, min(n, in.per[c]))
			for d, q := range requests {
				b.free[d] -= int64(k) * q
			}
			b.loads = append(b.loads, load{c, k})
			n -= k
		}
	}
	return true
}

// fillUp takes machines in their order and gives each the content that is worth most.
func (r *repacker) fillUp(bins []bin) bool {
	total := 0
	for _, c := range r.kinds {
		total += r.have[c]
	}
	before := make([]int, len(r.kinds))
	for i, c := range r.kinds {
		before[i] = r.have[c]
	}
	for i := range bins {
		b := &bins[i]
		b.loads, _ = r.sack.solve(r.in, b.group, r.kinds, r.worth.pod, r.worth.weight, r.have, 0, 200)
		r.work -= (200 - r.sack.steps) * 8
		for _, l := range b.loads {
			r.have[l.kind] -= l.count
			total -= l.count
		}
	}
	for i, c := range r.kinds {
		r.have[c] = before[i]
	}
	return total == 0
}
