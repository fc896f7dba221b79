package packing

import (
	"cmp"
	"math"
	"slices"
)

// instance is a problem made compact: dimensions that nobody asks for are gone, classes that are alike are one kind, vectors lie one
// behind the other.
type instance struct {
	dims, groups, kinds int

	req    []int64   // kinds x dims: what a pod asks for
	share  []float64 // kinds x dims: the same
	count  []int     // of pods, at least 1
	per    []int     // most pods of the kind on one machine
	rank   []int
	takes  []Set    // by kind: groups that allow it and whose empty machine holds at least one
	member [][]Pods // by kind: its classes and their counts, in the problem's order

	group   []int     // by group: which of the problem it is
	offer   []int64   // groups x dims: what an empty machine has
	inverse []float64 // groups x dims: 1/offer, or 0 where it offers nothing
	cost    []int64   // at least 1
	price   []float64 // the same
	tie     []int64
	most    []int   // machines to add
	uses    []int64 // groups x caps
	caps    []int64

	order order
}

// order is that of the kinds by their size.
type order struct {
	large []int // kinds, largest first
	place []int // by kind: where it stands in large
}

// compact reads the problem. Pods that no group takes, however many machines it adds, are not in the instance; they are returned.
func compact(p *Problem) (*instance, []Left) {
	in := &instance{groups: len(p.Groups), caps: slices.Clone(p.Caps)}
	var wide int
	for i := range p.Classes {
		wide = max(wide, len(p.Classes[i].Requests))
	}
	var asked []int // the dimensions that somebody asks for
	for d := range wide {
		if slices.ContainsFunc(p.Classes, func(c Class) bool { return c.Count > 0 && at(c.Requests, d) > 0 }) {
			asked = append(asked, d)
		}
	}
	in.dims = len(asked)
	in.readGroups(p, asked)
	left := in.readClasses(p, asked)
	if in.kinds > 0 {
		in.dropDominated()
	}
	in.sortBySize()
	return in, left
}

// at is v[i], or zero where v is too short or negative.
func at(v []int64, i int) int64 {
	if i < len(v) && v[i] > 0 {
		return v[i]
	}
	return 0
}

func (in *instance) readGroups(p *Problem, asked []int) {
	n := len(p.Groups)
	in.offer, in.inverse = make([]int64, 0, n*in.dims), make([]float64, 0, n*in.dims)
	in.cost, in.price, in.tie, in.most = make([]int64, n), make([]float64, n), make([]int64, n), make([]int, n)
	in.uses, in.group = make([]int64, 0, n*len(p.Caps)), make([]int, n)
	for g := range p.Groups {
		from := &p.Groups[g]
		in.cost[g], in.tie[g], in.most[g] = max(1, from.Cost), from.Tie, max(0, from.Max)
		in.price[g], in.group[g] = float64(in.cost[g]), g
		for _, d := range asked {
			has := at(from.Capacity, d)
			in.offer = append(in.offer, has)
			if has > 0 {
				in.inverse = append(in.inverse, 1/float64(has))
			} else {
				in.inverse = append(in.inverse, 0)
			}
		}
		for k := range p.Caps {
			in.uses = append(in.uses, at(from.Uses, k))
		}
	}
}

// readClasses makes kinds of the classes, in the order of their requests, so that the order in which equal classes are given does not
// matter to the choice.
func (in *instance) readClasses(p *Problem, asked []int) []Left {
	var left []Left
	vectors := make([]int64, len(p.Classes)*in.dims)
	sets := make([]Set, len(p.Classes))
	words := max(1, (in.groups+63)/64)
	bits := make(Set, len(p.Classes)*words)
	order := make([]int, 0, len(p.Classes))
	for i := range p.Classes {
		c := &p.Classes[i]
		if c.Count <= 0 {
			continue
		}
		v := vectors[i*in.dims : (i+1)*in.dims]
		for j, d := range asked {
			v[j] = at(c.Requests, d)
		}
		set := bits[i*words : (i+1)*words]
		some := false
		for g := range in.groups {
			if c.Groups.Has(g) && fits(v, in.offer[g*in.dims:(g+1)*in.dims]) {
				set.Add(g)
				some = true
			}
		}
		if !some {
			left = append(left, Left{Pods: Pods{i, c.Count}, Because: NoGroupTakes, Group: -1, Cap: -1})
			continue
		}
		sets[i] = set
		order = append(order, i)
	}
	compare := func(a, b int) int {
		x, y := &p.Classes[a], &p.Classes[b]
		return cmp.Or(
			slices.Compare(vectors[b*in.dims:(b+1)*in.dims], vectors[a*in.dims:(a+1)*in.dims]),
			slices.Compare(sets[a], sets[b]), cmp.Compare(y.Rank, x.Rank), cmp.Compare(x.PerMachine, y.PerMachine))
	}
	slices.SortStableFunc(order, compare)
	for n, i := range order {
		c := &p.Classes[i]
		if n > 0 && c.PerMachine <= 0 && compare(order[n-1], i) == 0 {
			in.count[in.kinds-1] += c.Count
			in.member[in.kinds-1] = append(in.member[in.kinds-1], Pods{i, c.Count})
			continue
		}
		in.kinds++
		for _, r := range vectors[i*in.dims : (i+1)*in.dims] {
			in.req = append(in.req, r)
			in.share = append(in.share, float64(r))
		}
		per := c.PerMachine
		if per <= 0 {
			per = math.MaxInt32
		}
		in.count = append(in.count, c.Count)
		in.per = append(in.per, per)
		in.rank = append(in.rank, c.Rank)
		in.takes = append(in.takes, sets[i])
		in.member = append(in.member, []Pods{{i, c.Count}})
	}
	return left
}

// sortBySize orders kinds by their largest share of the largest machine, the largest first.
func (in *instance) sortBySize() {
	largest := make([]float64, in.dims)
	for g := range in.groups {
		for d := range in.dims {
			largest[d] = max(largest[d], float64(in.offer[g*in.dims+d]))
		}
	}
	size := make([]float64, in.kinds)
	in.order.large = make([]int, in.kinds)
	for c := range in.kinds {
		in.order.large[c] = c
		for d := range in.dims {
			if r := in.share[c*in.dims+d]; r > 0 {
				size[c] = max(size[c], r/largest[d])
			}
		}
	}
	slices.SortStableFunc(in.order.large, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	in.order.place = make([]int, in.kinds)
	for i, c := range in.order.large {
		in.order.place[c] = i
	}
}

// requests is what a pod of the kind asks for.
func (in *instance) requests(c int) []int64 { return in.req[c*in.dims : (c+1)*in.dims] }

// machine is what an empty machine of the group offers.
func (in *instance) machine(g int) []int64 { return in.offer[g*in.dims : (g+1)*in.dims] }

// fits says whether a vector is at most another in every dimension.
func fits(v, in []int64) bool {
	for d, r := range v {
		if r > in[d] {
			return false
		}
	}
	return true
}

// times is how often a vector fits into another, at most limit.
func times(v, in []int64, limit int) int {
	for d, r := range v {
		if r > 0 && int64(limit) > in[d]/r {
			limit = int(in[d] / r)
		}
	}
	return limit
}

// alone is how many pods of the kind an empty machine of the group holds when nothing else is on it, at most the kind's limit for one
// machine. It is zero where the group does not take the kind.
func (in *instance) alone(c, g int) int {
	if !in.takes[c].Has(g) {
		return 0
	}
	return times(in.requests(c), in.machine(g), in.per[c])
}

// part is the instance with so many pods of each kind, and without the kinds of which there are none. A part
// knows nothing of classes.
func (in *instance) part(count []int) *instance {
	sub := *in
	sub.kinds, sub.req, sub.share, sub.count, sub.per, sub.rank, sub.takes, sub.member = 0, nil, nil, nil, nil, nil, nil, nil
	for c, n := range count {
		if n == 0 {
			continue
		}
		sub.kinds++
		sub.req = append(sub.req, in.requests(c)...)
		sub.share = append(sub.share, in.share[c*in.dims:(c+1)*in.dims]...)
		sub.count = append(sub.count, n)
		sub.per = append(sub.per, in.per[c])
		sub.rank = append(sub.rank, in.rank[c])
		sub.takes = append(sub.takes, in.takes[c])
	}
	sub.sortBySize()
	return &sub
}
