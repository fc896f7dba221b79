package cluster

import corev1 "k8s.io/api/core/v1"

// GPUs are the resources that make a node a GPU node, in the order in which they are looked for. Nobody changes them.
var GPUs = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi", "microsoft.com/directx"}

// GPULabel is the label by which cluster-autoscaler tells kinds of GPUs apart on Azure.
const GPULabel = "accelerator"

// GPUsOf is how many GPUs of a kind a node has: the kind is the value of its [GPULabel], or the resource that it announces.
func GPUsOf(n *corev1.Node, kind string) int64 {
	name := GPU(n)
	if name == "" || kind != string(name) && kind != n.Labels[GPULabel] {
		return 0
	}
	q := n.Status.Capacity[name]
	return q.Value()
}

// GPU is the resource of a node's GPUs, as it announces them, and "" where it has none.
func GPU(n *corev1.Node) corev1.ResourceName {
	for _, name := range GPUs {
		if q, has := n.Status.Capacity[name]; has && !q.IsZero() {
			return name
		}
		if q, has := n.Status.Allocatable[name]; has && !q.IsZero() {
			return name
		}
	}
	return ""
}
