package kube

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// trimOptional trims the kinds that a cluster may not have; false for any other.
func trimOptional(o any) bool {
	switch o := o.(type) {
	case *resourcev1.DeviceClass:
		*o = resourcev1.DeviceClass{ObjectMeta: trimMeta(o.ObjectMeta), Spec: resourcev1.DeviceClassSpec{
			Selectors: o.Spec.Selectors, ExtendedResourceName: o.Spec.ExtendedResourceName,
		}}
	case *resourcev1.ResourceClaim:
		devices := o.Spec.Devices
		devices.Config = nil // only a driver reads it
		*o = resourcev1.ResourceClaim{
			ObjectMeta: trimMeta(o.ObjectMeta), Spec: resourcev1.ResourceClaimSpec{Devices: devices},
			Status: resourcev1.ResourceClaimStatus{Allocation: trimAllocation(o.Status.Allocation), ReservedFor: o.Status.ReservedFor},
		}
	case *resourcev1.ResourceSlice:
		*o = resourcev1.ResourceSlice{ObjectMeta: trimMeta(o.ObjectMeta), Spec: o.Spec}
	case *schedulingv1beta1.PodGroup:
		*o = schedulingv1beta1.PodGroup{ObjectMeta: trimMeta(o.ObjectMeta), Spec: o.Spec}
	case *cluster.CoschedulingGroup:
		*o = cluster.CoschedulingGroup{ObjectMeta: trimMeta(o.ObjectMeta), Spec: o.Spec}
	case *cluster.ProvisioningRequest:
		status := o.Status
		status.Conditions = trimConditions(status.Conditions)
		*o = cluster.ProvisioningRequest{ObjectMeta: trimGenerated(o.ObjectMeta), Spec: o.Spec, Status: status}
	case *cluster.CapacityBuffer:
		status := o.Status
		status.Conditions = trimConditions(status.Conditions)
		*o = cluster.CapacityBuffer{ObjectMeta: trimGenerated(o.ObjectMeta), Spec: o.Spec, Status: status}
	case *corev1.PodTemplate:
		*o = corev1.PodTemplate{ObjectMeta: trimGenerated(o.ObjectMeta), Template: corev1.PodTemplateSpec{
			ObjectMeta: trimMeta(o.Template.ObjectMeta), Spec: trimPodSpec(o.Template.Spec),
		}}
	default:
		return false
	}
	return true
}

// trimGenerated keeps the generation besides: a status says which one it is about.
func trimGenerated(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := trimMeta(m)
	kept.Generation = m.Generation
	return kept
}

func trimConditions(all []metav1.Condition) []metav1.Condition {
	for i, c := range all {
		all[i] = metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration}
	}
	return all
}

func trimAllocation(a *resourcev1.AllocationResult) *resourcev1.AllocationResult {
	if a == nil {
		return nil
	}
	kept := *a
	kept.Devices.Config = nil
	return &kept
}
