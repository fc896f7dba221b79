package nodes

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/scheduling/internal/resources"
)

// named is a node with these labels, given as keys and values in turn, two cores and room for ten pods.
func named(name string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		n.Labels[labels[i]] = labels[i+1]
	}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("10")}
	return n
}

// enter has nodes join.
func enter(t *Table, all ...*corev1.Node) (handles []Handle) {
	for _, n := range all {
		h := t.Node(n, nil)
		t.Enter(h)
		handles = append(handles, h)
	}
	return handles
}

func names(t *Table) (all []string) {
	for _, h := range t.Handles() {
		all = append(all, t.Name(h))
	}
	return all
}

func TestNodesAreListedByName(t *testing.T) {
	table := NewTable(2)
	h := enter(table, named("b"), named("d"))
	table.Order(h)
	enter(table, named("c"), named("a"))
	if got := names(table); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("nodes %v", got)
	}
	table.Leave(h[0])
	if _, there := table.Handle("b"); there || slices.Contains(names(table), "b") {
		t.Error("a node that left is there")
	}
}

func TestWhatIsTakenIsLeftNoMore(t *testing.T) {
	table := NewTable(1)
	h := enter(table, named("n"))[0]
	pod := resources.Needs([]resources.Amount{{Dim: resources.CPU, N: 500}}, []resources.Amount{{Dim: resources.CPU, N: 500}})
	table.Take(h, pod, 3)
	if left := table.Left(resources.CPU, h); left != 500 || table.Lacks(h, pod) {
		t.Errorf("%d left, lacks %t", left, table.Lacks(h, pod))
	}
	table.Take(h, pod, 1)
	if !table.Lacks(h, pod) || !table.Full(h, pod) {
		t.Error("the node has no core left, and a pod fits")
	}
	table.Take(h, pod, -4)
	if got := table.Free(h); got[resources.CPU] != 2000 || got[resources.Pods] != 10 {
		t.Errorf("when all is taken back %v is free", got)
	}
	table.Leave(h)
	if !table.Lacks(h, pod) {
		t.Error("a node that left takes a pod")
	}
}

// TestABlockIsFullOnlyWhenEachNodeOfItIs has one node among many take a pod: it must not be passed over with the others.
func TestABlockIsFullOnlyWhenEachNodeOfItIs(t *testing.T) {
	table := NewTable(2 * BlockLength)
	var all []*corev1.Node
	for i := range 2 * BlockLength {
		all = append(all, named(fmt.Sprintf("n%02d", i)))
	}
	h := enter(table, all...)
	core := resources.Needs([]resources.Amount{{Dim: resources.CPU, N: 1000}}, []resources.Amount{{Dim: resources.CPU, N: 1000}})
	for _, at := range h {
		table.Take(at, core, 2)
	}
	if !table.Full(h[0], core) || !table.Full(h[BlockLength], core) {
		t.Error("no node has a core, and a block is not full")
	}
	last := h[BlockLength-1]
	table.Take(last, core, -1)
	if table.Full(h[0], core) {
		t.Error("the last node of the block has a core")
	}
	if !table.Full(h[BlockLength], core) {
		t.Error("a node of another block has a core")
	}
}

func TestDevicesServeWhatANodeHasNoneOf(t *testing.T) {
	const gpu = "example.com/gpu"
	for name, c := range map[string]struct {
		allocatable string
		want        int64
	}{
		"nothing is allocatable":   {"", resources.Plenty},
		"none of it is":            {"0", resources.Plenty},
		"a device plugin has some": {"2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(1)
			table.Serve([]corev1.ResourceName{gpu, "cores"})
			n := named("n")
			if c.allocatable != "" {
				n.Status.Allocatable[gpu] = resource.MustParse(c.allocatable)
			}
			h := enter(table, n)[0]
			if left := table.Left(table.Dimension(gpu), h); left != c.want {
				t.Errorf("%d left, want %d", left, c.want)
			}
			asks := resources.Needs([]resources.Amount{{Dim: table.Dimension(gpu), N: 1}}, nil)
			if !table.Served(asks) || table.Served(resources.Needs([]resources.Amount{{Dim: resources.CPU, N: 1}}, nil)) {
				t.Error("devices serve something else")
			}
		})
	}
}

func TestAMachineIsWhatItsTemplateSays(t *testing.T) {
	table := NewTable(1)
	like := named("of the group", "pool", "a", corev1.LabelHostname, "of the group")
	like.Spec.ProviderID, like.Spec.Unschedulable = "azure:///1", true
	of := table.Template(like, nil, nil)
	h := table.Machine("new", of)
	table.Enter(h)
	o := table.Object(h)
	named := o.Name == "new" && o.Labels[corev1.LabelHostname] == "new"
	if !named || o.Labels["pool"] != "a" || o.Spec.ProviderID != "" || o.Spec.Unschedulable {
		t.Errorf("the machine is %+v", o)
	}
	if table.Left(resources.CPU, h) != 2000 || table.Like(h) != of {
		t.Errorf("it has %d thousandths of cores left", table.Left(resources.CPU, h))
	}
	if d := table.Topology("pool"); d.Of(h) < 0 {
		t.Error("it is in no domain of its label")
	}
	if like.Labels[corev1.LabelHostname] != "of the group" {
		t.Error("the template was changed")
	}
}

func TestTemplatesThatOfferTheSameAreTheSame(t *testing.T) {
	table := NewTable(0)
	plain := func(change ...func(*Template)) *Template {
		of := table.Template(named("n", "pool", "a"), nil, []string{"daemon"})
		for _, c := range change {
			c(of)
		}
		return of
	}
	for name, c := range map[string]struct {
		other *Template
		want  bool
	}{
		"nothing differs":               {plain(), true},
		"another label":                 {table.Template(named("n", "pool", "b"), nil, []string{"daemon"}), false},
		"other daemons":                 {table.Template(named("n", "pool", "a"), nil, nil), false},
		"it attaches fewer volumes":     {plain(func(of *Template) { of.Attaching(2) }), false},
		"nobody knows its features":     {plain(func(of *Template) { of.Unproven() }), false},
		"its name is not its machines'": {table.Template(named("m", "pool", "a"), nil, []string{"daemon"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plain().Digest() == c.other.Digest(); got != c.want {
				t.Errorf("same: %t", got)
			}
		})
	}
}
