package kubesim

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is what a table holds: a pointer to one of the structs of the API.
type Object interface {
	runtime.Object
	metav1.Object
}

type object = Object

// kind describes one resource of the API.
type kind struct {
	group, version string
	resource       string // plural, unique but for events and podgroups
	name           string // the Kind
	namespaced     bool
	status         bool   // has a status subresource
	generation     bool   // counts changes of spec in metadata.generation
	conditional    bool   // an update must carry the resourceVersion it read
	stored         *kind  // the kind that holds its objects, if that is another
	optional       API    // that it belongs to; "" when every cluster has it
	prototype      object // an empty object of the Go type

	home string // the name of the table of its objects
	head []byte // {"kind":...,"apiVersion":..., as it opens an encoded object
}

var coreEvents = &kind{version: "v1", resource: "events", name: "Event", namespaced: true, prototype: &corev1.Event{}}

// kinds is every resource the API serves, the optional ones among them.
var kinds = []*kind{
	{version: "v1", resource: "configmaps", name: "ConfigMap", namespaced: true, prototype: &corev1.ConfigMap{}},
	coreEvents,
	{version: "v1", resource: "limitranges", name: "LimitRange", namespaced: true, prototype: &corev1.LimitRange{}},
	{version: "v1", resource: "namespaces", name: "Namespace", status: true, prototype: &corev1.Namespace{}},
	{version: "v1", resource: "nodes", name: "Node", status: true, prototype: &corev1.Node{}},
	{version: "v1", resource: "persistentvolumeclaims", name: "PersistentVolumeClaim", namespaced: true, status: true, prototype: &corev1.PersistentVolumeClaim{}},
	{version: "v1", resource: "persistentvolumes", name: "PersistentVolume", status: true, prototype: &corev1.PersistentVolume{}},
	{version: "v1", resource: "pods", name: "Pod", namespaced: true, status: true, generation: true, prototype: &corev1.Pod{}},
	{version: "v1", resource: "podtemplates", name: "PodTemplate", namespaced: true, prototype: &corev1.PodTemplate{}},
	{version: "v1", resource: "replicationcontrollers", name: "ReplicationController", namespaced: true, status: true, generation: true, prototype: &corev1.ReplicationController{}},
	{version: "v1", resource: "secrets", name: "Secret", namespaced: true, prototype: &corev1.Secret{}},
	{version: "v1", resource: "services", name: "Service", namespaced: true, status: true, prototype: &corev1.Service{}},
	{group: "apps", version: "v1", resource: "daemonsets", name: "DaemonSet", namespaced: true, status: true, generation: true, prototype: &appsv1.DaemonSet{}},
	{group: "apps", version: "v1", resource: "deployments", name: "Deployment", namespaced: true, status: true, generation: true, prototype: &appsv1.Deployment{}},
	{group: "apps", version: "v1", resource: "replicasets", name: "ReplicaSet", namespaced: true, status: true, generation: true, prototype: &appsv1.ReplicaSet{}},
	{group: "apps", version: "v1", resource: "statefulsets", name: "StatefulSet", namespaced: true, status: true, generation: true, prototype: &appsv1.StatefulSet{}},
	{
		group: "autoscaling.x-k8s.io", version: "v1", resource: "provisioningrequests", name: "ProvisioningRequest", namespaced: true, status: true, generation: true,
		conditional: true, optional: ProvisioningRequests, prototype: &ProvisioningRequest{},
	},
	{
		group: "autoscaling.x-k8s.io", version: "v1beta1", resource: "capacitybuffers", name: "CapacityBuffer", namespaced: true, status: true, generation: true,
		conditional: true, optional: CapacityBuffers, prototype: &CapacityBuffer{},
	},
	{group: "batch", version: "v1", resource: "jobs", name: "Job", namespaced: true, status: true, generation: true, prototype: &batchv1.Job{}},
	{group: "coordination.k8s.io", version: "v1", resource: "leases", name: "Lease", namespaced: true, conditional: true, prototype: &coordinationv1.Lease{}},
	{group: "events.k8s.io", version: "v1", resource: "events", name: "Event", namespaced: true, stored: coreEvents, prototype: &eventsv1.Event{}},
	{group: "policy", version: "v1", resource: "poddisruptionbudgets", name: "PodDisruptionBudget", namespaced: true, status: true, generation: true, conditional: true, prototype: &policyv1.PodDisruptionBudget{}},
	{group: "resource.k8s.io", version: "v1", resource: "deviceclasses", name: "DeviceClass", generation: true, prototype: &resourcev1.DeviceClass{}},
	{group: "resource.k8s.io", version: "v1", resource: "resourceclaims", name: "ResourceClaim", namespaced: true, status: true, prototype: &resourcev1.ResourceClaim{}},
	{group: "resource.k8s.io", version: "v1", resource: "resourceclaimtemplates", name: "ResourceClaimTemplate", namespaced: true, prototype: &resourcev1.ResourceClaimTemplate{}},
	{group: "resource.k8s.io", version: "v1", resource: "resourceslices", name: "ResourceSlice", generation: true, prototype: &resourcev1.ResourceSlice{}},
	{group: "scheduling.k8s.io", version: "v1", resource: "priorityclasses", name: "PriorityClass", prototype: &schedulingv1.PriorityClass{}},
	{group: "scheduling.k8s.io", version: "v1beta1", resource: "podgroups", name: "PodGroup", namespaced: true, status: true, generation: true, optional: Gangs, prototype: &schedulingv1beta1.PodGroup{}},
	{group: "scheduling.k8s.io", version: "v1beta1", resource: "workloads", name: "Workload", namespaced: true, generation: true, optional: Gangs, prototype: &schedulingv1beta1.Workload{}},
	{
		group: "scheduling.x-k8s.io", version: "v1alpha1", resource: "podgroups", name: "PodGroup", namespaced: true, status: true, generation: true,
		conditional: true, optional: Coscheduling, prototype: &CoschedulingGroup{},
	},
	{group: "storage.k8s.io", version: "v1", resource: "csidrivers", name: "CSIDriver", prototype: &storagev1.CSIDriver{}},
	{group: "storage.k8s.io", version: "v1", resource: "csinodes", name: "CSINode", conditional: true, prototype: &storagev1.CSINode{}},
	{group: "storage.k8s.io", version: "v1", resource: "csistoragecapacities", name: "CSIStorageCapacity", namespaced: true, prototype: &storagev1.CSIStorageCapacity{}},
	{group: "storage.k8s.io", version: "v1", resource: "storageclasses", name: "StorageClass", prototype: &storagev1.StorageClass{}},
	{group: "storage.k8s.io", version: "v1", resource: "volumeattachments", name: "VolumeAttachment", status: true, prototype: &storagev1.VolumeAttachment{}},
}

var (
	kindByPath = map[string]*kind{} // "group/version/resource"
	kindByType = map[reflect.Type]*kind{}
)

func init() {
	for _, k := range kinds {
		k.home = k.tableName()
		k.head = fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, k.name, k.apiVersion())
		kindByPath[k.group+"/"+k.version+"/"+k.resource] = k
		kindByType[reflect.TypeOf(k.prototype)] = k
	}
}

// kindOf returns the kind of an API object; one that the API does not serve is
// a defect of the caller.
func kindOf(obj object) *kind {
	k := kindByType[reflect.TypeOf(obj)]
	if k == nil {
		panic(fmt.Sprintf("kubesim: %T is not served", obj))
	}
	return k
}

func (k *kind) apiVersion() string {
	return schema.GroupVersion{Group: k.group, Version: k.version}.String()
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.resource}
}

func (k *kind) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.group, Kind: k.name}
}

// storage is the kind whose table holds the objects of k.
func (k *kind) storage() *kind {
	if k.stored != nil {
		return k.stored
	}
	return k
}

// empty returns a new object of the kind's Go type.
func (k *kind) empty() object {
	return reflect.New(reflect.TypeOf(k.prototype).Elem()).Interface().(object)
}

// key is where a table keeps an object.
func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func keyOf(obj metav1.Object) string { return key(obj.GetNamespace(), obj.GetName()) }
