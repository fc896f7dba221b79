package classes

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Utilization is the larger share of the node's allocatable cpu or memory that these pods request, cpu when they are equal. On a node that
// has GPUs it is the share of these, whatever else is used; 0 while its driver offers none yet.
//
// The share may exceed 1. Pods that are absent use nothing. A node that does not say what it can allocate is used up (1): nothing is known
// to be free. It is a function of the arguments alone: what is pretended does not count.
func (c *Classes) Utilization(node *corev1.Node, pods []*cluster.Pod) (corev1.ResourceName, float64) {
	for _, name := range cluster.GPUs {
		capacity, offers := node.Status.Capacity[name]
		allocatable := node.Status.Allocatable[name]
		if !allocatable.IsZero() {
			return name, share(c.held(c.Nodes.Dimension(name), pods), allocatable.Value())
		}
		if offers && !capacity.IsZero() {
			return name, 0
		}
	}
	cpu := share(c.held(resources.CPU, pods), node.Status.Allocatable.Cpu().MilliValue())
	memory := share(c.held(resources.Memory, pods), node.Status.Allocatable.Memory().Value())
	if memory > cpu {
		return corev1.ResourceMemory, memory
	}
	return corev1.ResourceCPU, cpu
}

// held is what the pods take of a resource together.
func (c *Classes) held(of resources.Dimension, pods []*cluster.Pod) int64 {
	var sum int64
	for _, p := range pods {
		sum += c.Of(p.Class).Held(of)
	}
	return sum
}

func share(used, allocatable int64) float64 {
	if allocatable <= 0 {
		return 1
	}
	return float64(used) / float64(allocatable)
}
