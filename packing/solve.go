package packing

import "slices"

// defaultEffort is the work that goes into a plan when the problem says nothing about it.
const defaultEffort = 100

// Solve chooses machines for the problem's pods: all of them where limits allow it, at the least cost it finds; else as the ranks say.
func Solve(p Problem) Solution {
	in, hopeless := compact(&p)
	if in.kinds == 0 {
		return Solution{Left: hopeless}
	}
	effort := p.Effort
	if effort <= 0 {
		effort = defaultEffort
	}
	best, left, worth := plan(in, effort)
	if slices.Max(best.left) > 0 {
		if d, r := scarce(in, &worth); d.compare(in, best, worth.pod) < 0 {
			best, left = d, r
		}
		served := make([]int, in.kinds)
		for c, n := range in.count {
			served[c] = n - best.left[c]
		}
		worth.total = in.proof(served, effort)
	}
	improve(in, best, &worth, left, in.reach(worth.total), rounds(in, effort))
	s := in.answer(best, hopeless, left)
	s.Bound = min(s.Cost, in.reach(worth.total))
	return s
}

// plan builds several drafts and returns the best, what it leaves of the limits, and the prices of pods that steered it.
func plan(in *instance, effort int) (*draft, *room, prices) {
	worth := fluid(in, in.count, fluidRounds)
	var best *draft
	var left *room
	keep := func(d *draft, r *room) {
		if best == nil || d.compare(in, best, worth.pod) < 0 {
			best, left = d, r
		}
	}
	for how := range styles {
		d, r := in.empty()
		d.build(in, &worth, in.price, r, how)
		keep(d, r)
	}
	if in.kinds <= columnKinds {
		m := columns(in, in.count, &worth, newRoom(in), effort)
		worth = m.prices
		for how := range styles {
			d, r := in.empty()
			for _, q := range m.floor(d.left, r) {
				d.add(in, q)
			}
			d.build(in, &worth, in.price, r, how)
			keep(d, r)
		}
	}
	return best, left, worth
}

// empty is a draft that has placed nobody, and all limits unused.
func (in *instance) empty() (*draft, *room) {
	return &draft{left: slices.Clone(in.count)}, newRoom(in)
}

// build adds machines for the pods that have no place.
func (d *draft) build(in *instance, p *prices, price []float64, left *room, how style) {
	for _, q := range build(in, p, price, d.left, left, how) {
		d.add(in, q)
	}
}
