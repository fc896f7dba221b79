package packing

import (
	"math"
	"slices"
)

// expander plans as cluster-autoscaler does: in each loop it asks every group how many machines would hold which of the pending pods, by
// first fit with the largest pods first, chooses one group, adds those machines, and goes on with the rest.
type expander struct {
	name string
	// score is what the chosen group has least of. Machines are all of one group; held is by class.
	score func(p Problem, group, machines int, held []int, random float64) float64
}

var expanders = []expander{
	{"random", func(_ Problem, _, _ int, _ []int, random float64) float64 { return random }},
	{"most-pods", func(_ Problem, _, _ int, held []int, _ float64) float64 { return -float64(sum(held)) }},
	{"least-nodes", func(_ Problem, _, machines int, _ []int, _ float64) float64 { return float64(machines) }},
	{"least-waste", func(p Problem, g, machines int, held []int, _ float64) float64 {
		var waste float64
		for d := range 2 {
			var asked float64
			for c, n := range held {
				asked += float64(n) * float64(p.Classes[c].Requests[d])
			}
			waste += 1 - asked/(float64(machines)*float64(p.Groups[g].Capacity[d]))
		}
		return waste
	}},
	{"price", func(p Problem, g, machines int, held []int, _ float64) float64 { // by the cores it gives a place
		var asked float64
		for c, n := range held {
			asked += float64(n) * float64(p.Classes[c].Requests[0])
		}
		return float64(machines) * float64(p.Groups[g].Cost) / asked
	}},
}

// plan is what the expander's machines cost for all pods, and how many pods it leaves.
func (e expander) plan(p Problem) (cost int64, left int) {
	have := make([]int, len(p.Classes))
	for c := range have {
		have[c] = p.Classes[c].Count
	}
	order := make([]int, len(p.Classes))
	for c := range order {
		order[c] = c
	}
	big := p.Groups[len(p.Groups)-1].Capacity
	size := func(c int) float64 {
		r := p.Classes[c].Requests
		return float64(r[0])/float64(big[0]) + float64(r[1])/float64(big[1])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := size(b) - size(a); d != 0 {
			return int(math.Copysign(1, d))
		}
		return 0
	})
	most := make([]int, len(p.Groups))
	for g := range most {
		most[g] = p.Groups[g].Max
	}
	dice := chance(1)
	for {
		best, least, count := -1, 0.0, 0
		var taken []int
		for g := range p.Groups {
			machines, held := firstFit(p, g, have, order, most[g])
			if machines == 0 {
				continue
			}
			if s := e.score(p, g, machines, held, float64(dice.below(1<<20))); best < 0 || s < least {
				best, least, count, taken = g, s, machines, held
			}
		}
		if best < 0 {
			return cost, sum(have)
		}
		cost += int64(count) * p.Groups[best].Cost
		most[best] -= count
		for c, n := range taken {
			have[c] -= n
		}
	}
}

// firstFit is how many machines of one group hold which pods.
func firstFit(p Problem, g int, have, order []int, most int) (int, []int) {
	var free [][]int64
	held := make([]int, len(have))
	for _, c := range order {
		class := p.Classes[c]
		if !class.Groups.Has(g) || times(class.Requests, p.Groups[g].Capacity, 1) == 0 {
			continue
		}
		for i := 0; held[c] < have[c]; i++ {
			if i == len(free) {
				if i == most {
					break
				}
				free = append(free, slices.Clone(p.Groups[g].Capacity))
			}
			n := times(class.Requests, free[i], have[c]-held[c])
			for d, r := range class.Requests {
				free[i][d] -= int64(n) * r
			}
			held[c] += n
		}
	}
	return len(free), held
}
