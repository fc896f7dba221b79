package guard_test

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
)

// opening takes the gate off a pod that has room on agents-0.
func opening() *world {
	w := agents()
	w.objects.Pods = append(w.objects.Pods, Pod("gated", gates(cluster.CapacityGate)))
	w.write = guard.OpenGate{Namespace: "default", Pod: "gated", UID: "uid-gated", Node: "agents-0"}
	return w
}

func gates(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SchedulingGates = nil
		for _, name := range names {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
	}
}
