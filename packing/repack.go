package packing

import (
	"cmp"
	"slices"
)

// repacker looks for the cheapest few machines that hold a given small number of pods: it lists counts of machines by group that pass
// every test which pods on them would pass, and tries to pack the cheapest lists first.
type repacker struct {
	in     *instance
	worth  *prices
	groups []int   // that take one of the pods, dearest first
	kinds  []int   // that are to be packed, largest first
	have   []int   // by kind of the instance
	cuts   []cut   // tests
	left   *room   // limits, this search's machines subtracted
	count  []int   // by position in groups: the list in the making
	found  []fleet // lists that pass
	steps  int     // of listing
	better limitCost
	sack   knapsack
}

// limitCost is what a new set of machines must stay below: in cost, or in tie at equal cost.
type limitCost struct{ cost, tie int64 }

func (l limitCost) above(cost, tie int64) bool {
	return cost < l.cost || cost == l.cost && tie < l.tie
}

// cut is a test: what machines can hold of something must reach what the pods need of it.
type cut struct {
	need float64
	can  []float64 // by position in groups
	rate []float64 // by position: the most that this or a later group gives for its price
}

// fleet is a number of machines of each group.
type fleet struct {
	count     []int // by position in groups
	cost, tie int64
}

// Work of one repack: steps of listing, lists to keep, lists to try.
const (
	fleetSteps = 4_000
	fleetKeep  = 400
	fleetTries = 24
)

// repack finds machines that hold all pods of have, for less than the given cost, or returns nil. It does not change have and left.
func (r *repacker) repack(in *instance, p *prices, have []int, left *room, below limitCost, tries int) []pattern {
	r.in, r.worth, r.have, r.left, r.better = in, p, have, left, below
	r.kinds, r.groups = r.kinds[:0], r.groups[:0]
	for _, c := range in.large {
		if have[c] > 0 {
			r.kinds = append(r.kinds, c)
		}
	}
	for g := range in.groups {
		if left.machines(g, 1) > 0 && slices.ContainsFunc(r.kinds, func(c int) bool { return in.takes[c].Has(g) }) {
			r.groups = append(r.groups, g)
		}
	}
	slices.SortStableFunc(r.groups, func(a, b int) int { return cmp.Compare(in.cost[b], in.cost[a]) })
	r.cut()
	r.count = append(r.count[:0], make([]int, len(r.groups))...)
	r.found, r.steps = r.found[:0], fleetSteps
	unmet := make([]float64, len(r.cuts))
	for i, c := range r.cuts {
		unmet[i] = c.need
	}
	r.list(0, unmet, 0, 0)
	slices.SortStableFunc(r.found, func(a, b fleet) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.tie, b.tie)) })
	for i := range r.found[:min(tries, len(r.found))] {
		if patterns := r.pack(&r.found[i]); patterns != nil {
			return patterns
		}
	}
	return nil
}

// cut makes the tests: each dimension, each kind alone, and the prices of the pods.
func (r *repacker) cut() {
	in := r.in
	r.cuts = r.cuts[:0]
	add := func(need float64, can func(g int) float64) {
		c := cut{need: need, can: make([]float64, len(r.groups)), rate: make([]float64, len(r.groups)+1)}
		for i := len(r.groups) - 1; i >= 0; i-- {
			g := r.groups[i]
			c.can[i] = can(g)
			c.rate[i] = max(c.rate[i+1], c.can[i]/in.price[g])
		}
		r.cuts = append(r.cuts, c)
	}
	var price float64
	for _, c := range r.kinds {
		price += float64(float64(r.have[c]) * r.worth.pod[c])
		add(float64(r.have[c]), func(g int) float64 { return float64(in.alone(c, g)) })
	}
	for d := range in.dims {
		var need float64
		for _, c := range r.kinds {
			need += float64(float64(r.have[c]) * in.share[c*in.dims+d])
		}
		add(need, func(g int) float64 { return float64(in.offer[g*in.dims+d]) })
	}
	add(price*(1-1e-9), func(g int) float64 { return in.price[g] })
}

// list extends the list in the making by groups from position i on. unmet is what each cut still needs.
func (r *repacker) list(i int, unmet []float64, cost, tie int64) {
	if r.steps--; r.steps < 0 || len(r.found) >= fleetKeep {
		return
	}
	more := 0.0
	for j, c := range r.cuts {
		if unmet[j] > 0 {
			if c.rate[i] == 0 {
				return
			}
			more = max(more, unmet[j]/c.rate[i])
		}
	}
	if more == 0 {
		r.found = append(r.found, fleet{slices.Clone(r.count), cost, tie})
		return
	}
	if float64(cost)+more > float64(r.better.cost)*(1+1e-12) || i == len(r.groups) {
		return
	}
	g := r.groups[i]
	most := 0
	for j, c := range r.cuts {
		if unmet[j] > 0 && c.can[i] > 0 {
			most = max(most, int(unmet[j]/c.can[i])+1)
		}
	}
	most = r.left.machines(g, most)
	for most > 0 && !r.better.above(cost+int64(most)*r.in.cost[g], tie+int64(most)*r.in.tie[g]) {
		most--
	}
	rest := make([]float64, len(unmet))
	for n := most; n >= 0; n-- {
		for j, c := range r.cuts {
			rest[j] = unmet[j] - float64(float64(n)*c.can[i])
			if rest[j] < c.need*1e-12 {
				rest[j] = 0
			}
		}
		r.count[i] = n
		r.left.take(g, n)
		r.list(i+1, rest, cost+int64(n)*r.in.cost[g], tie+int64(n)*r.in.tie[g])
		r.left.take(g, -n)
		if r.steps < 0 {
			break
		}
	}
	r.count[i] = 0
}

// bin is one machine of a fleet being packed.
type bin struct {
	group int
	free  []int64
	loads []load
}

// pack puts all pods on the fleet's machines, or returns nil when it finds no way.
func (r *repacker) pack(f *fleet) []pattern {
	for way := range 3 {
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
		default:
			done = r.fillUp(bins)
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
	have := slices.Clone(r.have)
	total := 0
	for _, n := range have {
		total += n
	}
	for i := range bins {
		b := &bins[i]
		b.loads, _ = r.sack.solve(r.in, b.group, r.worth.pod, r.worth.weight, have, 0, 200)
		for _, l := range b.loads {
			have[l.kind] -= l.count
			total -= l.count
		}
	}
	return total == 0
}
