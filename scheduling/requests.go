package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	helper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"

	"sluice.dev/sluice/cluster"
)

// Requests is what the pod takes of a node's allocatable as kube-scheduler counts it: the sum of its containers and sidecars
// or the largest init container with the sidecars before it, whichever is more for each resource; pod-level requests in their
// place where set; plus overhead. A pod whose resize is in progress takes the most of what it has and what it asks for.
func Requests(p *cluster.Pod) corev1.ResourceList { return requestsOf(p.Class.Object()) }

func requestsOf(o *corev1.Pod) corev1.ResourceList {
	gates := utilfeature.DefaultFeatureGate
	return helper.PodRequests(o, helper.PodResourcesOptions{
		UseStatusResources: gates.Enabled(features.InPlacePodVerticalScaling),
		InPlacePodLevelResourcesVerticalScalingEnabled: gates.Enabled(features.InPlacePodLevelResourcesVerticalScaling),
		SkipPodLevelResources:                          !gates.Enabled(features.PodLevelResources),
		UseDRANodeAllocatableResourceClaimStatus:       gates.Enabled(features.DRANodeAllocatableResources),
	})
}

// gpus are the resources that make a node a GPU node, in the order in which they are looked for.
var gpus = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi", "microsoft.com/directx"}

// Utilization is the larger share of the node's allocatable cpu or memory that these pods request, cpu when they are equal. On
// a node that has GPUs it is the share of these, whatever else is used; 0 while its driver offers none yet. The share may
// exceed 1. A node that does not say what it can allocate is used up (1): nothing is known to be free.
func Utilization(node *corev1.Node, pods []*cluster.Pod) (corev1.ResourceName, float64) {
	var used corev1.ResourceList
	for _, p := range pods {
		used = plus(used, Requests(p))
	}
	for _, name := range gpus {
		capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
		if !allocatable.IsZero() {
			return name, share(used[name], allocatable)
		}
		if !capacity.IsZero() {
			return name, 0
		}
	}
	cpu := share(used[corev1.ResourceCPU], node.Status.Allocatable[corev1.ResourceCPU])
	memory := share(used[corev1.ResourceMemory], node.Status.Allocatable[corev1.ResourceMemory])
	if memory > cpu {
		return corev1.ResourceMemory, memory
	}
	return corev1.ResourceCPU, cpu
}

func share(used, allocatable resource.Quantity) float64 {
	if allocatable.Sign() <= 0 {
		return 1
	}
	return used.AsApproximateFloat64() / allocatable.AsApproximateFloat64()
}

// plus adds to a in place.
func plus(a, b corev1.ResourceList) corev1.ResourceList {
	if a == nil {
		a = make(corev1.ResourceList, len(b))
	}
	for name, q := range b {
		sum := a[name]
		sum.Add(q)
		a[name] = sum
	}
	return a
}
