package packing

import (
	"cmp"
	"math"
	"slices"
)

// fleet is a number of machines of some groups.
type fleet struct {
	count     []int // by position in the groups of the search
	cost, tie int64
}

// below is what a fleet must stay under: in cost, or in tie at equal cost.
type below struct{ cost, tie int64 }

func (b below) allows(cost, tie int64) bool { return cost < b.cost || cost == b.cost && tie < b.tie }

// fleets searches for fleets that pass all cuts and stay below a cost. Whether their pods can be packed is another question.
type fleets struct {
	in     *instance
	groups []int // dearest first
	tests  []test
	left   *room // limits; what the fleet in the making takes is taken from it and given back
	under  below
	best   bool // look for the cheapest alone

	count []int // the fleet in the making
	pods  int   // that are to have a place, less the machines of the fleet: each is to hold one
	unmet []float64
	found []fleet
	steps int // left
	work  int // left, as [improve] counts it
	// open is a cost that no fleet which the search did not look at is below: [math.Inf] when it has looked at all.
	open float64
}

// test is a cut for the pods and groups of a search.
type test struct {
	need  float64
	holds []float64 // by position in groups
	rate  []float64 // by position: the most that this or a later group holds for its price
}

// fleetKeep is the most fleets that a search returns.
const fleetKeep = 400

// search lists fleets for so many pods of the kinds, the cheapest first. It takes so many steps; open says what they leave unseen.
func (f *fleets) search(in *instance, cuts []cut, kinds, have []int, left *room, under below, best bool, steps int) {
	f.in, f.left, f.under, f.best, f.steps, f.open = in, left, under, best, steps, math.Inf(1)
	f.groups, f.found = f.groups[:0], f.found[:0]
	for g := range in.groups {
		if left.machines(g, 1) == 0 {
			continue
		}
		for _, c := range kinds {
			if in.takes[c].Has(g) {
				f.groups = append(f.groups, g)
				break
			}
		}
	}
	slices.SortStableFunc(f.groups, func(a, b int) int { return cmp.Compare(in.cost[b], in.cost[a]) })
	n := len(f.groups)
	f.tests = f.tests[:0]
	add := func(need float64, holds func(g int) float64) {
		t := test{need: need, holds: make([]float64, n), rate: make([]float64, n+1)}
		for i := n - 1; i >= 0; i-- {
			t.holds[i] = holds(f.groups[i])
			t.rate[i] = max(t.rate[i+1], t.holds[i]/in.price[f.groups[i]])
		}
		f.tests = append(f.tests, t)
	}
	for _, c := range kinds {
		add(float64(have[c]), func(g int) float64 { return float64(in.alone(c, g)) })
	}
	for _, c := range cuts {
		var need float64
		for _, k := range kinds {
			need += float64(float64(have[k]) * c.brings[k])
		}
		if need > 0 {
			add(need, func(g int) float64 { return c.holds[g] })
		}
	}
	f.pods = 0
	for _, c := range kinds {
		f.pods += have[c]
	}
	f.count = append(f.count[:0], make([]int, n)...)
	f.unmet = append(f.unmet[:0], make([]float64, (n+1)*len(f.tests))...)
	for j, t := range f.tests {
		f.unmet[j] = t.need
	}
	f.work -= in.groups*len(kinds) + len(f.tests)*(n+len(kinds))*2
	f.extend(0, 0, 0)
	slices.SortStableFunc(f.found, func(a, b fleet) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.tie, b.tie)) })
}

// extend adds machines of the groups from position i on to the fleet in the making.
func (f *fleets) extend(i int, cost, tie int64) {
	unmet := f.unmet[i*len(f.tests) : (i+1)*len(f.tests)]
	more := 0.0
	for j := range f.tests {
		if u := unmet[j]; u > 0 {
			rate := f.tests[j].rate[i]
			if rate == 0 {
				return
			}
			more = max(more, u/rate)
		}
	}
	if more == 0 {
		if f.under.allows(cost, tie) {
			f.found = append(f.found, fleet{slices.Clone(f.count), cost, tie})
			if f.best {
				f.under = below{cost, math.MinInt64}
			}
		}
		return
	}
	floor := float64(cost) + more*(1-1e-12)
	if floor > float64(f.under.cost) || i == len(f.groups) || f.best && floor > float64(f.under.cost)-1+1e-6 {
		return
	}
	if f.steps--; f.steps < 0 || len(f.found) >= fleetKeep {
		f.open = min(f.open, floor)
		return
	}
	f.work -= 2 * len(f.tests)
	g := f.groups[i]
	most := 0
	for j := range f.tests {
		if h := f.tests[j].holds[i]; unmet[j] > 0 && h > 0 {
			most = max(most, int(unmet[j]/h)+1)
		}
	}
	most = f.left.machines(g, min(most, f.pods))
	most = min(most, int((f.under.cost-cost)/f.in.cost[g]))
	next := f.unmet[(i+1)*len(f.tests) : (i+2)*len(f.tests)]
	for n := most; n >= 0; n-- {
		for j := range f.tests {
			t := &f.tests[j]
			if next[j] = unmet[j] - float64(float64(n)*t.holds[i]); next[j] < t.need*1e-10 {
				next[j] = 0
			}
		}
		f.count[i] = n
		f.left.take(g, n)
		f.pods -= n
		f.extend(i+1, cost+int64(n)*f.in.cost[g], tie+int64(n)*f.in.tie[g])
		f.left.take(g, -n)
		f.pods += n
		if f.steps < 0 {
			f.open = min(f.open, floor) // of the smaller numbers as well
			break
		}
	}
	f.count[i] = 0
}
