package cluster_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// seen is all that a snapshot says, as text.
func seen(s *cluster.Snapshot) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "node %s group %q numbered %t marked %v awaits %v:", n.Name(), n.Group, n.Numbered, n.Marked, n.Awaits)
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
		fmt.Fprintf(&b, "group %s %d read %s template %s learned %s drift %v:", g.ID, g.Capacity, g.Read.At, paper(g.Template), paper(g.Learned), g.Drift)
		for _, in := range g.Instances {
			fmt.Fprintf(&b, " %s %s on %q", in.ID, in.State, in.Node)
		}
		b.WriteString("\n")
	}
	for i := range 4 {
		fmt.Fprintln(&b, "stray", s.Orphan(fmt.Sprintf("n-00000%d", i)))
	}
	return b.String()
}

func paper(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is plain data
	}
	return string(text)
}

// history is a cluster that changes by chance. Objects that did not change are the same pointers.
type history struct {
	nodes     map[string]*corev1.Node
	pods      map[string]*cluster.Pod
	machines  map[string]*cluster.Instance
	list      []*corev1.Node // as last handed out, nil when it has to be made again
	read      time.Time
	capacity  int
	offered   *corev1.Node // what the cloud says of the next machine of the group agents
	learned   map[cluster.GroupID]*cluster.Learned
	parked    bool              // the group batch has a parked machine
	reported  map[string]string // of both groups
	hostnames bool              // it tells what the hostnames of its machines are
}

// change exchanges the node object, if the node is there.
func (h *history) change(name string, change func(*corev1.Node)) {
	if old := h.nodes[name]; old != nil {
		n := old.DeepCopy()
		change(n)
		h.nodes[name], h.list = n, nil
	}
}

func (h *history) step(t *rapid.T, now time.Time) {
	i := rapid.IntRange(0, 3).Draw(t, "which")
	node, pod := fmt.Sprintf("n-00000%d", i), fmt.Sprintf("p-%d", rapid.IntRange(0, 7).Draw(t, "pod"))
	switch rapid.SampledFrom([]string{"bind", "wait", "finish", "delete", "gone", "node", "lost", "machine", "state", "unjoined", "read",
		"silent", "heartbeat", "label", "taint", "uuid", "address", "namesake", "marked", "devices", "capacity", "offer", "foreign", "parked", "hostnames", "told", "embedded"}).Draw(t, "do") {
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
		h.machines[node] = Machine(fmt.Sprint(i), node, In(rapid.SampledFrom([]cluster.State{cluster.StateDeleting, cluster.StateCreating}).Draw(t, "state")))
	case "silent":
		h.change(node, NotReady(now))
	case "unjoined":
		delete(h.machines, node)
		delete(h.machines, "batch-"+node)
	case "read":
		h.read = now
	case "heartbeat":
		h.change(node, func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime.Time = now })
	case "label":
		h.change(node, func(n *corev1.Node) { n.Labels["team"] = pod })
	case "taint":
		h.change(node, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: pod, Effect: corev1.TaintEffectNoSchedule}}
		})
	case "uuid":
		h.change(node, func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "VM-" + pod[2:] })
	case "address":
		h.change(node, func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0." + pod[2:]}}
		})
	case "namesake":
		h.change(node, func(n *corev1.Node) { n.Labels[corev1.LabelHostname] = "N-" + pod[2:] })
	case "marked":
		h.change(node, func(n *corev1.Node) { Removing(now, cluster.Machine{Group: "batch", ID: "7", UID: "vm-7"})(n) })
	case "devices":
		h.change(node, func(n *corev1.Node) {
			n.Status.Allocatable = maps.Clone(n.Status.Allocatable)
			n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
		})
	case "capacity":
		h.capacity = rapid.IntRange(0, 9).Draw(t, "capacity")
	case "offer":
		h.offered = Node("", func(n *corev1.Node) {
			n.Status.Allocatable = maps.Clone(n.Status.Allocatable)
			n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
		})
	case "foreign":
		in := Machine(fmt.Sprint(i), node, func(in *cluster.Instance) {
			in.Group, in.ProviderID, in.PrivateIPs = "batch", "cloud:///batch/"+pod[2:], []string{"10.0.0." + pod[2:]}
		})
		h.machines["batch-"+node] = in
		h.change(node, func(n *corev1.Node) { n.Spec.ProviderID = in.ProviderID })
	case "parked":
		h.parked = !h.parked
	case "told":
		h.reported = map[string]string{"model": pod}
		if i > 0 {
			h.reported[cluster.AboutLabel(corev1.LabelInstanceTypeStable)] = "D4"
		}
	case "embedded":
		h.change(node, func(n *corev1.Node) {
			n.Spec.ProviderID, n.Labels[corev1.LabelInstanceTypeStable] = "k3s://"+node, rapid.SampledFrom([]string{"k3s", "D4"}).Draw(t, "type")
		})
	case "hostnames":
		h.hostnames = !h.hostnames
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
	agents, batch := Group("agents", 0, 9), Group("batch", 0, 9)
	agents.Capacity = h.capacity
	if h.offered != nil {
		agents.Template = h.offered
	}
	if h.parked {
		batch.Parked = []*cluster.Instance{Machine("9", "n-9", func(in *cluster.Instance) { in.Group, in.UID = "batch", "vm-3" })}
	}
	if h.hostnames {
		batch.HostnamePrefix = "N-"
	}
	groups := []*cluster.Group{batch, agents}
	for _, g := range groups {
		g.Read.At, g.Learned, g.Reported = h.read, h.learned[g.ID], h.reported
		if g.Template == h.offered {
			continue
		}
		g.Template.Labels[corev1.LabelInstanceTypeStable], g.Template.Labels[corev1.LabelTopologyZone] = "D4", "west-1"
	}
	for _, g := range groups {
		for _, name := range slices.Sorted(maps.Keys(h.machines)) {
			if in := *h.machines[name]; cmp.Or(in.Group, "agents") == g.ID {
				in.Group = g.ID
				g.Instances = append(g.Instances, &in)
			}
		}
	}
	return objects, groups
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
			if diff := gocmp.Diff(seen(cluster.New(now, objects, groups)), seen(next)); diff != "" {
				t.Fatalf("the next snapshot (-new +next):\n%s", diff)
			}
			if diff := gocmp.Diff(before, seen(last)); diff != "" {
				t.Fatalf("the snapshot before changed:\n%s", diff)
			}
			last = next
			for _, g := range next.Groups {
				if h.learned == nil {
					h.learned = map[cluster.GroupID]*cluster.Learned{}
				}
				h.learned[g.ID] = g.Learned
			}
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

// TestMachinesTellWhoseOtherNodesAre lets machines come and go whose provider ids begin as that of a node which is none of them.
func TestMachinesTellWhoseOtherNodesAre(t *testing.T) {
	h := &history{nodes: map[string]*corev1.Node{"n-0": Node("n-0", func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///batch/8" })}, read: Start}
	other := Machine("1", "n-1", func(in *cluster.Instance) { in.Group, in.ProviderID = "batch", "cloud:///batch/1" })
	objects, groups := h.observe()
	s := cluster.New(Start, objects, groups)
	for i, want := range []cluster.GroupID{"batch", "", "batch"} {
		h.machines = map[string]*cluster.Instance{}
		if want != "" {
			h.machines["batch-n-1"] = other
		}
		objects, groups = h.observe()
		s = s.Next(Start.Add(time.Duration(i)*time.Second), objects, groups)
		if got := s.Nodes[0].Group; got != want {
			t.Errorf("after change %d the node is of group %q, want %q", i, got, want)
		}
	}
}

// TestTheNextSnapshotHasWhatAMachineSays has a machine say something, and then something else, while all else stays.
func TestTheNextSnapshotHasWhatAMachineSays(t *testing.T) {
	says := func(d *cluster.Diagnosis) []*cluster.Group {
		in := &cluster.Instance{ID: "0", Group: "a", UID: "u0", State: cluster.StateRunning, Diagnosis: d}
		return []*cluster.Group{{ID: "a", Capacity: 1, Instances: []*cluster.Instance{in}}}
	}
	s := cluster.New(Start, Objects(), says(nil))
	for i, d := range []*cluster.Diagnosis{
		{At: Start, Problem: "it is empty"}, {At: Start.Add(time.Minute), Problem: "it is empty"}, {At: Start.Add(time.Minute), Lines: []string{"x"}, Cause: "c", Remedy: "r"}, nil,
	} {
		s = s.Next(Start.Add(time.Duration(i+1)*10*time.Second), Objects(), says(d))
		if diff := gocmp.Diff(d, s.Groups[0].Instances[0].Diagnosis); diff != "" {
			t.Errorf("after %d changes (-said +seen)\n%s", i+1, diff)
		}
	}
}
