package cluster_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// seen is all that a snapshot says, as text.
func seen(s *cluster.Snapshot) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "node %s group %q marked %v awaits %v:", n.Name(), n.Group, n.Marked, n.Awaits)
		for _, p := range n.Pods {
			fmt.Fprintf(&b, " %s/%s", p, p.Phase)
		}
		if n.Instance != nil {
			fmt.Fprintf(&b, " is %s of node %s", n.Instance.Machine(), n.Instance.Node)
		}
		for _, in := range n.Suspects {
			fmt.Fprintf(&b, " or %s", in.Machine())
		}
		b.WriteString("\n")
	}
	fmt.Fprintln(&b, "pending", s.Pending)
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "group %s %d read %s learned %t:", g.ID, g.Capacity, g.Read.At, g.Learned != nil)
		for _, in := range g.Instances {
			fmt.Fprintf(&b, " %s %s on %q", in.ID, in.State, in.Node)
		}
		b.WriteString("\n")
	}
	for i := range 4 {
		fmt.Fprintln(&b, "stray", s.Stray(fmt.Sprintf("n-%d", i)))
	}
	return b.String()
}

// history is a cluster that changes by chance. Objects that did not change are the same pointers.
type history struct {
	nodes    map[string]*corev1.Node
	pods     map[string]*cluster.Pod
	machines map[string]*cluster.Instance
	list     []*corev1.Node // as last handed out, nil when it has to be made again
	read     time.Time
}

func (h *history) step(t *rapid.T, now time.Time) {
	i := rapid.IntRange(0, 3).Draw(t, "which")
	node, pod := fmt.Sprintf("n-%d", i), fmt.Sprintf("p-%d", rapid.IntRange(0, 7).Draw(t, "pod"))
	switch rapid.SampledFrom([]string{"bind", "wait", "finish", "delete", "gone", "node", "lost", "machine", "state", "unjoined", "read"}).Draw(t, "do") {
	case "bind":
		h.pods[pod] = Pod(pod, On(node))
	case "wait":
		age := time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Minute
		h.pods[pod] = Pod(pod, func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-age) })
	case "finish":
		h.pods[pod] = Pod(pod, On(node), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	case "delete":
		h.pods[pod] = Pod(pod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} })
	case "gone":
		delete(h.pods, pod)
	case "node":
		h.nodes[node], h.list = Node(node, func(n *corev1.Node) { n.CreationTimestamp.Time = now.Add(-time.Minute) }), nil
	case "lost":
		delete(h.nodes, node)
		h.list = nil
	case "machine":
		h.machines[node] = Machine(fmt.Sprint(i), node)
	case "state":
		h.machines[node] = Machine(fmt.Sprint(i), node, In(cluster.StateDeleting))
	case "unjoined":
		delete(h.machines, node)
	case "read":
		h.read = now
	}
}

// observe hands out the present state as an observer and a provider do: groups are made anew each time.
func (h *history) observe() (cluster.Objects, []*cluster.Group) {
	if h.list == nil {
		h.list = []*corev1.Node{}
		for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
			h.list = append(h.list, h.nodes[name])
		}
	}
	objects := cluster.Objects{Nodes: h.list}
	for _, name := range slices.Sorted(maps.Keys(h.pods)) {
		objects.Pods = append(objects.Pods, h.pods[name])
	}
	g := Group("agents", 0, 9)
	g.Read.At = h.read
	for _, name := range slices.Sorted(maps.Keys(h.machines)) {
		in := *h.machines[name]
		in.Group = "agents"
		g.Instances = append(g.Instances, &in)
	}
	return objects, []*cluster.Group{g}
}

func TestTheNextSnapshotSaysWhatANewOneWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{nodes: map[string]*corev1.Node{}, pods: map[string]*cluster.Pod{}, machines: map[string]*cluster.Instance{}, read: Start}
		now := Start
		objects, groups := h.observe()
		last := cluster.New(now, objects, groups)
		for range rapid.IntRange(1, 12).Draw(t, "cycles") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				h.step(t, now)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "pause")) * time.Second)
			before := seen(last)
			objects, groups := h.observe()
			next := last.Next(now, objects, groups)
			if diff := cmp.Diff(seen(cluster.New(now, objects, groups)), seen(next)); diff != "" {
				t.Fatalf("the next snapshot (-new +next):\n%s", diff)
			}
			if diff := cmp.Diff(before, seen(last)); diff != "" {
				t.Fatalf("the snapshot before changed:\n%s", diff)
			}
			last = next
		}
	})
}

func TestWhatDidNotChangeIsTheSamePointer(t *testing.T) {
	h := &history{
		nodes:    map[string]*corev1.Node{"n-0": Node("n-0"), "n-1": Node("n-1")},
		pods:     map[string]*cluster.Pod{"p-0": Pod("p-0", On("n-0")), "p-1": Pod("p-1", On("n-1"))},
		machines: map[string]*cluster.Instance{"n-0": Machine("0", "n-0"), "n-1": Machine("1", "n-1")}, read: Start,
	}
	objects, groups := h.observe()
	first := cluster.New(Start, objects, groups)
	h.pods["p-2"] = Pod("p-2", On("n-1"))
	objects, groups = h.observe()
	second := first.Next(Start.Add(time.Second), objects, groups)
	if first.Nodes[0] != second.Nodes[0] || first.Nodes[1] == second.Nodes[1] {
		t.Error("a pod came to n-1: n-0 must stay the node it was, and n-1 must not")
	}
	h.nodes["n-2"], h.list = Node("n-2"), nil
	objects, groups = h.observe()
	third := second.Next(Start.Add(2*time.Second), objects, groups)
	if second.Nodes[0] != third.Nodes[0] || second.Nodes[1] != third.Nodes[1] {
		t.Error("a node came: the others must stay what they were")
	}
	if second.Groups[0].Instances[0] != third.Groups[0].Instances[0] {
		t.Error("a machine that did not change was exchanged")
	}
}
