package guard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
)

// TestAPodThatHasComeHoldsOnlyNodesThatItFits has a pod come between the decision and the write.
func TestAPodThatHasComeHoldsOnlyNodesThatItFits(t *testing.T) {
	beside := func(apps string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": apps}}}}}}
		}
	}
	for name, c := range map[string]struct {
		pod   []func(*corev1.Pod)
		holds bool
	}{
		"it fits":                          {nil, true},
		"it wants a pod near that is away": {[]func(*corev1.Pod){beside("away")}, true},
		"it is too large":                  {[]func(*corev1.Pod){CPU("64")}, false},
		"it goes to another node":          {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "agents-2"} }}, false},
		"it is behind a gate":              {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}} }}, false},
		"it is expendable":                 {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.Priority = new(int32(-100)) }}, false},
	} {
		for which, begin := range map[string]func() *world{"deletion": deleting, "cordon": cordoning} {
			t.Run(name+", "+which, func(t *testing.T) {
				w := begin()
				w.evidence.Decided = cluster.New(Start, w.objects, w.groups)
				w.objects.Pods = append(w.objects.Pods, Pod("new", c.pod...))
				var refused *guard.Refusal
				err := w.check()
				if holds := errors.As(err, &refused) && refused.Property == "S-16"; holds != c.holds || !c.holds && err != nil {
					t.Errorf("%v, want a refusal by S-16: %t", err, c.holds)
				}
			})
		}
	}
}

// BenchmarkNewcomers checks one deletion in a cluster of 5,000 nodes, while 100 pods of as many classes have come since the decision that
// do not fit.
func BenchmarkNewcomers(b *testing.B) {
	w := deleting()
	for i := range 5000 {
		name := fmt.Sprintf("other-%04d", i)
		w.objects.Nodes = append(w.objects.Nodes, Node(name))
		w.objects.Pods = append(w.objects.Pods, Pod("on-"+name, On(name)))
	}
	w.evidence.Decided = cluster.New(Start, w.objects, w.groups)
	for i := range 100 {
		w.objects.Pods = append(w.objects.Pods, Pod(fmt.Sprintf("new-%02d", i), CPU(fmt.Sprint(64+i))))
	}
	w.evidence.Newest = cluster.New(Start.Add(time.Minute), w.objects, w.groups)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.check(); err != nil {
			b.Fatal(err)
		}
	}
}
