package scheduling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// TestALaterCheckerAnswersAsANewOne turns a cluster over from snapshot to snapshot and holds the checker that follows it to
// kube-scheduler's plugins.
func TestALaterCheckerAnswersAsANewOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := map[string]*corev1.Node{}
		pods := map[string]*cluster.Pod{}
		var last *cluster.Snapshot
		var c *Checker
		for i := range rapid.IntRange(2, 5).Draw(t, "cycles") {
			for range rapid.IntRange(1, 4).Draw(t, "nodes that change") {
				name := fmt.Sprint("n", rapid.IntRange(0, 6).Draw(t, "node"))
				if nodes[name] != nil && rapid.Bool().Draw(t, "leaves") {
					delete(nodes, name)
					continue
				}
				nodes[name] = node(name, nodeLabel(zone, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "zone")), allocatable("cpu", rapid.SampledFrom([]string{"2", "4"}).Draw(t, "size")))
				if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
					taint("spot", "", corev1.TaintEffectNoSchedule)(nodes[name])
				}
			}
			for range rapid.IntRange(1, 5).Draw(t, "pods that change") {
				name := fmt.Sprint("p", rapid.IntRange(0, 9).Draw(t, "pod"))
				if pods[name] != nil && rapid.Bool().Draw(t, "leaves") {
					delete(pods, name)
					continue
				}
				var options []func(*corev1.Pod)
				if rapid.Bool().Draw(t, "runs") {
					options = append(options, on(fmt.Sprint("n", rapid.IntRange(0, 6).Draw(t, "on"))))
					if rapid.IntRange(0, 3).Draw(t, "is deleted") == 0 {
						options = append(options, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: midnight} })
					}
				}
				pods[name] = wild(t, name, options...)
			}
			o := cluster.Objects{Namespaces: namespaces}
			for _, name := range sortedKeys(nodes) {
				o.Nodes = append(o.Nodes, nodes[name])
			}
			for _, name := range sortedKeys(pods) {
				o.Pods = append(o.Pods, pods[name])
			}
			slices.SortStableFunc(o.Pods, func(a, b *cluster.Pod) int { return strings.Compare(a.Namespace, b.Namespace) })
			if last == nil {
				last = cluster.New(midnight, o, nil)
			} else {
				last = last.Next(midnight, o, nil)
			}
			c = NewChecker(last, After(c))
			for fresh, i := NewChecker(last), 0; i < len(o.Pods); i++ {
				if got, want := c.Depends(o.Pods[i].Class), fresh.Depends(o.Pods[i].Class); got != want {
					t.Fatalf("where %s goes depends on other pods: %t, a new checker says %t", o.Pods[i], got, want)
				}
			}
			for _, n := range last.Nodes {
				resource, used, leaving := c.Load(n)
				if r, u, l := NewChecker(last).Load(n); r != resource || u != used || l != leaving {
					t.Fatalf("%s has %g of its %s asked for, leaving %t; a new checker says %g of its %s, %t", n.Name(), used, resource, leaving, u, r, l)
				}
			}
			var asked []*cluster.Pod
			for _, p := range o.Pods {
				asked = append(asked, &cluster.Pod{Class: p.Class, Name: p.Name})
			}
			agree(t, c, asked)
			if present := c.Nodes(); len(present) > 0 && len(asked) > 0 {
				c.Place(asked[0], present[0])
				c.Remove(present[len(present)-1])
				c.Add(node(fmt.Sprint("new", i), nodeLabel(zone, "3")), asked[len(asked)-1])
				agree(t, c, asked)
			}
		}
	})
}

var namespaces = []*corev1.Namespace{
	{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "x"}}},
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
