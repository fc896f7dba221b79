package packing

import (
	"math"
	"slices"
)

// Work of [instance.prove]: steps of a search for the cheapest fleet, which is not worth it for many kinds on many machines; fleets to
// refute, and up to how many kinds and machines.
const (
	proofSteps    = 20_000
	proofKinds    = 8
	proofMachines = 48
	refuteFleets  = 16
	refuteKinds   = 24
	refuteSize    = 24
)

// prove is a cost that no plan for all pods of the instance is below, where a plan for them costs so much: the relaxed problem's, with
// tolls where limits bind, or more where machines are few and the cheapest whole numbers of them that pass all cuts cost more. When the
// cheapest fleet that passes cannot hold the pods even if parts of machines could be packed differently, the prices that show it are a new
// cut; cuts that are found so are returned with the others.
func (in *instance) prove(m *mix, cuts []cut, cost int64, effort int) (int64, []cut) {
	bound := in.reach(m.total)
	if t := in.tolls(cost); t != nil && bound < cost {
		bound = max(bound, in.reach(fluid(in, in.count, fluidTolls*in.rounds(), t).total))
	}
	if bound >= cost || in.kinds > columnKinds {
		return min(bound, cost), cuts
	}
	if in.kinds > proofKinds && float64(bound) > proofMachines*slices.Max(in.price) {
		return bound, cuts
	}
	var f fleets
	var sack knapsack
	for range refuteFleets * effort / defaultEffort {
		steps := int(proofSteps * gain(cost, bound) * float64(effort) / defaultEffort)
		f.search(in, cuts, in.order.large, in.count, newRoom(in), below{cost, math.MinInt64}, true, steps)
		least := min(float64(cost), f.open)
		if len(f.found) > 0 {
			least = min(least, float64(f.found[0].cost))
		}
		bound = max(bound, in.reach(least))
		if bound >= cost || len(f.found) == 0 || in.kinds > refuteKinds {
			break
		}
		fleet, machines := newRoom(in), 0
		clear(fleet.most)
		for i, n := range f.found[0].count {
			fleet.most[f.groups[i]] = n
			machines += n
		}
		if machines > refuteSize {
			break
		}
		only := columns(in, in.count, &m.prices, fleet, effort)
		if only.total <= float64(f.found[0].cost)*(1+1e-6) {
			break
		}
		cuts = append(cuts, in.cutOf(&only.prices, &sack))
	}
	return min(cost, bound), cuts
}

// gain is how much work is worth doing between a cost and a bound: all of it, 1, from 2 % on.
func gain(cost, bound int64) float64 {
	return min(1, 50*float64(cost-bound)/float64(max(1, bound)))
}

// reach is the least sum of costs that is not below a bound: costs are multiples of their greatest common divisor. It forgives the
// bound what floating point may have added to it.
func (in *instance) reach(bound float64) int64 {
	var step int64
	for _, c := range in.cost {
		for a, b := step, c; ; a, b = b%a, a {
			if a == 0 {
				step = b
				break
			}
		}
	}
	return step * int64(math.Ceil(bound*(1-1e-9)/float64(step)-1e-9))
}
