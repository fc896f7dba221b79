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
	m := in.relax(effort)
	best, left := in.plan(&m)
	if slices.Max(best.left) > 0 {
		if d, r := scarce(in, &m.prices); d.compare(in, best, m.pod) < 0 {
			best, left = d, r
		}
		return in.answer(in.serveMore(best, &m, left, effort), best, hopeless, left)
	}
	cuts := in.cuts(&m)
	var s Solution
	s.Bound, cuts = in.prove(&m, cuts, best.cost, effort)
	improve(in, best, &m.prices, cuts, left, s.Bound, effort)
	return in.answer(s, best, hopeless, left)
}

// serveMore improves a draft that limits keep from serving everybody, and serves more pods with what that saves of the limits. The
// solution it returns has only a bound: for the pods that are served.
func (in *instance) serveMore(d *draft, m *mix, left *room, effort int) Solution {
	cuts := in.cuts(m)
	for range 4 {
		improve(in, d, &m.prices, cuts, left, 0, effort/4)
		if !d.serve(in, &m.prices, in.price, left, balanced) {
			break
		}
	}
	served := make([]int, in.kinds)
	for c, n := range in.count {
		served[c] = n - d.left[c]
	}
	var s Solution
	if of := in.part(served); of.kinds > 0 {
		only := of.relax(effort)
		s.Bound, _ = of.prove(&only, of.cuts(&only), d.cost, effort)
	}
	return s
}

// relax prices the instance's pods.
func (in *instance) relax(effort int) mix {
	if in.kinds == 0 {
		return mix{}
	}
	p := fluid(in, in.count, in.rounds(), nil)
	if in.kinds > columnKinds {
		return mix{prices: p}
	}
	return columns(in, in.count, &p, newRoom(in), effort)
}

// plan builds several drafts and returns the best and what it leaves of the limits.
func (in *instance) plan(m *mix) (*draft, *room) {
	var best *draft
	var left *room
	for how := range styles {
		for _, whole := range []bool{true, false} {
			if in.kinds > columnKinds && (whole || how != balanced) {
				continue // there is no mix to start from, and the other style is seldom better
			}
			d, r := in.empty()
			if whole {
				for _, q := range m.floor(d.left, r) {
					d.add(in, q)
				}
			}
			d.build(in, &m.prices, in.price, r, how)
			if best == nil || d.compare(in, best, m.pod) < 0 {
				best, left = d, r
			}
		}
	}
	return best, left
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
