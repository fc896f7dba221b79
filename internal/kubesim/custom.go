package kubesim

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProvisioningRequest is autoscaling.x-k8s.io/v1. Like the other objects of
// custom resources it is plain JSON: spec and status hold what a JSON decoder
// makes of them, map[string]any, []any, string, int64, float64 and bool.
type ProvisioningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
	Status            map[string]any `json:"status,omitempty"`
}

// CapacityBuffer is autoscaling.x-k8s.io/v1beta1, as plain JSON.
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
	Status            map[string]any `json:"status,omitempty"`
}

// CoschedulingGroup is the PodGroup of scheduling.x-k8s.io/v1alpha1, the gang
// of the coscheduling plugin, as plain JSON: spec.minMember is its size.
type CoschedulingGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
	Status            map[string]any `json:"status,omitempty"`
}

// DeepCopyObject returns an object that shares nothing with this one.
func (p *ProvisioningRequest) DeepCopyObject() runtime.Object {
	return &ProvisioningRequest{TypeMeta: p.TypeMeta, ObjectMeta: *p.ObjectMeta.DeepCopy(), Spec: copied(p.Spec), Status: copied(p.Status)}
}

// DeepCopyObject returns an object that shares nothing with this one.
func (b *CapacityBuffer) DeepCopyObject() runtime.Object {
	return &CapacityBuffer{TypeMeta: b.TypeMeta, ObjectMeta: *b.ObjectMeta.DeepCopy(), Spec: copied(b.Spec), Status: copied(b.Status)}
}

// DeepCopyObject returns an object that shares nothing with this one.
func (g *CoschedulingGroup) DeepCopyObject() runtime.Object {
	return &CoschedulingGroup{TypeMeta: g.TypeMeta, ObjectMeta: *g.ObjectMeta.DeepCopy(), Spec: copied(g.Spec), Status: copied(g.Status)}
}

// Custom returns a new object of a custom resource, nil when the cluster knows
// none of that kind.
func Custom(apiVersion, name string) Object {
	for _, k := range kinds {
		if k.custom() && k.apiVersion() == apiVersion && k.name == name {
			return k.empty()
		}
	}
	return nil
}

// Namespaced reports whether objects of its kind live in namespaces.
func Namespaced(o Object) bool { return kindOf(o).namespaced }

// APIOf returns the optional API that a kind of object belongs to, "" for one
// that every cluster has.
func APIOf(o Object) API {
	if k := kindByType[reflect.TypeOf(o)]; k != nil {
		return k.optional
	}
	return ""
}

func copied(m map[string]any) map[string]any { return runtime.DeepCopyJSON(m) }
