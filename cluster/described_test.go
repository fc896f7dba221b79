package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestWhatTheCloudDescribesOtherwiseIsSeen has the cloud describe the machines of an empty group otherwise from one snapshot to the next,
// in one thing at a time.
func TestWhatTheCloudDescribesOtherwiseIsSeen(t *testing.T) {
	for name, change := range map[string]func(*corev1.Node){
		"nothing":                          func(*corev1.Node) {},
		"a label":                          func(n *corev1.Node) { n.Labels["pool"] = "web" },
		"one label more":                   func(n *corev1.Node) { n.Labels["disk"] = "fast" },
		"an annotation":                    func(n *corev1.Node) { n.Annotations = map[string]string{cluster.GuessedLabels: "pool"} },
		"what a machine has":               func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse("8") },
		"what pods may have of it":         func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("14Gi") },
		"a device":                         func(n *corev1.Node) { n.Status.Allocatable[gpu] = resource.MustParse("1") },
		"a resource that is there no more": func(n *corev1.Node) { delete(n.Status.Allocatable, corev1.ResourcePods) },
		"a taint": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
		},
		"the operating system": func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" },
	} {
		t.Run(name, func(t *testing.T) {
			describe := func(change func(*corev1.Node)) *cluster.Group {
				g := Group("a", 0, 5)
				g.Template.Labels = map[string]string{"pool": "render"}
				g.Template.Status.Capacity, g.Template.Status.Allocatable = g.Template.Status.Capacity.DeepCopy(), g.Template.Status.Allocatable.DeepCopy()
				change(g.Template)
				return g
			}
			before := cluster.New(Start, Objects(), []*cluster.Group{describe(func(*corev1.Node) {})})
			after := before.Next(Start.Add(time.Second), Objects(), []*cluster.Group{describe(change)})
			if diff := cmp.Diff(describe(change).Template, after.Group("a").Template); diff != "" {
				t.Errorf("template (-described +seen):\n%s", diff)
			}
			if same := after.Group("a").Template == before.Group("a").Template; same != (name == "nothing") {
				t.Errorf("the template is the same one: %t", same)
			}
		})
	}
}
