package scheduling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// TestARowThatRecallsFindsTheSamePlaces turns a cluster over, with machines that are opened beside its nodes, fills rows with much the same
// pods in each cycle, some of which stand from cycle to cycle, and holds the places to those of a checker that remembers nothing.
func TestARowThatRecallsFindsTheSamePlaces(t *testing.T) {
	repeated, stood := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(from, to int, what string) int { return rapid.IntRange(from, to).Draw(t, what) }
		nodes, pods := map[string]*corev1.Node{}, map[string]*cluster.Pod{}
		change := func() {
			name := fmt.Sprintf("n%02d", draw(0, 15, "node"))
			switch draw(0, 3, "what") {
			case 0:
				delete(nodes, name)
			default:
				nodes[name] = node(name, nodeLabel(zone, fmt.Sprint(draw(1, 2, "zone"))), allocatable("cpu", fmt.Sprint(draw(1, 8, "cpu"))))
				if draw(0, 5, "tainted") == 0 {
					taint("spot", "", corev1.TaintEffectNoSchedule)(nodes[name])
				}
			}
		}
		run := func() {
			name := fmt.Sprint("r", draw(0, 9, "pod"))
			if pods[name] != nil {
				delete(pods, name)
				return
			}
			pods[name] = pod(name, on(fmt.Sprintf("n%02d", draw(0, 15, "on"))), requests("cpu", fmt.Sprint(draw(1, 3, "cpu"))), app("db"))
		}
		for range 20 {
			change()
		}
		var demands []*cluster.Class
		counts := []int{}
		for i := range draw(3, 9, "demands") {
			p := pod(fmt.Sprint("d", i), requests("cpu", fmt.Sprintf("%d00m", draw(3, 30, "cpu"))), app(fmt.Sprint(i)))
			switch draw(0, 9, "kind") {
			case 0:
				p = wild(t, fmt.Sprint("d", i))
			case 1:
				p = pod(fmt.Sprint("d", i), requests("cpu", "200m"), hostPort(80, "", ""))
			case 2:
				p = pod(fmt.Sprint("d", i), requests("cpu", "400m"), selects(zone, "1"), tolerates("spot"))
			}
			demands, counts = append(demands, p.Class), append(counts, draw(1, 12, "pods"))
		}
		machines, size := draw(0, 4, "machines"), draw(2, 6, "size")
		type seat struct {
			node string
			on   Handle
			pods int
		}
		var seats map[int][]seat // of the demands' pods, in the last cycle
		var s *cluster.Snapshot
		var c *Checker
		var last *Row
		for range draw(2, 6, "cycles") {
			o := cluster.Objects{Namespaces: namespaces}
			for _, name := range sortedKeys(nodes) {
				o.Nodes = append(o.Nodes, nodes[name])
			}
			for _, name := range sortedKeys(pods) {
				o.Pods = append(o.Pods, pods[name])
			}
			if s == nil {
				s = cluster.New(midnight, o, nil)
			} else {
				s = s.Next(midnight, o, nil)
			}
			places := func(c *Checker, stand bool, row func() *Row) ([]string, map[int][]seat) {
				keep := make([][]Seat, len(demands))
				var lodgers []Lodger
				for i, of := range demands {
					for _, s := range seats[i] {
						if h, there := c.Handle(s.node); there {
							keep[i] = append(keep[i], Seat{On: h, Held: stand && h == s.on, Pods: s.pods})
						}
					}
					if stand && !slices.ContainsFunc(lodgers, func(l Lodger) bool { return l.Of.Key == of.Key }) {
						lodgers = append(lodgers, Lodger{of, counts[i], keep[i]})
					}
				}
				c.Lodge(lodgers)
				stood += c.Lodged()
				template := c.Template(node("", nodeLabel(zone, "1"), allocatable("cpu", fmt.Sprint(size))))
				for i := range machines {
					c.Open(template, fmt.Sprintf("n%02d-open", 3*i))
				}
				r := row()
				var all []string
				found := map[int][]seat{}
				left := slices.Clone(counts)
				take := func(i int, h Handle, n int) {
					all = append(all, fmt.Sprintf("%d of %d on %s", n, i, c.Name(h)))
					found[i] = append(found[i], seat{c.Name(h), h, n})
					left[i] -= n
				}
				for i, of := range demands {
					for _, s := range seats[i] {
						if _, known := c.Handle(s.node); known && strings.Contains(s.node, "open") {
							h, _ := c.Handle(s.node)
							keep[i] = append(keep[i], Seat{On: h, Pods: s.pods})
						}
					}
					for _, s := range r.Keep(of, left[i], keep[i]) {
						take(i, s.On, s.Pods)
					}
				}
				for again := range 2 {
					for i, of := range demands {
						if again > 0 {
							left[i] = counts[i]
						}
						r.Fill(of, left[i], func(h Handle, n int) { take(i, h, n) })
						all = append(all, fmt.Sprintf("%d of %d have none", left[i], i))
					}
				}
				return all, found
			}
			c = NewChecker(s, After(c))
			got, found := places(c, true, func() *Row {
				r := c.Row(c.Handles()...)
				r.Recall(last)
				last = r
				return r
			})
			last.Rest()
			repeated += last.memory.next
			fresh := NewChecker(s)
			want, _ := places(fresh, false, func() *Row { return fresh.Row(fresh.Handles()...) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("places (-fresh +recalled):\n%s", diff)
			}
			if seats = nil; draw(0, 2, "places are kept") > 0 {
				seats = found
			}
			for range draw(0, 3, "changes") {
				change()
			}
			for range draw(0, 2, "pods that come and go") {
				run()
			}
			for range draw(0, 2, "demands that change") {
				counts[draw(0, len(counts)-1, "which")] = draw(1, 12, "pods")
			}
			if i := draw(0, 3*len(demands), "order"); i < len(demands) {
				j := draw(0, len(demands)-1, "with")
				demands[i], demands[j], counts[i], counts[j] = demands[j], demands[i], counts[j], counts[i]
				if seats != nil {
					seats[i], seats[j] = seats[j], seats[i]
				}
			}
			if draw(0, 3, "machines change") == 0 {
				machines, size = draw(0, 4, "machines"), draw(size, size+1, "size")
			}
		}
	})
	if repeated == 0 || stood < 200 {
		t.Errorf("rows recalled %d fills, and %d pods stood", repeated, stood)
	}
}
