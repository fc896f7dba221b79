package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	helper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"
)

// Requests is what a pod takes of a node's allocatable once it runs, as kube-scheduler counts it. For each resource it is the sum of the
// containers and sidecars, or the largest init container with the sidecars before it where that is more. Pod-level requests replace the
// sum where they are set, and overhead is added. A pod whose resize is in progress takes the most of what it has and what it asks for.
func Requests(o *corev1.Pod) corev1.ResourceList {
	gates := utilfeature.DefaultFeatureGate
	return helper.PodRequests(o, helper.PodResourcesOptions{
		UseStatusResources: gates.Enabled(features.InPlacePodVerticalScaling),
		InPlacePodLevelResourcesVerticalScalingEnabled: gates.Enabled(features.InPlacePodLevelResourcesVerticalScaling),
		SkipPodLevelResources:                          !gates.Enabled(features.PodLevelResources),
		UseDRANodeAllocatableResourceClaimStatus:       gates.Enabled(features.DRANodeAllocatableResources),
	})
}

// Wanted is what a pod that waits asks for. It holds nothing yet, so NodeResourcesFit reads its spec alone.
func Wanted(o *corev1.Pod) corev1.ResourceList {
	gates := utilfeature.DefaultFeatureGate
	return helper.PodRequests(o, helper.PodResourcesOptions{SkipPodLevelResources: !gates.Enabled(features.PodLevelResources)})
}

// Words is what kube-scheduler counts, written for people: cpu in cores, bytes in binary units, anything else as a number.
// Bytes of a mebibyte and more are rounded to mebibytes. Up is for what a pod needs; what is free is rounded down, so that the two differ.
func Words(r corev1.ResourceName, n int64, up bool) string {
	const mebi = 1 << 20
	switch {
	case r == corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case r == corev1.ResourceMemory, r == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(r), corev1.ResourceHugePagesPrefix):
		if rest := n % mebi; n > mebi && rest > 0 {
			n -= rest
			if up {
				n += mebi
			}
		}
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}
