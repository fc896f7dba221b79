package kube

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
)

// sized is a node of a pool with so much memory, of which no part is shared.
func sized(name, memory string) *corev1.Node {
	n := node(name)
	n.Labels = map[string]string{"pool": string([]byte("workers")), "kubernetes.io/hostname": name}
	n.Annotations = map[string]string{"sluice.dev/note": string([]byte("kept"))}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("4"), corev1.ResourceMemory: quantity.MustParse(memory)}
	n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	return n
}

func TestNodesShareWhatTheyHaveInCommon(t *testing.T) {
	var s shares
	a, b, other := s.node(sized("a", "16Gi")), s.node(sized("b", "16Gi")), s.node(sized("c", "15Gi"))
	same := func(x, y corev1.ResourceList) bool {
		return reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
	}
	if !same(a.Status.Allocatable, b.Status.Capacity) {
		t.Error("equal amounts are kept twice")
	}
	if same(a.Status.Allocatable, other.Status.Allocatable) {
		t.Error("amounts that differ are shared")
	}
	if unsafe.StringData(a.Labels["pool"]) != unsafe.StringData(other.Labels["pool"]) {
		t.Error("one label's value is kept twice")
	}
	for _, n := range []*corev1.Node{a, b, other} {
		memory := "16Gi"
		if n == other {
			memory = "15Gi"
		}
		if d := cmp.Diff(sized(n.Name, memory), n); d != "" {
			t.Errorf("sharing changed what node %s says (-before +after)\n%s", n.Name, d)
		}
	}
}

func TestTextsOfNodesThatAreGoneAreForgotten(t *testing.T) {
	var s shares
	held := map[name]*corev1.Node{{"", "stays"}: s.node(sized("stays", "16Gi"))}
	before := maps.Clone(held)
	for i := range 3 * spareShares {
		s.node(sized(fmt.Sprintf("gone-%d", i), fmt.Sprintf("%dMi", i+1)))
		s.tidy(held)
	}
	if s.len() > spareShares+100 {
		t.Errorf("%d texts and %d amounts are remembered for one node", len(s.texts), len(s.amounts))
	}
	if d := cmp.Diff(before, held); d != "" {
		t.Error(d)
	}
}
