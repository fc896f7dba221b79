package packing

import (
	"cmp"
	"slices"
)

// scarce plans where limits leave somebody without a place: rank by rank from the highest, so that no pod takes the room of a more
// important one. The pods of a rank first use what machines of higher ranks have left, then add machines. Each way of pricing machines
// is tried: by what they cost, and by what they take of each cap; the one that leaves the least is the best.
func scarce(in *instance, p *prices) (*draft, *room) {
	ways := [][]float64{in.price}
	for k, has := range in.caps {
		way := make([]float64, in.groups)
		for g := range way {
			way[g] = float64(in.uses[g*len(in.caps)+k])/float64(max(1, has)) + in.price[g]*1e-12
		}
		ways = append(ways, way)
	}
	var best *draft
	var left *room
	for _, price := range ways {
		for how := range styles {
			if how != balanced && in.kinds > columnKinds {
				continue
			}
			d, r := in.empty()
			d.serve(in, p, price, r, how)
			if best == nil || d.compare(in, best, p.pod) < 0 {
				best, left = d, r
			}
		}
	}
	return best, left
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
	for _, c := range in.large {
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
