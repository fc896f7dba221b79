package scheduling

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
)

// May is the first of the pods that kube-scheduler may put on the node beside those that run there, nil when there is none.
//
// It asks about that node alone, whatever the cluster's size. A pod that wants others near it, or evenly spread, may find them elsewhere,
// so it counts as welcome. So does one that others elsewhere would keep away. Of the objects it takes all but nodes and pods.
func May(pods []*cluster.Pod, node *corev1.Node, running []*cluster.Pod, objects cluster.Objects) *cluster.Pod {
	if len(pods) == 0 {
		return nil
	}
	objects.Nodes, objects.Pods = []*corev1.Node{node}, running
	c := NewChecker(&cluster.Snapshot{Objects: objects, Nodes: []*cluster.Node{{Object: node, Pods: running}}, Pending: pods})
	asked := make(map[*cluster.Class]bool, len(pods))
	for _, p := range pods {
		if !asked[p.Class] && c.world.Answer(c.world.Classes.Kind(p.Class), 0, nil) != classes.Never {
			return p
		}
		asked[p.Class] = true
	}
	return nil
}
