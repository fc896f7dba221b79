package packing

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tiny draws a problem small enough to try everything.
func tiny(t *rapid.T) Problem {
	dims := rapid.IntRange(1, 3).Draw(t, "dims")
	vector := func(most int64, label string) []int64 {
		return rapid.SliceOfN(rapid.Int64Range(0, most), dims, dims).Draw(t, label)
	}
	var p Problem
	caps := rapid.IntRange(0, 2).Draw(t, "caps")
	for range caps {
		p.Caps = append(p.Caps, rapid.Int64Range(2, 12).Draw(t, "cap"))
	}
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		scale := rapid.SampledFrom([]int64{1, 1, 1, 1000, 1_000_000_000}).Draw(t, "scale of the cost")
		g := Group{
			Capacity: vector(12, "capacity"), Cost: rapid.Int64Range(1, 20).Draw(t, "cost") * scale, Tie: rapid.Int64Range(0, 3).Draw(t, "tie"),
			Max: rapid.SampledFrom([]int{0, 1, 2, 3, Unlimited, Unlimited}).Draw(t, "max"),
		}
		for range caps {
			g.Uses = append(g.Uses, rapid.Int64Range(0, 5).Draw(t, "uses"))
		}
		p.Groups = append(p.Groups, g)
	}
	pods := 0
	for range rapid.IntRange(1, 4).Draw(t, "classes") {
		c := Class{
			Requests: vector(8, "requests"), Count: rapid.IntRange(0, 4).Draw(t, "count"), Rank: rapid.IntRange(0, 1).Draw(t, "rank"),
			PerMachine: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "per machine"),
		}
		if c.Count = min(c.Count, 6-pods); c.Count > 0 {
			pods += c.Count
		}
		if rapid.Bool().Draw(t, "picky") {
			c.Groups = NewSet(len(p.Groups))
			for g := range p.Groups {
				if rapid.Bool().Draw(t, "welcome") {
					c.Groups.Add(g)
				}
			}
		}
		p.Classes = append(p.Classes, c)
	}
	return p
}

// cheapest tries every way to serve so many pods of each class, and returns the least cost; false when there is no way.
func cheapest(p Problem, serve []int) (int64, bool) {
	type machine struct {
		group int
		pods  []int
		free  []int64
	}
	var pods []int
	for c, n := range serve {
		for range n {
			pods = append(pods, c)
		}
	}
	var machines []machine
	least, some := int64(math.MaxInt64), false
	count := make([]int, len(p.Groups))
	caps := slices.Clone(p.Caps)
	var place func(i int, cost int64)
	place = func(i int, cost int64) {
		if some && cost >= least {
			return
		}
		if i == len(pods) {
			least, some = cost, true
			return
		}
		c := p.Classes[pods[i]]
		try := func(m *machine) {
			if c.PerMachine > 0 && m.pods[pods[i]] >= c.PerMachine {
				return
			}
			for d := range c.Requests {
				if at(c.Requests, d) > m.free[d] {
					return
				}
			}
			for d := range c.Requests {
				m.free[d] -= at(c.Requests, d)
			}
			m.pods[pods[i]]++
			add := int64(0)
			if sum(m.pods) == 1 {
				add = max(1, p.Groups[m.group].Cost)
			}
			place(i+1, cost+add)
			m.pods[pods[i]]--
			for d := range c.Requests {
				m.free[d] += at(c.Requests, d)
			}
		}
		for j := range machines {
			if c.Groups.Has(machines[j].group) {
				try(&machines[j])
			}
		}
		for g := range p.Groups {
			if !c.Groups.Has(g) || count[g] >= p.Groups[g].Max {
				continue
			}
			ok := true
			for k := range caps {
				ok = ok && caps[k] >= at(p.Groups[g].Uses, k)
			}
			if !ok {
				continue
			}
			for k := range caps {
				caps[k] -= at(p.Groups[g].Uses, k)
			}
			count[g]++
			machines = append(machines, machine{g, make([]int, len(p.Classes)), slices.Clone(p.Groups[g].Capacity)})
			try(&machines[len(machines)-1])
			machines = machines[:len(machines)-1]
			count[g]--
			for k := range caps {
				caps[k] += at(p.Groups[g].Uses, k)
			}
		}
	}
	place(0, 0)
	return least, some
}

func sum(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

// served is how many pods of each class have a place.
func served(p Problem, s Solution) []int {
	n := make([]int, len(p.Classes))
	for _, m := range s.Machines {
		for _, q := range m.Pods {
			n[q.Class] += m.Count * q.Count
		}
	}
	return n
}

// TestNothingCostsLessThanTheBound compares with every possible plan for the same pods, limits included; and when all pods could have a
// place, says how often they have, and at the least cost.
func TestNothingCostsLessThanTheBound(t *testing.T) {
	var problems, cheapestFound, left, couldServe int
	var costs, bounds, leasts int64
	rapid.Check(t, func(t *rapid.T) {
		p := tiny(t)
		s := Solve(p)
		if err := check(p, s); err != nil {
			t.Fatalf("%v\n%+v", err, s)
		}
		least, some := cheapest(p, served(p, s))
		if !some {
			t.Fatalf("no way serves what the solution serves: %+v", s)
		}
		if least == math.MaxInt64 {
			least = 0
		}
		if s.Bound > least {
			t.Fatalf("the bound %d is above the cost of the cheapest plan, %d: %+v", s.Bound, least, s)
		}
		if b := Bound(p, s.Cost); len(s.Left) == 0 && b > least {
			t.Fatalf("the bound by itself, %d, is above the cost of the cheapest plan, %d", b, least)
		}
		problems++
		costs, bounds, leasts = costs+s.Cost, bounds+s.Bound, leasts+least
		if s.Cost == least {
			cheapestFound++
		}
		hopeless := slices.DeleteFunc(slices.Clone(s.Left), func(l Left) bool { return l.Because != NoGroupTakes })
		if len(s.Left) > len(hopeless) {
			left++
			if _, can := cheapest(p, countOf(p, hopeless)); can {
				couldServe++
			}
		}
	})
	t.Logf("%d problems: %d at the least cost, %d leave pods for a limit, %d of them though all could be served; cost %d, least %d, bound %d",
		problems, cheapestFound, left, couldServe, costs, leasts, bounds)
	if cheapestFound < problems {
		t.Errorf("%d of %d plans for so few pods cost more than they must", problems-cheapestFound, problems)
	}
	if couldServe > 0 {
		t.Errorf("%d of %d plans leave pods of so few though all could be served", couldServe, left)
	}
}

// tight draws a small problem whose limits are about what the cheapest machines would need without any.
func tight(t *rapid.T) Problem {
	p := tiny(t)
	free := p
	free.Caps, free.Groups = nil, slices.Clone(p.Groups)
	for g := range free.Groups {
		free.Groups[g].Max = Unlimited
	}
	machines := Solve(free).Count(len(p.Groups))
	used := make([]int64, len(p.Caps))
	for g, n := range machines {
		p.Groups[g].Max = n + rapid.SampledFrom([]int{-1, 0, 0, 1, Unlimited - n}).Draw(t, "machines more")
		for k := range used {
			used[k] += int64(n) * p.Groups[g].Uses[k]
		}
	}
	for k := range used {
		p.Caps[k] = used[k] + rapid.SampledFrom([]int64{-2, -1, 0, 0, 5}).Draw(t, "of the cap more")
	}
	return p
}

// TestTollsProveNoMoreThanTheCheapestPlanCosts holds the bound that limits raise to every possible plan, and says by how much they raise
// it.
func TestTollsProveNoMoreThanTheCheapestPlanCosts(t *testing.T) {
	var with, without, problems float64
	hold := func(t *rapid.T) {
		p := tight(t)
		in, hopeless := compact(&p)
		least, some := cheapest(p, countOf(p, hopeless))
		if in.kinds == 0 || !some {
			return
		}
		rounds := rapid.SampledFrom([]int{1, 20, 160, 600}).Draw(t, "rounds")
		free := fluid(in, in.count, rounds, nil).total
		tolls := in.tolls(rapid.Int64Range(least/2+1, 3*least).Draw(t, "a cost to stay below"))
		if tolls == nil {
			return
		}
		tolled := fluid(in, in.count, rounds, tolls).total
		if tolled > float64(least)*(1+1e-9) {
			t.Fatalf("with tolls %v the bound is %g, though a plan costs %d: %+v", tolls.dual, tolled, least, p)
		}
		with, without, problems = with+max(free, tolled)/float64(least), without+free/float64(least), problems+1
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			hold(t)
		}
	})
	t.Logf("%.0f problems whose limits could bind: the bound is %.1f %% of the least cost without tolls, %.1f %% with them", problems, 100*without/problems, 100*with/problems)
}

// TestTheBoundKnowsWhatLimitsCost has more kinds than columns are made for. Of the machines that would be cheapest there is half, or
// machines are so few that larger ones are needed, which are dearer by what they hold.
func TestTheBoundKnowsWhatLimitsCost(t *testing.T) {
	free := Problem{Classes: crowd(200, 10, 1, 1)}
	for _, cores := range []int64{32, 64} {
		free.Groups = append(free.Groups, Group{Capacity: []int64{cores * 1000, cores * 5000, 200}, Cost: cores * (320 + cores), Max: Unlimited})
	}
	for c := range free.Classes {
		free.Classes[c].Groups = nil
	}
	machines := solve(t, free).Count(2)
	half, few := free, free
	half.Groups, few.Groups = slices.Clone(free.Groups), slices.Clone(free.Groups)
	half.Groups[0].Max = machines[0] / 2
	few.Caps = []int64{int64(machines[0]) * 4 / 5}
	few.Groups[0].Uses, few.Groups[1].Uses = []int64{1}, []int64{1}
	if machines[0] < 50 || machines[1] > 0 {
		t.Fatalf("without limits %v machines: the others are needed by no limit", machines)
	}
	for name, p := range map[string]Problem{"half of the cheapest": half, "few machines": few} {
		s := solve(t, p)
		in, _ := compact(&p)
		without := fluid(in, in.count, in.rounds(), nil).total
		t.Logf("%s: cost %d, %.2f %% above the bound, %.2f %% without tolls", name, s.Cost, 100*(float64(s.Cost)/float64(s.Bound)-1), 100*(float64(s.Cost)/without-1))
		if len(s.Left) > 0 || float64(s.Bound) < without*1.01 || float64(s.Cost) > 1.03*float64(s.Bound) {
			t.Errorf("%s: %d classes left, cost %d, bound %d, %.0f without tolls", name, len(s.Left), s.Cost, s.Bound, without)
		}
	}
}

// countOf is the number of pods of each class, without those that no group takes.
func countOf(p Problem, hopeless []Left) []int {
	all := make([]int, len(p.Classes))
	for c := range all {
		all[c] = max(0, p.Classes[c].Count)
	}
	for _, l := range hopeless {
		all[l.Class] -= l.Count
	}
	return all
}
