package packing

import (
	"math/rand/v2"
	"testing"
)

// shapes are n groups of machines from 2 to 96 cores with 2, 4 or 8 GiB a core, priced as in the field: memory costs an eighth of a
// core, and no two groups quite the same.
func shapes(n int) []Group {
	cores := []int64{4, 8, 16, 32, 48, 64, 96, 2}
	var groups []Group
	for i := range n {
		c, gib := cores[i%len(cores)], []int64{4, 8, 2}[i/len(cores)%3]
		groups = append(groups, Group{
			Capacity: []int64{c*1000 - 180, c*gib*1024 - 1200, 110, int64(i%2) * 4},
			Cost:     c*(37000+gib*2700) + int64(i*131), Max: Unlimited,
		})
	}
	return groups
}

// crowd is so many classes of count pods from small to large; all groups take four classes of five, and half of the groups the rest.
func crowd(classes, count int, groups int, seed uint64) []Class {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []Class
	for i := range classes {
		cpu := int64(100 + r.IntN(40)*r.IntN(40)*5)
		c := Class{Requests: []int64{cpu, cpu*int64(1+r.IntN(8)) + int64(r.IntN(512)), 1}, Count: count}
		if i%5 == 0 {
			c.Groups = NewSet(groups)
			for g := i / 5 % 2; g < groups; g += 2 {
				c.Groups.Add(g)
			}
		}
		all = append(all, c)
	}
	return all
}

// capped is the problem with a cap on machines that leaves some pods without a place, and ranks that say whom.
func capped(p Problem, machines int64) Problem {
	p.Caps = []int64{machines}
	for g := range p.Groups {
		p.Groups[g].Uses = []int64{1}
	}
	for c := range p.Classes {
		p.Classes[c].Rank = c % 3
	}
	return p
}

func Benchmark500ClassesCapped(b *testing.B) {
	benchmark(b, capped(Problem{Classes: crowd(500, 200, 50, 1), Groups: shapes(50)}, 1000))
}

func Benchmark10000ClassesCapped(b *testing.B) {
	benchmark(b, capped(Problem{Classes: crowd(10_000, 1, 50, 1), Groups: shapes(50)}, 100))
}

func benchmark(b *testing.B, p Problem) {
	b.Helper()
	b.ReportAllocs()
	var s Solution
	for b.Loop() {
		s = Solve(p)
	}
	if len(s.Left) > 0 && len(p.Caps) == 0 {
		b.Fatalf("%d classes are left", len(s.Left))
	}
	machines := 0
	for _, n := range s.Count(len(p.Groups)) {
		machines += n
	}
	b.ReportMetric(float64(machines), "machines")
	b.ReportMetric(float64(s.Cost-s.Bound)/float64(s.Bound)*100, "%gap")
}

func BenchmarkOneClass(b *testing.B) {
	benchmark(b, Problem{
		Classes: []Class{{Requests: []int64{300, 1200, 1}, Count: 50_000}},
		Groups:  []Group{{Capacity: []int64{15820, 60000, 110}, Cost: 768000, Max: Unlimited}},
	})
}

func BenchmarkOneClassEightGroups(b *testing.B) {
	benchmark(b, Problem{Classes: []Class{{Requests: []int64{300, 1200, 1}, Count: 10_000}}, Groups: shapes(8)})
}

func Benchmark500Classes(b *testing.B) {
	benchmark(b, Problem{Classes: crowd(500, 200, 50, 1), Groups: shapes(50)})
}

func Benchmark10000Classes(b *testing.B) {
	benchmark(b, Problem{Classes: crowd(10_000, 1, 50, 1), Groups: shapes(50)})
}

func Benchmark400Groups(b *testing.B) {
	benchmark(b, Problem{Classes: crowd(50, 100, 400, 1), Groups: shapes(400)})
}

// BenchmarkZones has 50 groups in three zones, of 17 sizes; a fifth of the classes keeps to one zone.
func BenchmarkZones(b *testing.B) {
	p := Problem{Classes: crowd(500, 200, 50, 2)}
	sizes := shapes(17)
	for i := range 50 {
		p.Groups = append(p.Groups, sizes[i/3])
	}
	for i := range p.Classes {
		p.Classes[i].Groups = nil
		if i%5 == 0 {
			p.Classes[i].Groups = NewSet(50)
			for g := i / 5 % 3; g < 50; g += 3 {
				p.Classes[i].Groups.Add(g)
			}
		}
	}
	benchmark(b, p)
}

func Benchmark150Classes(b *testing.B) {
	benchmark(b, Problem{Classes: crowd(150, 30, 50, 1), Groups: shapes(50)})
}

func BenchmarkBurst(b *testing.B) {
	benchmark(b, Problem{Classes: crowd(4, 6, 8, 1), Groups: shapes(8)})
}
