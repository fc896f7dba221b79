package packing

import (
	"math"
	"slices"
)

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
	best, left, short := in.plan(&m)
	if short {
		if d, r := scarce(in, &m.prices); d.compare(in, best, m.pod) < 0 {
			best, left = d, r
		}
	}
	if slices.Max(best.left) > 0 && in.kinds <= refuteKinds {
		if d, r := in.anyhow(&m); d != nil {
			best, left = d, r
		}
	}
	if slices.Max(best.left) > 0 {
		return in.answer(in.serveMore(best, &m, left, effort), best, hopeless, left)
	}
	cuts := in.cuts(&m)
	var s Solution
	s.Bound, cuts = in.prove(&m, cuts, best.cost, effort)
	improve(in, best, &m.prices, cuts, left, s.Bound, effort)
	return in.answer(s, best, hopeless, left)
}

// Bound is a cost that no plan for all pods of the problem is below, where one costs so much; it is at most that. Pods that no group takes
// are left out of account. It takes less than [Solve], whose solutions have a bound of their own.
func Bound(p Problem, cost int64) int64 {
	in, _ := compact(&p)
	if in.kinds == 0 {
		return 0
	}
	effort := p.Effort
	if effort <= 0 {
		effort = defaultEffort
	}
	m := in.relax(effort)
	bound, _ := in.prove(&m, in.cuts(&m), cost, effort)
	return bound
}

// anyhow looks for machines within the limits that hold all pods, whatever they cost; nil when it finds none. It tries few machines.
func (in *instance) anyhow(m *mix) (*draft, *room) {
	d, left := in.empty()
	r := repacker{in: in, worth: &m.prices, cuts: in.cuts(m), kinds: in.order.large}
	patterns := r.repack(in.count, left, below{math.MaxInt64 / 2, 0}, wholeTries)
	if patterns == nil {
		return nil, nil
	}
	clear(d.left)
	for _, q := range patterns {
		left.take(q.group, q.count)
		d.add(in, q)
	}
	return d, left
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

// plan builds several drafts and returns the best and what it leaves of the limits. It says whether limits keep machines that are chosen by
// their price alone from serving everybody.
func (in *instance) plan(m *mix) (best *draft, left *room, short bool) {
	try := func(price []float64, how style, whole bool) {
		d, r := in.empty()
		if whole {
			for _, q := range m.floor(d.left, r) {
				d.add(in, q)
			}
		}
		d.build(in, &m.prices, price, r, how)
		if best == nil || d.compare(in, best, m.pod) < 0 {
			best, left = d, r
		}
	}
	for _, extra := range extras {
		price := in.dearer(extra)
		if in.kinds > columnKinds { // there is no mix to start from, and the other style is seldom better
			try(price, balanced, false)
		} else {
			for how := range styles {
				try(price, how, false)
				if extra == 0 {
					try(price, how, true)
				}
			}
		}
		short = short || extra == 0 && slices.Max(best.left) > 0
	}
	return best, left, short
}

// extras are what [instance.plan] adds to each machine's price when it builds a draft, in mean prices of a machine: the more, the fewer and
// larger machines it has. Where many kinds share machines those are the ones that are filled best.
var extras = []float64{0, 0.5, 1}

// dearer prices machines by what they cost and so many mean prices more.
func (in *instance) dearer(extra float64) []float64 {
	var sum float64
	for _, x := range in.price {
		sum += x
	}
	price := slices.Clone(in.price)
	for g := range price {
		price[g] += float64(extra * sum / float64(in.groups))
	}
	return price
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
