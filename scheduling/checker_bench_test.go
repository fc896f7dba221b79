package scheduling

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// thousand is a cluster of 1,000 nodes in three zones with five pods each.
func thousand(options ...func(*corev1.Pod)) *cluster.Snapshot {
	var objects []any
	for i := range 1000 {
		name := fmt.Sprintf("node-%04d", i)
		objects = append(objects, node(name, nodeLabel(zone, fmt.Sprint(i%3))))
		for j := range 5 {
			objects = append(objects, pod(fmt.Sprintf("%s-%d", name, j), append(options, app(fmt.Sprint("app-", j)), on(name), requests("cpu", "600m", "memory", "1Gi"))...))
		}
	}
	return snapshot(objects...)
}

func BenchmarkNewChecker(b *testing.B) {
	s := thousand()
	b.ReportAllocs()
	for b.Loop() {
		NewChecker(s)
	}
}

// BenchmarkRefusals asks about one pod on every node; an operation is one pod and one node.
func BenchmarkRefusals(b *testing.B) {
	for name, p := range map[string]*cluster.Pod{
		"fits":          pod("p", requests("cpu", "500m")),
		"does not fit":  pod("p", requests("cpu", "2")),
		"with selector": pod("p", requests("cpu", "500m"), selects(zone, "1")),
		"with affinity": pod("p", requests("cpu", "500m"), near("app-1", zone)),
		"with spread":   pod("p", app("app-1"), requests("cpu", "500m"), spread("app-1", zone, 5)),
	} {
		b.Run(name, func(b *testing.B) {
			c := NewChecker(thousand())
			nodes := c.Nodes()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c.Refusals(p, nodes[i%len(nodes)])
				i++
			}
		})
	}
}

// BenchmarkFirstQuestion asks about pods never seen before.
func BenchmarkFirstQuestion(b *testing.B) {
	for name, option := range map[string]func(*corev1.Pod){
		"plain":    func(*corev1.Pod) {},
		"affinity": near("app-1", zone),
		"spread":   spread("app-1", corev1.LabelHostname, 5),
	} {
		b.Run(name, func(b *testing.B) {
			c := NewChecker(thousand())
			p := pod("p", app("app-1"), requests("cpu", "500m"), option)
			b.ReportAllocs()
			for b.Loop() {
				c.Refusals(new(*p), "node-0000")
			}
		})
	}
}

// BenchmarkFits looks for a node that takes a pod where none does; an operation is one pod and one node.
func BenchmarkFits(b *testing.B) {
	c := NewChecker(thousand())
	nodes, p := c.Nodes(), pod("p", requests("cpu", "2"))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Fits(p, nodes[i%len(nodes)])
		i++
	}
}

func BenchmarkPlaceAndUndo(b *testing.B) {
	c := NewChecker(thousand())
	p := pod("p", requests("cpu", "500m"))
	b.ReportAllocs()
	for b.Loop() {
		c.Place(p, "node-0500")()
	}
}
