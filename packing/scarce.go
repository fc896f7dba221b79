package packing

import (
	"cmp"
	"slices"
)

// halvings is how many times [scarce] halves the distance between two ways of pricing machines.
const halvings = 5

// scarce plans where limits leave somebody without a place: rank by rank from the highest, so that no pod takes the room of a more
// important one. The pods of a rank first use what machines of higher ranks have left, then add machines. Several ways of pricing machines
// are tried: by what they cost; for each cap that could bind, by what they take of it; mixes of both, to find the one that gives the cap no
// more weight than it needs; and, since a mix often wants all machines of one size or all of another, some of the cap used in the one way
// and the rest in the other. The plan that leaves the least is the best, and of those the cheapest.
func scarce(in *instance, p *prices) (*draft, *room) {
	var best *draft
	var left *room
	// try plans by one way of pricing for a part of the cap, then by another.
	try := func(first []float64, k int, part float64, then []float64) (d *draft) {
		for how := range styles {
			if how != balanced && in.kinds > columnKinds {
				continue
			}
			e, r := in.empty()
			if part > 0 {
				some := newRoom(in)
				some.caps[k] = int64(part * float64(some.caps[k]))
				e.serve(in, p, first, some, how)
				for _, q := range e.patterns {
					r.take(q.group, q.count)
				}
			}
			e.serve(in, p, then, r, how)
			if d == nil || e.compare(in, d, p.pod) < 0 {
				d = e
			}
			if best == nil || e.compare(in, best, p.pod) < 0 {
				best, left = e, r
			}
		}
		return d
	}
	cheap := try(nil, 0, 0, in.price)
	for _, row := range in.limits(in.count, newRoom(in)).rows {
		k := row.cap
		if k < 0 {
			continue
		}
		most := try(nil, 0, 0, in.mixed(cheap, k, 1))
		serves := func(d *draft) bool { return compareLeft(in, d.left, most.left, p.pod) <= 0 }
		halve(func(mid float64) bool { return serves(try(nil, 0, 0, in.mixed(cheap, k, mid))) })
		halve(func(part float64) bool { return serves(try(in.mixed(cheap, k, 1), k, part, in.price)) })
	}
	return best, left
}

// halve looks for where between 0 and 1 something begins to be enough, which it is at 1.
func halve(enough func(at float64) bool) {
	low, high := 0.0, 1.0
	for range halvings {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
}

// mixed prices machines by what they cost and, to the given part, by what they take of a cap; either is counted as a share of what the
// draft's machines have of it.
func (in *instance) mixed(d *draft, k int, part float64) []float64 {
	var cost, used float64
	for _, q := range d.patterns {
		cost += float64(float64(q.count) * in.price[q.group])
		used += float64(q.count) * float64(in.uses[q.group*len(in.caps)+k])
	}
	price := make([]float64, in.groups)
	for g := range price {
		uses := float64(in.uses[g*len(in.caps)+k])
		price[g] = float64(max(1-part, 1e-9)*in.price[g])/max(1, cost) + float64(part*uses)/max(1, used)
	}
	return price
}

// serve gives pods without a place one, rank by rank from the highest: on machines that are there, then on machines it adds. It says
// whether anybody got one.
func (d *draft) serve(in *instance, p *prices, price []float64, left *room, how style) bool {
	ranks := slices.Clone(in.rank)
	slices.SortFunc(ranks, func(a, b int) int { return cmp.Compare(b, a) })
	before := slices.Clone(d.left)
	for _, rank := range slices.Compact(ranks) {
		now := make([]int, in.kinds)
		for c := range now {
			if in.rank[c] == rank {
				now[c] = d.left[c]
				d.left[c] = 0
			}
		}
		d.squeeze(in, now)
		for _, q := range build(in, p, price, now, left, how) {
			d.add(in, q)
		}
		for c, n := range now {
			d.left[c] += n
		}
	}
	return !slices.Equal(d.left, before)
}

// squeeze puts pods where the draft's machines have room for them, and takes those from have.
func (d *draft) squeeze(in *instance, have []int) {
	if slices.Max(have) == 0 {
		return
	}
	free := make([]int64, 0, len(d.patterns)*in.dims)
	for _, q := range d.patterns {
		free = append(free, in.machine(q.group)...)
		rest := free[len(free)-in.dims:]
		for _, l := range q.loads {
			for j, r := range in.requests(l.kind) {
				rest[j] -= int64(l.count) * r
			}
		}
	}
	for _, c := range in.order.large {
		requests := in.requests(c)
		for i := 0; i < len(d.patterns) && have[c] > 0; i++ {
			q := &d.patterns[i]
			rest := free[i*in.dims : (i+1)*in.dims]
			if !fits(requests, rest) || !in.takes[c].Has(q.group) {
				continue
			}
			at, there := find(q.loads, c)
			already := 0
			if there {
				already = q.loads[at].count
			}
			n := times(requests, rest, min(have[c], in.per[c]-already))
			if n <= 0 {
				continue
			}
			full := min(q.count, have[c]/n) // machines that get n each
			have[c] -= n * full
			if full < q.count { // the others stay as they are, and are looked at next
				d.patterns = slices.Insert(d.patterns, i+1, pattern{q.group, q.count - full, q.loads})
				free = slices.Insert(free, (i+1)*in.dims, slices.Clone(rest)...)
				q, rest = &d.patterns[i], free[i*in.dims:(i+1)*in.dims]
			}
			for j, r := range requests {
				rest[j] -= int64(n) * r
			}
			q.count = full
			q.loads = slices.Clone(q.loads) // other patterns may share them
			if there {
				q.loads[at].count += n
			} else {
				q.loads = slices.Insert(q.loads, at, load{c, n})
			}
		}
	}
}

// find is the place of a kind in loads, and whether it is there.
func find(loads []load, kind int) (int, bool) {
	return slices.BinarySearchFunc(loads, kind, func(l load, kind int) int { return cmp.Compare(l.kind, kind) })
}
