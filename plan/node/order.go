package node

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Loss is what the pods are worth that leave with a node.
type Loss struct {
	Cost     int64 // of their deletion, summed up
	Priority int64 // the highest of them, counted from 1 for the least that there is; 0 where nobody leaves
}

// add counts a pod.
func (l *Loss) add(p *cluster.Pod) {
	if said, ok := p.Annotations[corev1.PodDeletionCost]; ok {
		cost, _ := strconv.ParseInt(said, 10, 32) // what is no number says nothing, as in Kubernetes
		l.Cost += cost
	}
	l.Priority = max(l.Priority, int64(p.Priority())-math.MinInt32+1)
}
