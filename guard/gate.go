package guard

import (
	"sluice.dev/sluice/cluster"
)

// checkOpenGate holds a gate whose pod is not the one that was meant, has other gates, or has no room on a Ready node any more (S-41).
func checkOpenGate(w OpenGate, e Evidence) error {
	var pod *cluster.Pod
	for _, p := range e.Newest.Pending {
		if p.UID == w.UID && p.Namespace == w.Namespace && p.Name == w.Pod {
			pod = p
		}
	}
	switch n := e.Newest.Node(w.Node); {
	case pod == nil:
		return refuse("S-41", "pod %s/%s does not wait any more", w.Namespace, w.Pod)
	case !pod.AwaitsCapacity():
		return refuse("S-41", "pod %s does not wait behind gate %s alone", pod, cluster.CapacityGate)
	case n == nil:
		return refuse("S-41", "node %s, where pod %s has room, is gone", w.Node, pod)
	case !cluster.Ready(n.Object):
		return refuse("S-41", "node %s, where pod %s has room, is not Ready", w.Node, pod)
	case n.Object.Spec.Unschedulable, cluster.Noticed(n.Object):
		return refuse("S-41", "node %s, where pod %s has room, takes no pods any more", w.Node, pod)
	}
	return nil
}
