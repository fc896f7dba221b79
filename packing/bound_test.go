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
		problems++
		costs, bounds, leasts = costs+s.Cost, bounds+s.Bound, leasts+least
		if s.Cost == least {
			cheapestFound++
		}
		all := make([]int, len(p.Classes))
		for c := range all {
			all[c] = max(0, p.Classes[c].Count)
		}
		for _, l := range s.Left {
			if l.Because == NoGroupTakes {
				all[l.Class] -= l.Count
			}
		}
		if slices.ContainsFunc(s.Left, func(l Left) bool { return l.Because != NoGroupTakes }) {
			left++
			if _, can := cheapest(p, all); can {
				couldServe++
			}
		}
	})
	t.Logf("%d problems: %d at the least cost, %d leave pods for a limit, %d of them though all could be served; cost %d, least %d, bound %d",
		problems, cheapestFound, left, couldServe, costs, leasts, bounds)
}
