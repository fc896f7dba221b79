package cluster

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CoschedulingGroup is the PodGroup of scheduling.x-k8s.io/v1alpha1: a gang for the coscheduling plugin. Its pods bear its name in
// the label [CoschedulingLabel].
type CoschedulingGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CoschedulingGroupSpec `json:"spec,omitempty"`
}

// CoschedulingGroupSpec is what decisions read of it.
type CoschedulingGroupSpec struct {
	MinMember              int32  `json:"minMember,omitempty"`
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// Labels of the coscheduling plugin: the name of a pod's group, the same as it was called before, and a group that has no object.
const (
	CoschedulingLabel        = "scheduling.x-k8s.io/pod-group"
	OldCoschedulingLabel     = "pod-group.scheduling.sigs.k8s.io"
	LightweightGroupLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	LightweightMinAvailLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

// ProvisioningRequest is autoscaling.x-k8s.io/v1: capacity for pods that are still to come.
type ProvisioningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ProvisioningRequestSpec   `json:"spec,omitempty"`
	Status            ProvisioningRequestStatus `json:"status,omitzero"`
}

// ProvisioningRequestSpec never changes.
type ProvisioningRequestSpec struct {
	PodSets               []PodSet          `json:"podSets,omitempty"`
	ProvisioningClassName string            `json:"provisioningClassName,omitempty"`
	Parameters            map[string]string `json:"parameters,omitempty"`
}

// PodSet is a number of pods like a PodTemplate of the request's namespace.
type PodSet struct {
	PodTemplateRef LocalReference `json:"podTemplateRef"`
	Count          int32          `json:"count"`
}

// LocalReference names an object of the same namespace.
type LocalReference struct {
	Name string `json:"name"`
}

// ProvisioningRequestStatus is what became of it.
type ProvisioningRequestStatus struct {
	Conditions               []metav1.Condition `json:"conditions,omitempty"`
	ProvisioningClassDetails map[string]string  `json:"provisioningClassDetails,omitempty"`
}

// CapacityBuffer is autoscaling.x-k8s.io/v1beta1, and as far as it is read v1alpha1 as well: room that is kept free.
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CapacityBufferSpec   `json:"spec,omitempty"`
	Status            CapacityBufferStatus `json:"status,omitzero"`
}

// CapacityBufferSpec says how much room: for pods like a template, or like those of something that scales.
type CapacityBufferSpec struct {
	ProvisioningStrategy string             `json:"provisioningStrategy,omitempty"` // "" is the active strategy
	PodTemplateRef       *LocalReference    `json:"podTemplateRef,omitempty"`
	ScalableRef          *ScalableReference `json:"scalableRef,omitempty"`
	Replicas             *int32             `json:"replicas,omitempty"`
	Percentage           *int32             `json:"percentage,omitempty"` // of the replicas of what scales
	Limits               map[string]string  `json:"limits,omitempty"`     // quantities by resource
}

// ScalableReference names a workload of the buffer's namespace.
type ScalableReference struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// CapacityBufferStatus is what the buffer came to.
type CapacityBufferStatus struct {
	PodTemplateRef        *LocalReference    `json:"podTemplateRef,omitempty"`
	Replicas              *int32             `json:"replicas,omitempty"`
	PodTemplateGeneration *int64             `json:"podTemplateGeneration,omitempty"`
	ProvisioningStrategy  *string            `json:"provisioningStrategy,omitempty"`
	Conditions            []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject makes the group a runtime.Object; nothing below the first level is ever changed.
func (g *CoschedulingGroup) DeepCopyObject() runtime.Object {
	own := *g
	own.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &own
}

// DeepCopyObject makes the request a runtime.Object.
func (r *ProvisioningRequest) DeepCopyObject() runtime.Object {
	own := *r
	own.ObjectMeta = *r.ObjectMeta.DeepCopy()
	own.Spec.PodSets, own.Spec.Parameters = slices.Clone(r.Spec.PodSets), maps.Clone(r.Spec.Parameters)
	own.Status.Conditions, own.Status.ProvisioningClassDetails = slices.Clone(r.Status.Conditions), maps.Clone(r.Status.ProvisioningClassDetails)
	return &own
}

// DeepCopyObject makes the buffer a runtime.Object.
func (b *CapacityBuffer) DeepCopyObject() runtime.Object {
	own := *b
	own.ObjectMeta = *b.ObjectMeta.DeepCopy()
	own.Spec.Limits = maps.Clone(b.Spec.Limits)
	own.Status.Conditions = slices.Clone(b.Status.Conditions)
	return &own
}
