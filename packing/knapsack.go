package packing

import (
	"cmp"
	"math"
	"slices"
)

// knapsack looks for the content of one machine that is worth most. It branches over the number of pods of each kind, those that are
// worth most for what they take first, and cuts off what cannot beat the best so far: in each dimension, and in a mix of them, the
// rest of the machine is worth at most its size times the best worth by size of the kinds to come.
type knapsack struct {
	in    *instance
	group int
	kinds []int // that may come, best first

	views int       // dims, and the mix
	size  []float64 // kinds x views: what a pod takes of the machine
	rate  []float64 // kinds x views: the best worth by size from this kind on
	worth []float64 // by position in kinds
	most  []int     // by position: pods of the kind on one machine

	free  []int64 // of the machine, by dimension
	empty []float64
	put   []int // by position
	best  []int
	value float64 // of the best content
	upper float64 // of content that was not looked at for want of steps
	steps int
}

// solve finds content worth more than floor and returns it, nil when there is none, and a worth that no content exceeds: at least floor.
// Only the given kinds may come, and have bounds their pods. It takes at most so many steps; with fewer than needed, the content may not be
// the best.
func (k *knapsack) solve(in *instance, g int, kinds []int, worth, weight []float64, have []int, floor float64, steps int) ([]load, float64) {
	k.in, k.group, k.views = in, g, in.dims+1
	inverse := in.inverse[g*in.dims : (g+1)*in.dims]
	weight = weight[g*in.dims : (g+1)*in.dims]
	type item struct {
		kind int
		rate float64
	}
	items := make([]item, 0, len(kinds))
	var gift float64 // of kinds that take nothing
	var gifts []load
	for _, c := range kinds {
		n := have[c]
		if n == 0 || worth[c] <= 0 || !in.takes[c].Has(g) {
			continue
		}
		var mix float64
		for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
			mix += float64(r*inverse[d]) * weight[d]
		}
		if mix == 0 {
			n = min(n, in.per[c])
			gift += float64(float64(n) * worth[c])
			gifts = append(gifts, load{c, n})
			continue
		}
		items = append(items, item{c, worth[c] / mix})
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(b.rate, a.rate) })
	n := len(items)
	k.kinds, k.worth, k.most = make([]int, n), make([]float64, n), make([]int, n)
	k.size, k.rate = make([]float64, n*k.views), make([]float64, (n+1)*k.views)
	for i, it := range items {
		c := it.kind
		k.kinds[i], k.worth[i] = c, worth[c]
		k.most[i] = times(in.requests(c), in.machine(g), min(in.per[c], have[c]))
		var mix float64
		for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
			k.size[i*k.views+d] = float64(r * inverse[d])
			mix += float64(r*inverse[d]) * weight[d]
		}
		k.size[i*k.views+in.dims] = mix
	}
	for i := n - 1; i >= 0; i-- {
		for v := range k.views {
			r := k.rate[(i+1)*k.views+v]
			if s := k.size[i*k.views+v]; s > 0 {
				r = max(r, k.worth[i]/s)
			} else {
				r = math.Inf(1)
			}
			k.rate[i*k.views+v] = r
		}
	}
	k.free = append(k.free[:0], in.machine(g)...)
	k.empty = make([]float64, k.views*(n+1))
	for v := range k.views {
		k.empty[v] = 1
	}
	k.put, k.best = make([]int, n), nil
	k.value, k.upper, k.steps = max(0, floor-gift)*(1+1e-9), 0, steps
	k.branch(0, 0)
	upper := (max(k.value, k.upper) + gift) * (1 + 1e-9)
	if k.best == nil {
		if gift > floor {
			return gifts, upper
		}
		return nil, upper
	}
	loads := gifts
	for i, n := range k.best {
		if n > 0 {
			loads = append(loads, load{k.kinds[i], n})
		}
	}
	slices.SortFunc(loads, func(a, b load) int { return a.kind - b.kind })
	return loads, upper
}

// branch decides about the kinds from position i on; value is what was put in before.
func (k *knapsack) branch(i int, value float64) {
	if value > k.value {
		k.value = value
		k.best = slices.Clone(k.put)
	}
	d := k.in.dims
	for ; i < len(k.kinds); i++ {
		rest := math.Inf(1)
		for v := range k.views {
			if r := k.rate[i*k.views+v]; r < math.Inf(1) { // else a pod to come takes nothing of this dimension
				rest = min(rest, float64(k.empty[i*k.views+v]*r))
			}
		}
		if value+rest <= k.value {
			return
		}
		if k.steps <= 0 {
			k.upper = max(k.upper, value+rest)
			return
		}
		k.steps--
		requests := k.in.req[k.kinds[i]*d : (k.kinds[i]+1)*d]
		copy(k.empty[(i+1)*k.views:(i+2)*k.views], k.empty[i*k.views:(i+1)*k.views])
		n := times(requests, k.free, k.most[i])
		if n == 0 {
			continue
		}
		for j, r := range requests {
			k.free[j] -= int64(n) * r
		}
		for ; n > 0; n-- {
			for v := range k.views {
				k.empty[(i+1)*k.views+v] = max(0, k.empty[i*k.views+v]-float64(float64(n)*k.size[i*k.views+v]))
			}
			k.put[i] = n
			k.branch(i+1, value+float64(float64(n)*k.worth[i]))
			for j, r := range requests {
				k.free[j] += r
			}
		}
		k.put[i] = 0
		copy(k.empty[(i+1)*k.views:(i+2)*k.views], k.empty[i*k.views:(i+1)*k.views])
	}
}
