package packing

import "math"

// proof is a cost that nothing which serves so many pods of each kind is below.
func (in *instance) proof(served []int, effort int) float64 {
	sub, _ := in.part(served)
	if sub.kinds == 0 {
		return 0
	}
	p := fluid(sub, sub.count, fluidRounds)
	if sub.kinds <= columnKinds {
		p = columns(sub, sub.count, &p, newRoom(sub), effort).prices
	}
	return p.total
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
