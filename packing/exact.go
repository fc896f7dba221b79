package packing

// exact looks for a way to put pods on machines by trying all there are, machine by machine: each gets the largest contents first, and none
// that leaves room for a pod that is still without a place, since a pod may always move from a later machine to an earlier one. It gives up
// where what is left cannot fit what is left of the machines, in any dimension or for want of a machine that takes it, and when its steps
// are done.
type exact struct {
	in    *instance
	kinds []int // largest first
	have  []int // by position in kinds: pods without a place
	bins  []bin
	rest  []int64 // (bins + 1) x dims: what the machines from this one on offer
	asked []int64 // by dimension: by pods without a place
	steps int
}

// solve fills the bins, which have to be empty, and says whether all pods found a place. It takes so many steps at most and leaves in steps
// how many it did not take. On failure the bins hold what they may.
func (x *exact) solve(in *instance, kinds, have []int, bins []bin, steps int) bool {
	x.in, x.kinds, x.bins, x.steps = in, kinds, bins, steps
	x.have = x.have[:0]
	x.asked = append(x.asked[:0], make([]int64, in.dims)...)
	for _, c := range kinds {
		x.have = append(x.have, have[c])
		for d, r := range in.requests(c) {
			x.asked[d] += int64(have[c]) * r
		}
	}
	x.rest = append(x.rest[:0], make([]int64, (len(bins)+1)*in.dims)...)
	for b := len(bins) - 1; b >= 0; b-- {
		for d, n := range bins[b].free {
			x.rest[b*in.dims+d] = x.rest[(b+1)*in.dims+d] + n
		}
		bins[b].loads = nil
	}
	return x.from(0)
}

// from fills the machines from this one on.
func (x *exact) from(b int) bool {
	left := false
	for i, n := range x.have {
		if n > 0 {
			left = true
			if !x.taken(i, b) {
				return false
			}
		}
	}
	if !left {
		return true
	}
	return b < len(x.bins) && fits(x.asked, x.rest[b*x.in.dims:(b+1)*x.in.dims]) && x.fill(b, 0)
}

// taken says whether a machine from this one on takes the kind.
func (x *exact) taken(i, b int) bool {
	for ; b < len(x.bins); b++ {
		if x.in.takes[x.kinds[i]].Has(x.bins[b].group) {
			return true
		}
	}
	return false
}

// fill decides about the kinds from position i on for one machine, then about the machines behind it.
func (x *exact) fill(b, i int) bool {
	bin := &x.bins[b]
	if i == len(x.kinds) {
		return x.full(b) && x.from(b+1)
	}
	if x.steps--; x.steps < 0 {
		return false
	}
	c := x.kinds[i]
	requests := x.in.requests(c)
	most := 0
	if x.in.takes[c].Has(bin.group) {
		most = times(requests, bin.free, min(x.have[i], x.in.per[c]))
	}
	if most == 0 {
		return x.fill(b, i+1)
	}
	for n := most; n >= 0; n-- {
		x.put(b, i, n)
		if x.fill(b, i+1) {
			return true
		}
		x.put(b, i, -n)
	}
	return false
}

// put moves n pods of a kind onto a machine, or back.
func (x *exact) put(b, i, n int) {
	if n == 0 {
		return
	}
	bin := &x.bins[b]
	x.have[i] -= n
	for d, r := range x.in.requests(x.kinds[i]) {
		bin.free[d] -= int64(n) * r
		x.asked[d] -= int64(n) * r
	}
	if n > 0 {
		bin.loads = append(bin.loads, load{x.kinds[i], n})
	} else {
		bin.loads = bin.loads[:len(bin.loads)-1]
	}
}

// full says whether no pod without a place fits the machine any more.
func (x *exact) full(b int) bool {
	bin := &x.bins[b]
	for i, n := range x.have {
		c := x.kinds[i]
		if n == 0 || !x.in.takes[c].Has(bin.group) || !fits(x.in.requests(c), bin.free) {
			continue
		}
		already := 0
		for _, l := range bin.loads {
			if l.kind == c {
				already = l.count
			}
		}
		if already < x.in.per[c] {
			return false
		}
	}
	return true
}
