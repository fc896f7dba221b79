package plan_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// stuckWorld is classes of one pod each that none of the groups takes: a third is too large, a third wants a label that no group has, and a
// third is too large and does not tolerate the taint that every second group has.
func stuckWorld(classes, groups int) ([]any, []*cluster.Group) {
	var objects []any
	for i := range classes {
		change := []func(*corev1.Pod){CPU(fmt.Sprintf("%dm", 70000+i)), Labelled("app", fmt.Sprint("app-", i))}
		if i%3 == 1 {
			change = []func(*corev1.Pod){CPU(fmt.Sprintf("%dm", 100+i)), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }}
		}
		if i%3 == 2 {
			change = append(change, func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
			})
		}
		objects = append(objects, Pod(fmt.Sprintf("p%05d", i), change...))
	}
	sizes := &cluster.Sizes{Where: "here"}
	for cores := range 64 {
		for _, family := range []string{"A", "D", "E", "F", "H", "L"} {
			sizes.All = append(sizes.All, cluster.Size{Name: fmt.Sprint(family, cores+1), Family: family, Cores: cores + 1, MemoryMiB: 4096 * int64(cores+1), USDPerHour: float64(cores+1) / 20})
		}
	}
	var all []*cluster.Group
	for i := range groups {
		g := Group(fmt.Sprintf("g%02d", i), 0, 10)
		g.Template = g.Template.DeepCopy()
		cores := []string{"4", "8", "16", "32", "64"}[i%5]
		for _, list := range []corev1.ResourceList{g.Template.Status.Capacity, g.Template.Status.Allocatable} {
			list[corev1.ResourceCPU] = resource.MustParse(cores)
		}
		if i%2 == 1 {
			g.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		}
		g.Size, g.Sizes = "D"+cores, sizes
		all = append(all, g)
	}
	return objects, all
}

// BenchmarkStuck measures a cycle of 5,000 classes of pods that none of 50 groups takes: when they are new, and when nothing has changed.
func BenchmarkStuck(b *testing.B) {
	objects, groups := stuckWorld(5000, 50)
	s := cluster.New(Start, Objects(objects...), groups)
	allowed := policy.Default()
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plan.Decide(s, allowed, memory.Memory{})
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		var p plan.Planner
		_, m := p.Decide(s, allowed, memory.Memory{})
		for b.Loop() {
			_, m = p.Decide(s, allowed, m)
		}
	})
}
