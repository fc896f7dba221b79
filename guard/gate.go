package guard

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// checkOpenGate holds a gate whose pod is not the one that was meant, has other gates, or has no room on a Ready node any more (S-41).
func checkOpenGate(w OpenGate, e Evidence) error {
	var pod *cluster.Pod
	for _, p := range e.Newest.Pending {
		if p.UID == w.UID && p.Namespace == w.Namespace && p.Name == w.Pod {
			pod = p
		}
	}
	about := reason.Pod(w.Namespace, w.Pod)
	switch n := e.Newest.Node(w.Node); {
	case pod == nil:
		return refuse("S-41", reason.PodReplaced, about)
	case !pod.AwaitsCapacity():
		return refuse("S-41", reason.PodOtherGates, about, "gate", cluster.CapacityGate)
	case n == nil:
		return refuse("S-41", reason.GateNodeRefuses, about, "node", w.Node, "state", "gone")
	case !cluster.Ready(n.Object):
		return refuse("S-41", reason.GateNodeRefuses, about, "node", w.Node, "state", "not Ready")
	case n.Object.Spec.Unschedulable, cluster.Noticed(n.Object):
		return refuse("S-41", reason.GateNodeRefuses, about, "node", w.Node, "state", "cordoned")
	}
	return nil
}
