package economics

import "slices"

// bin is a machine that is being filled on paper.
type bin struct {
	kind int
	free Vector
}

// bins are machines in the order in which they were opened.
type bins []bin

// fill puts up to n pods that ask for the same on the first machines that take them, and returns how many found none.
func (bs bins) fill(kinds []Kind, asks Vector, n int) int {
	for i := range bs {
		if n == 0 {
			return 0
		}
		if (asks.GPU > 0) != (kinds[bs[i].kind].Machine.GPU > 0) {
			continue
		}
		k := asks.CountIn(bs[i].free, n)
		bs[i].free = bs[i].free.Minus(asks.Times(k))
		n -= k
	}
	return n
}

// share is what a pod asks of an empty machine: the sum of its shares of CPU and memory, as cluster-autoscaler orders pods.
func share(asks, room Vector) float64 {
	return float64(asks.Milli)/float64(room.Milli) + float64(asks.MiB)/float64(room.MiB)
}

// largestFirst orders demands by their share of a machine.
func largestFirst(demands []Demand, room Vector) []Demand {
	out := slices.Clone(demands)
	slices.SortStableFunc(out, func(a, b Demand) int {
		switch x, y := share(a.Asks, room), share(b.Asks, room); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return out
}

// option is what one group could do for pods: cluster-autoscaler's estimate.
type option struct {
	kind   int
	opened bins
	placed []Demand // what it holds, in no order
	pods   int
}

// estimate fills new machines of one kind, at most most of them, as cluster-autoscaler's binpacking estimator does: pods that are alike
// follow each other, the largest first; each goes to the first machine of this estimate that takes it, then to the newest, then
// to a new one.
func estimate(kinds []Kind, kind int, demands []Demand, most int) option {
	o := option{kind: kind}
	k := &kinds[kind]
	for _, d := range largestFirst(demands, k.Room) {
		if !k.Takes(d.Asks) {
			continue
		}
		left := o.opened.fill(kinds, d.Asks, d.Count)
		for left > 0 && len(o.opened) < most {
			n := d.Asks.CountIn(k.Room, left)
			o.opened = append(o.opened, bin{kind, k.Room.Minus(d.Asks.Times(n))})
			left -= n
		}
		if placed := d.Count - left; placed > 0 {
			o.placed = append(o.placed, Demand{d.Asks, placed})
			o.pods += placed
		}
	}
	return o
}

// without are the demands less what was placed.
func without(demands, placed []Demand) []Demand {
	gone := map[Vector]int{}
	for _, p := range placed {
		gone[p.Asks] += p.Count
	}
	var out []Demand
	for _, d := range demands {
		n := min(d.Count, gone[d.Asks])
		gone[d.Asks] -= n
		if d.Count > n {
			out = append(out, Demand{d.Asks, d.Count - n})
		}
	}
	return out
}
