package packing

import (
	"cmp"
	"slices"
)

// improve takes some machines of the draft apart and looks for cheaper ones that hold the same pods, again and again: those that cost
// most beyond the worth of what they hold, and others with them. It stops when nothing dearer than the bound is left or after so many
// rounds.
func improve(in *instance, d *draft, p *prices, left *room, bound int64, rounds int) {
	var r repacker
	chance := uint64(0x9e3779b97f4a7c15)
	next := func(n int) int { // splitmix64: the same numbers every time
		chance += 0x9e3779b97f4a7c15
		z := chance
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb
		return int((z ^ (z >> 31)) % uint64(n))
	}
	have := make([]int, in.kinds)
	d.bySlack(in, p)
	for round := 0; round < rounds && d.cost > bound && len(d.patterns) > 0; round++ {
		// The first of each sweep over the worst machines is certain, its company is drawn, the worse the likelier.
		size := 2 + round%4
		picked := map[int]int{} // pattern -> machines of it
		var order []int
		pick := func(i int) {
			if picked[i] < d.patterns[i].count {
				if picked[i] == 0 {
					order = append(order, i)
				}
				picked[i]++
			}
		}
		n := len(d.patterns)
		pick(round / 4 % n)
		for range size - 1 {
			pick(min(next(n), next(n)))
		}
		clear(have)
		below := limitCost{}
		for _, i := range order {
			q := d.patterns[i]
			k := picked[i]
			below.cost += int64(k) * in.cost[q.group]
			below.tie += int64(k) * in.tie[q.group]
			left.take(q.group, -k)
			for _, l := range q.loads {
				have[l.kind] += k * l.count
			}
		}
		fresh := r.repack(in, p, have, left, below, fleetTries)
		if fresh == nil {
			for _, i := range order {
				left.take(d.patterns[i].group, picked[i])
			}
			continue
		}
		for _, i := range order {
			d.patterns[i].count -= picked[i]
		}
		d.cost -= below.cost
		d.tie -= below.tie
		for _, q := range fresh {
			left.take(q.group, q.count)
			d.add(in, q)
		}
		d.patterns = slices.DeleteFunc(d.patterns, func(q pattern) bool { return q.count == 0 })
		d.bySlack(in, p)
	}
}

// bySlack sorts patterns by what a machine costs beyond the worth of what it holds, the most first, and joins equal ones.
func (d *draft) bySlack(in *instance, p *prices) {
	type rated struct {
		pattern
		slack float64
	}
	all := make([]rated, len(d.patterns))
	for i, q := range d.patterns {
		all[i] = rated{q, in.price[q.group] - worthOf(q.loads, p.pod)}
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Compare(b.slack, a.slack) })
	for i, q := range all {
		d.patterns[i] = q.pattern
	}
}

// rounds is how often [improve] tries: less often where a try is more work.
func rounds(in *instance, effort int) int {
	return min(200, 100_000/(in.kinds*in.kinds)) * effort / 100
}
