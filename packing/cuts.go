package packing

import (
	"cmp"
	"slices"
)

// cut is a test that machines must pass to hold pods, whichever way they are packed: each pod brings a number, and no machine of a
// group can hold pods that bring more than so much.
type cut struct {
	brings []float64 // by kind
	holds  []float64 // by group
}

// Limits on the number of cuts: the kinds up to which thresholds are tested, and the steps of a knapsack for one.
const (
	cutKinds = 32
	cutSteps = 300
)

// cuts are tests that all plans pass: each dimension; for each dimension the number of pods that ask for at least so
// much of it; and the prices of the given mix, with what machines can really hold of them. Any of them is worth having where pods are
// large and machines few. A search adds those of each kind alone.
func (in *instance) cuts(m *mix) []cut {
	var all []cut
	for d := range in.dims {
		c := cut{brings: make([]float64, in.kinds), holds: make([]float64, in.groups)}
		for k := range c.brings {
			c.brings[k] = in.share[k*in.dims+d]
		}
		for g := range c.holds {
			c.holds[g] = float64(in.offer[g*in.dims+d])
		}
		all = append(all, c)
	}
	var sack knapsack
	if in.kinds <= cutKinds {
		all = in.thresholds(all, &sack, m.weight)
	}
	if len(m.columns) == 0 {
		return append(all, cut{brings: m.pod, holds: in.price})
	}
	return append(all, in.cutOf(&m.prices, &sack))
}

// thresholds appends the cuts that count the pods which ask for at least so much of one dimension.
func (in *instance) thresholds(all []cut, sack *knapsack, weight []float64) []cut {
	order := make([]int, in.kinds)
	for d := range in.dims {
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(in.req[b*in.dims+d], in.req[a*in.dims+d]) })
		brings := make([]float64, in.kinds)
		for i, k := range order {
			brings[k] = 1
			last := i == len(order)-1
			if i == 0 || !last && in.req[k*in.dims+d] == in.req[order[i+1]*in.dims+d] || d > 0 && last {
				continue // one kind alone, in the middle of equals, or everybody once more
			}
			c := cut{brings: slices.Clone(brings), holds: make([]float64, in.groups)}
			for g := range c.holds {
				_, upper := sack.solve(in, g, in.order.large, brings, weight, in.count, 0, cutSteps)
				c.holds[g] = float64(int64(upper + 1e-6))
			}
			all = append(all, c)
		}
	}
	return all
}

// cutOf is the cut of the prices: what the pods on one machine can be worth.
func (in *instance) cutOf(p *prices, sack *knapsack) cut {
	c := cut{brings: p.pod, holds: make([]float64, in.groups)}
	for g := range c.holds {
		_, c.holds[g] = sack.solve(in, g, in.order.large, p.pod, p.weight, in.count, 0, knapsackSteps)
	}
	return c
}
