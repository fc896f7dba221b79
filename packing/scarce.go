package packing

import (
	"cmp"
	"slices"
)

// scarce plans where limits leave somebody without a place: rank by rank from the highest, so that no pod takes the room of a more
// important one. The pods of a rank first use what machines of higher ranks have left, then add machines. Each way of pricing machines
// is tried: by what they cost, by how many they are, and by what they take of each cap; the one that leaves the least is the best.
func scarce(in *instance, p *prices) (*draft, *room) {
	ways := [][]float64{in.price, slices.Repeat([]float64{1}, in.groups)}
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
	for _, c := range in.large {
		for i := 0; i < len(d.patterns) && have[c] > 0; i++ {
			q := &d.patterns[i]
			if !in.takes[c].Has(q.group) {
				continue
			}
			free := slices.Clone(in.machine(q.group))
			already := 0
			for _, l := range q.loads {
				for j, r := range in.requests(l.kind) {
					free[j] -= int64(l.count) * r
				}
				if l.kind == c {
					already = l.count
				}
			}
			n := times(in.requests(c), free, min(have[c], in.per[c]-already))
			if n <= 0 {
				continue
			}
			full := min(q.count, have[c]/n) // machines that get n each; a machine that gets fewer comes round by itself
			have[c] -= n * full
			if full < q.count { // the others stay as they are, and are looked at next
				rest := pattern{q.group, q.count - full, q.loads}
				d.patterns = slices.Insert(d.patterns, i+1, rest)
				q = &d.patterns[i]
			}
			q.count = full
			q.loads = plus(q.loads, load{c, n})
		}
	}
}

// plus is loads with one more, which may be of a kind that is among them.
func plus(loads []load, more load) []load {
	loads = slices.Clone(loads)
	i, there := slices.BinarySearchFunc(loads, more.kind, func(l load, kind int) int { return cmp.Compare(l.kind, kind) })
	if there {
		loads[i].count += more.count
		return loads
	}
	return slices.Insert(loads, i, more)
}
