package scheduling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// TestBlocksPassOverFullNodesOnly compares filling a row of several blocks, in any order, with asking its nodes one by one, while pods and
// nodes come and go and what was pretended is taken back.
func TestBlocksPassOverFullNodesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := func(cpu, memory int) []string {
			return []string{"cpu", fmt.Sprint(rapid.IntRange(0, cpu).Draw(t, "cpu")), "memory", fmt.Sprint(rapid.IntRange(0, memory).Draw(t, "memory"), "Gi")}
		}
		var objects []any
		nodes := rapid.IntRange(1, 64).Draw(t, "nodes")
		for i := range nodes {
			more := rapid.SampledFrom([][]string{nil, nil, {"pods", "2"}, {"example.com/a", "1"}}).Draw(t, "more")
			objects = append(objects, node(fmt.Sprintf("n%02d", i), allocatable(append(amounts(6, 6), more...)...)))
		}
		for i := range rapid.IntRange(0, 2*nodes).Draw(t, "running") {
			objects = append(objects, pod(fmt.Sprint("r", i), on(fmt.Sprintf("n%02d", rapid.IntRange(0, nodes-1).Draw(t, "on"))), requests(amounts(3, 3)...)))
		}
		s := snapshot(objects...)
		fast, slow := NewChecker(s), NewChecker(s)
		row := rapid.Permutation(fast.Handles()).Draw(t, "row")
		r := fast.Row(row...)
		var marks []func()
		pretend := func(do func(c *Checker) func()) {
			a, b := do(fast), do(slow)
			marks = append(marks, func() { a(); b() })
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			node := fmt.Sprintf("n%02d", rapid.IntRange(0, nodes-1).Draw(t, "node"))
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				if len(marks) > 0 {
					at := rapid.IntRange(0, len(marks)-1).Draw(t, "mark")
					marks[at]()
					marks = marks[:at]
				}
			case 1:
				if pods := slow.Pods(node); len(pods) > 0 && pods[0].Name != "" {
					pretend(func(c *Checker) func() { return c.Evict(pods[0], node) })
				}
			case 2:
				pretend(func(c *Checker) func() { return c.Remove(node) })
			case 3:
				if _, present := fast.Handle(node); present {
					p := pod(fmt.Sprint("q", i), requests(amounts(3, 3)...))
					pretend(func(c *Checker) func() { return c.Place(p, node) })
				}
			default:
				p := pod("p", requests(append(amounts(3, 3), rapid.SampledFrom([][]string{nil, nil, {"example.com/a", "1"}}).Draw(t, "more")...)...))
				n := rapid.IntRange(1, 30).Draw(t, "pods")
				pretend((*Checker).Mark)
				got, want := make([]int, nodes), make([]int, nodes)
				r.Fill(p.Class, n, func(h Handle, n int) { got[h] += n })
				for ; n > 0; n-- {
					at := firstByAsking(slow, p, row)
					if at == len(row) {
						break
					}
					slow.PlaceMany(p.Class, 1, row[at])
					want[row[at]]++
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("step %d (-one by one +fill):\n%s", i, diff)
				}
			}
		}
	})
}

func firstByAsking(c *Checker, p *cluster.Pod, row []Handle) int {
	for i, h := range row {
		if c.Ask(p.Class).Fits(h) {
			return i
		}
	}
	return len(row)
}
