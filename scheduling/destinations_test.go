package scheduling

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// TestDestinationsAreFirstFit compares destinations with placing the pods of leaving nodes one by one on the first node that takes them,
// with tries settled and taken back in any order.
func TestDestinationsAreFirstFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []any
		nodes := rapid.IntRange(2, 40).Draw(t, "nodes")
		for i := range nodes {
			objects = append(objects, node(fmt.Sprint("n", i), nodeLabel(zone, rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "zone")),
				allocatable("cpu", rapid.SampledFrom([]string{"2", "4"}).Draw(t, "cpu"), "pods", "9")))
		}
		running := map[int][]*cluster.Pod{}
		var classes []*cluster.Class
		for i := range rapid.IntRange(1, 5).Draw(t, "classes") {
			classes = append(classes, wild(t, fmt.Sprint("c", i)).Class)
		}
		table := &cluster.Classes{}
		for i := range rapid.IntRange(0, 60).Draw(t, "running") {
			at := rapid.IntRange(0, nodes-1).Draw(t, "on")
			o := rapid.SampledFrom(classes).Draw(t, "class").Object()
			o.Name, o.Spec.NodeName = fmt.Sprint("r", i), fmt.Sprint("n", at)
			p := table.Pod(o)
			running[at] = append(running[at], p)
			objects = append(objects, p)
		}
		s := snapshot(objects...)
		fast, slow := NewChecker(s), NewChecker(s)
		var order []Handle
		for _, i := range rapid.Permutation(rangeOf(nodes)).Draw(t, "order") {
			if h, ok := fast.Handle(fmt.Sprint("n", i)); ok && rapid.IntRange(0, 9).Draw(t, "in") > 0 {
				order = append(order, h)
			}
		}
		r := fast.Destinations(order...)
		gone := map[Handle]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "tries") {
			at := rapid.IntRange(0, nodes-1).Draw(t, "leaves")
			h, _ := fast.Handle(fmt.Sprint("n", at))
			if gone[h] {
				continue
			}
			got := r.Leave(h, running[at])
			undo := slow.Mark()
			want := leaveSlowly(slow, h, running[at], order, gone)
			if got != want {
				t.Fatalf("node n%d: %v has no place, want %v", at, got, want)
			}
			if got == nil && rapid.Bool().Draw(t, "settle") {
				for _, to := range r.Settle() {
					running[int(to)] = nil // who took pods does not leave: they have no names here
					gone[to] = gone[to] || false
				}
				gone[h] = true
			} else {
				r.Back()
				undo()
			}
			for h := range nodes {
				if d := cmp.Diff(slow.Free(Handle(h)), fast.Free(Handle(h))); d != "" {
					t.Fatalf("free on %s (-slow +fast):\n%s", slow.Name(Handle(h)), d)
				}
			}
		}
	})
}

// leaveSlowly has pods leave a node, and returns the one that has no place.
func leaveSlowly(c *Checker, h Handle, pods []*cluster.Pod, order []Handle, gone map[Handle]bool) *cluster.Pod {
	for _, p := range pods {
		if !c.Depends(p.Class) && !slices.ContainsFunc(order, func(to Handle) bool { return !gone[to] && c.Fits(&cluster.Pod{Class: p.Class}, c.Name(to)) }) {
			return p
		}
	}
	for _, p := range slices.Clone(c.Pods(c.Name(h))) {
		if p.Name != "" && !p.Daemon() {
			c.Evict(p, c.Name(h))
		}
	}
	for _, p := range pods {
		i := slices.IndexFunc(order, func(to Handle) bool {
			return to != h && !gone[to] && c.Fits(&cluster.Pod{Class: p.Class}, c.Name(to))
		})
		if i < 0 {
			return p
		}
		c.PlaceMany(p.Class, 1, order[i])
	}
	return nil
}

func rangeOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestADestinationThatIsShutTakesNobody(t *testing.T) {
	c := NewChecker(snapshot(node("a"), node("b"), node("c"), pod("p", on("a"))))
	a, _ := c.Handle("a")
	b, _ := c.Handle("b")
	d, _ := c.Handle("c")
	r := c.Destinations(b, d)
	r.Shut(b)
	if p := r.Leave(a, c.Pods("a")); p != nil {
		t.Fatalf("%s has no place", p)
	}
	if to := r.Settle(); !slices.Equal(to, []Handle{d}) {
		t.Errorf("moved to %v, want %v", to, d)
	}
	if last, ok := r.Last(d); ok {
		t.Errorf("%d could still take pods", last)
	}
}
