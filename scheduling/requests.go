package scheduling

import (
	corev1 "k8s.io/api/core/v1"
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
