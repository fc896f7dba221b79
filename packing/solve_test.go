package packing

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// of is a group of machines with one dimension.
func of(size, cost int64, most int, uses ...int64) Group {
	return Group{Capacity: []int64{size}, Cost: cost, Max: most, Uses: uses}
}

// ask is a class of pods with one dimension.
func ask(size int64, count int, options ...func(*Class)) Class {
	c := Class{Requests: []int64{size}, Count: count}
	for _, o := range options {
		o(&c)
	}
	return c
}

func only(groups ...int) func(*Class) {
	return func(c *Class) {
		c.Groups = NewSet(8)
		for _, g := range groups {
			c.Groups.Add(g)
		}
	}
}

func rank(r int) func(*Class)       { return func(c *Class) { c.Rank = r } }
func perMachine(n int) func(*Class) { return func(c *Class) { c.PerMachine = n } }

func left(class, count int, because Limit, group, limit int) Left {
	return Left{Pods: Pods{class, count}, Because: because, Group: group, Cap: limit}
}

func TestSolve(t *testing.T) {
	for name, test := range map[string]struct {
		problem Problem
		want    Solution
	}{
		"nothing asked, nothing added": {
			Problem{Groups: []Group{of(4, 10, 5)}},
			Solution{},
		},
		"equal machines are one pattern": {
			Problem{Classes: []Class{ask(2, 60)}, Groups: []Group{of(5, 10, Unlimited)}},
			Solution{Machines: []Machines{{0, 30, []Pods{{0, 2}}}}, Cost: 300, Bound: 300},
		},
		"two sizes that fit exactly are better than either alone": {
			Problem{Classes: []Class{ask(3, 1), ask(7, 1), ask(4, 1)}, Groups: []Group{of(10, 10, Unlimited), of(4, 5, Unlimited)}},
			Solution{Machines: []Machines{{0, 1, []Pods{{0, 1}, {1, 1}}}, {1, 1, []Pods{{2, 1}}}}, Cost: 15, Bound: 15},
		},
		"pods that fit in few ways are put in one of them": {
			Problem{
				Classes: []Class{{Requests: []int64{500, 1000}, Count: 1}, {Requests: []int64{500, 512}, Count: 5}, {Requests: []int64{1, 1000}, Count: 2}},
				Groups:  []Group{{Capacity: []int64{1250, 3194}, Cost: 625, Max: 4}, {Capacity: []int64{2584, 3489}, Cost: 375, Max: 1}, {Capacity: []int64{1250, 3167}, Cost: 500, Max: 1}},
			},
			Solution{Machines: []Machines{{1, 1, []Pods{{0, 1}, {1, 4}}}, {2, 1, []Pods{{1, 1}, {2, 2}}}}, Cost: 875, Bound: 875},
		},
		"of equal groups the first is taken": {
			Problem{Classes: []Class{ask(1, 1)}, Groups: []Group{of(2, 10, Unlimited), of(2, 10, Unlimited)}},
			Solution{Machines: []Machines{{0, 1, []Pods{{0, 1}}}}, Cost: 10, Bound: 10},
		},
		"of equal costs the smaller tie is taken": {
			Problem{Classes: []Class{ask(1, 1)}, Groups: []Group{
				{Capacity: []int64{2}, Cost: 10, Tie: 3, Max: 9}, {Capacity: []int64{3}, Cost: 10, Tie: 2, Max: 9},
			}},
			Solution{Machines: []Machines{{1, 1, []Pods{{0, 1}}}}, Cost: 10, Tie: 2, Bound: 10},
		},
		"a cost below one counts as one": {
			Problem{Classes: []Class{ask(1, 3)}, Groups: []Group{of(1, 0, Unlimited)}},
			Solution{Machines: []Machines{{0, 3, []Pods{{0, 1}}}}, Cost: 3, Bound: 3},
		},
		"equal classes share machines and keep their names": {
			Problem{Classes: []Class{ask(1, 3), ask(1, 1)}, Groups: []Group{of(2, 10, Unlimited)}},
			Solution{Machines: []Machines{{0, 1, []Pods{{0, 2}}}, {0, 1, []Pods{{0, 1}, {1, 1}}}}, Cost: 20, Bound: 20},
		},
		"a class keeps to its limit for one machine": {
			Problem{Classes: []Class{ask(1, 3, perMachine(1)), ask(1, 2, perMachine(1))}, Groups: []Group{of(8, 10, Unlimited)}},
			Solution{Machines: []Machines{{0, 2, []Pods{{0, 1}, {1, 1}}}, {0, 1, []Pods{{0, 1}}}}, Cost: 30, Bound: 30},
		},
		"a class keeps to its groups": {
			Problem{Classes: []Class{ask(1, 1, only(1))}, Groups: []Group{of(2, 10, 9), of(2, 30, 9)}},
			Solution{Machines: []Machines{{1, 1, []Pods{{0, 1}}}}, Cost: 30, Bound: 30},
		},
		"what no empty machine holds is left and says so": {
			Problem{Classes: []Class{ask(9, 2), ask(1, 1, only())}, Groups: []Group{of(8, 10, Unlimited)}},
			Solution{Left: []Left{left(0, 2, NoGroupTakes, -1, -1), left(1, 1, NoGroupTakes, -1, -1)}},
		},
		"a full group is named": {
			Problem{Classes: []Class{ask(1, 5)}, Groups: []Group{of(2, 10, 2)}},
			Solution{
				Machines: []Machines{{0, 2, []Pods{{0, 2}}}}, Cost: 20, Bound: 20, Left: []Left{left(0, 1, GroupMax, 0, -1)},
			},
		},
		"when the cheap group is full the next one helps": {
			Problem{Classes: []Class{ask(1, 5)}, Groups: []Group{of(2, 10, 2), of(2, 15, 5)}},
			Solution{Machines: []Machines{{0, 2, []Pods{{0, 2}}}, {1, 1, []Pods{{0, 1}}}}, Cost: 35, Bound: 35},
		},
		"a cap that binds is named": {
			Problem{Classes: []Class{ask(1, 5)}, Groups: []Group{of(2, 10, 9, 1, 4)}, Caps: []int64{100, 9}},
			Solution{
				Machines: []Machines{{0, 2, []Pods{{0, 2}}}}, Cost: 20, Bound: 20, Left: []Left{left(0, 1, CapReached, -1, 1)},
			},
		},
		"a cap on machines buys larger ones, though they are dearer": {
			Problem{Classes: []Class{ask(1, 12)}, Groups: []Group{of(2, 10, 99, 1), of(4, 25, 99, 1)}, Caps: []int64{3}},
			Solution{Machines: []Machines{{1, 3, []Pods{{0, 4}}}}, Cost: 75, Bound: 75},
		},
		"the more important pods are served first": {
			Problem{Classes: []Class{ask(1, 4), ask(2, 2, rank(7))}, Groups: []Group{of(4, 10, 1)}},
			Solution{
				Machines: []Machines{{0, 1, []Pods{{1, 2}}}}, Cost: 10, Bound: 10, Left: []Left{left(0, 4, GroupMax, 0, -1)},
			},
		},
		"the less important ones use what is left of their machines": {
			Problem{Classes: []Class{ask(1, 4), ask(3, 1, rank(7))}, Groups: []Group{of(4, 10, 1)}},
			Solution{
				Machines: []Machines{{0, 1, []Pods{{0, 1}, {1, 1}}}}, Cost: 10, Bound: 10, Left: []Left{left(0, 3, GroupMax, 0, -1)},
			},
		},
		"a dimension that is full does not hide pods that ask nothing of it": {
			Problem{
				Classes: []Class{{Requests: []int64{3, 0}, Count: 4}, {Requests: []int64{0, 4}, Count: 1}},
				Groups:  []Group{{Capacity: []int64{3, 0}, Cost: 1, Max: 1}, {Capacity: []int64{6, 4}, Cost: 2, Max: 2}},
			},
			Solution{Machines: []Machines{{1, 1, []Pods{{0, 2}, {1, 1}}}, {1, 1, []Pods{{0, 2}}}}, Cost: 4, Bound: 4},
		},
		"pods that would be free beside others get machines for themselves as well": {
			Problem{
				Classes: []Class{
					{Requests: []int64{3550, 28649}, Count: 4, Groups: Set{0b1100}}, {Requests: []int64{3350, 13866}, Count: 4, Rank: 1}, {Requests: []int64{200, 1380}, Count: 4, Rank: 2},
				},
				Groups: []Group{
					{Capacity: []int64{3820, 15184}, Cost: 191, Max: 2, Uses: []int64{4}}, {Capacity: []int64{7820, 31568}, Cost: 382, Max: 30, Uses: []int64{8}},
					{Capacity: []int64{15820, 129872}, Cost: 938, Max: 1, Uses: []int64{16}}, {Capacity: []int64{1820, 6992}, Cost: 96, Max: 1, Uses: []int64{2}},
				},
				Caps: []int64{18},
			},
			Solution{
				Machines: []Machines{{1, 1, []Pods{{1, 2}, {2, 2}}}, {1, 1, []Pods{{1, 2}, {2, 2}}}}, Cost: 764, Bound: 764,
				Left: []Left{left(0, 4, CapReached, -1, 0)},
			},
		},
		"pods that ask for nothing still need a machine": {
			Problem{Classes: []Class{ask(0, 1000)}, Groups: []Group{of(4, 10, 1)}},
			Solution{Machines: []Machines{{0, 1, []Pods{{0, 1000}}}}, Cost: 10, Bound: 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, solve(t, test.problem), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestSolutionsRepeat: the same problem has the same solution, and the order of classes does not change its cost.
func TestSolutionsRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "classes")
		p := Problem{Classes: crowd(n, rapid.IntRange(1, 9).Draw(t, "count"), 9, rapid.Uint64().Draw(t, "seed")), Groups: shapes(9)}
		first := Solve(p)
		if err := check(p, first); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, Solve(p)); diff != "" {
			t.Fatalf("a second time (-first +second)\n%s", diff)
		}
		turned := p
		turned.Classes = slices.Clone(p.Classes)
		slices.Reverse(turned.Classes)
		if s := Solve(turned); s.Cost != first.Cost || s.Bound != first.Bound {
			t.Fatalf("cost %d and bound %d, with the classes turned round %d and %d", first.Cost, first.Bound, s.Cost, s.Bound)
		}
	})
}

// TestManyPodsUnderLimits: large problems with limits keep all of them, and leave nobody while there is room.
func TestManyPodsUnderLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Problem{Groups: shapes(12)}
		p.Classes = crowd(rapid.SampledFrom([]int{3, 12, 200}).Draw(t, "classes"), rapid.IntRange(1, 50).Draw(t, "count"), 12, rapid.Uint64().Draw(t, "seed"))
		p.Caps = []int64{rapid.Int64Range(1, 400).Draw(t, "machines"), rapid.Int64Range(1, 4000).Draw(t, "cores")}
		for g := range p.Groups {
			p.Groups[g].Uses = []int64{1, p.Groups[g].Capacity[0]/1000 + 1}
			p.Groups[g].Max = rapid.IntRange(0, 30).Draw(t, "max")
		}
		for c := range p.Classes {
			p.Classes[c].Rank = c % 3
		}
		s := Solve(p)
		if err := check(p, s); err != nil {
			t.Fatal(err)
		}
		machines := s.Count(len(p.Groups))
		var used [2]int64
		for g, n := range machines {
			for k := range used {
				used[k] += int64(n) * p.Groups[g].Uses[k]
			}
		}
		for _, l := range s.Left {
			c := p.Classes[l.Class]
			for g := range p.Groups {
				uses := p.Groups[g].Uses
				if c.Groups.Has(g) && fits(c.Requests, p.Groups[g].Capacity) && machines[g] < p.Groups[g].Max &&
					used[0]+uses[0] <= p.Caps[0] && used[1]+uses[1] <= p.Caps[1] {
					t.Fatalf("%+v is left though group %d may grow: %v, used %v of %v", l, g, machines, used, p.Caps)
				}
			}
		}
	})
}
