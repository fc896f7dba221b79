package packing

import "slices"

// dropDominated takes groups out of the instance that no plan needs: another group offers at least as much to at least the same kinds,
// costs no more, takes no more of any cap, and has machines enough for all pods it takes even if no two kinds shared one. Of equals the
// first stays. So zones and twins of one size cost nothing but their comparison here.
func (in *instance) dropDominated() {
	words := (in.kinds + 63) / 64
	kinds := make([]uint64, in.groups*words) // by group: which kinds it takes
	for c := range in.kinds {
		for g := range in.groups {
			if in.takes[c].Has(g) {
				kinds[g*words+c>>6] |= 1 << (c & 63)
			}
		}
	}
	order := make([]int, in.groups)
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case in.cost[a] != in.cost[b]:
			return int(max(-1, min(1, in.cost[a]-in.cost[b])))
		case in.tie[a] != in.tie[b]:
			return int(max(-1, min(1, in.tie[a]-in.tie[b])))
		}
		return 0
	})
	var rich []int // groups kept that always have machines enough
	keep := make([]bool, in.groups)
	for _, g := range order {
		mine := kinds[g*words : (g+1)*words]
		if slices.Max(mine) == 0 || slices.ContainsFunc(rich, func(h int) bool { return in.dominates(h, g, kinds, words) }) {
			continue
		}
		keep[g] = true
		if in.enough(g) {
			rich = append(rich, g)
		}
	}
	in.only(keep)
}

// dominates says whether group h, which costs no more, is as good as group g for all kinds that g takes.
func (in *instance) dominates(h, g int, kinds []uint64, words int) bool {
	if in.tie[h] > in.tie[g] || !fits(in.machine(g), in.machine(h)) {
		return false
	}
	n := len(in.caps)
	if !fits(in.uses[h*n:(h+1)*n], in.uses[g*n:(g+1)*n]) {
		return false
	}
	for i := range words {
		if kinds[g*words+i]&^kinds[h*words+i] != 0 {
			return false
		}
	}
	return true
}

// enough says whether the group has machines for all pods it takes.
func (in *instance) enough(g int) bool {
	if in.most[g] == Unlimited {
		return true
	}
	need := 0
	for c, n := range in.count {
		if k := in.alone(c, g); k > 0 {
			need += (n + k - 1) / k
		}
	}
	return need <= in.most[g]
}

// only keeps some groups.
func (in *instance) only(keep []bool) {
	n, caps := 0, len(in.caps)
	to := make([]int, in.groups)
	for g, k := range keep {
		to[g] = -1
		if !k {
			continue
		}
		to[g] = n
		copy(in.offer[n*in.dims:], in.machine(g))
		copy(in.inverse[n*in.dims:(n+1)*in.dims], in.inverse[g*in.dims:])
		copy(in.uses[n*caps:(n+1)*caps], in.uses[g*caps:])
		in.cost[n], in.price[n], in.tie[n], in.most[n], in.group[n] = in.cost[g], in.price[g], in.tie[g], in.most[g], in.group[g]
		n++
	}
	if n == in.groups {
		return
	}
	for _, set := range in.takes {
		for g, k := range to {
			if k < g && set.Has(g) { // k is -1, or a place that was looked at before
				set[g>>6] &^= 1 << (g & 63)
				if k >= 0 {
					set.Add(k)
				}
			}
		}
	}
	in.groups = n
	in.cost, in.price, in.tie, in.most, in.group = in.cost[:n], in.price[:n], in.tie[:n], in.most[:n], in.group[:n]
	in.offer, in.inverse, in.uses = in.offer[:n*in.dims], in.inverse[:n*in.dims], in.uses[:n*caps]
}
