package kube

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
)

// object is an API object with its metadata.
type object interface {
	runtime.Object
	metav1.Object
}

// resource is a kind of object in the API, as all namespaces have it.
type resource[T object] struct {
	name  string // plural, lower case
	group string // API group, "" for core
	empty T      // an object that holds nothing
	apis  []api  // one of which must be served for the resource to be of interest; nil when every cluster has it
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// api is a resource that a cluster may not have.
type api struct {
	groupVersion string // "resource.k8s.io/v1"
	resource     string
}

// The APIs that a cluster may not have.
var (
	deviceAPI       = api{"resource.k8s.io/v1", "resourceslices"}
	podGroupAPI     = api{"scheduling.k8s.io/v1beta1", "podgroups"}
	coschedulingAPI = []api{{"scheduling.x-k8s.io/v1alpha1", "podgroups"}}
)

// Custom resources of which clusters serve one version or another, the newest first. What is read and written of them is the same in all.
var (
	bufferAPI  = []api{{"autoscaling.x-k8s.io/v1beta1", "capacitybuffers"}, {"autoscaling.x-k8s.io/v1alpha1", "capacitybuffers"}}
	requestAPI = []api{{"autoscaling.x-k8s.io/v1", "provisioningrequests"}, {"autoscaling.x-k8s.io/v1beta1", "provisioningrequests"}}
)

// resources are the kinds that decisions read.
type resources struct {
	nodes      resource[*corev1.Node]
	pods       resource[*corev1.Pod]
	daemonSets resource[*appsv1.DaemonSet]
	budgets    resource[*policyv1.PodDisruptionBudget]
	namespaces resource[*corev1.Namespace]
	configMaps *resource[*corev1.ConfigMap] // of one name; nil when nobody reads it

	claims      resource[*corev1.PersistentVolumeClaim]
	volumes     resource[*corev1.PersistentVolume]
	classes     resource[*storagev1.StorageClass]
	csiNodes    resource[*storagev1.CSINode]
	csiDrivers  resource[*storagev1.CSIDriver]
	capacities  resource[*storagev1.CSIStorageCapacity]
	attachments resource[*storagev1.VolumeAttachment]

	deviceClasses resource[*resourcev1.DeviceClass]
	deviceClaims  resource[*resourcev1.ResourceClaim]
	slices        resource[*resourcev1.ResourceSlice]
	podGroups     resource[*schedulingv1beta1.PodGroup]
	coscheduling  resource[*cluster.CoschedulingGroup]
	buffers       resource[*cluster.CapacityBuffer]
	requests      resource[*cluster.ProvisioningRequest]
	templates     resource[*corev1.PodTemplate]
}

// resourcesOf are the kinds, with the ConfigMap that ranks groups where a namespace for it is named.
func resourcesOf(c kubernetes.Interface, rankingNamespace string) resources {
	var ranking *resource[*corev1.ConfigMap]
	if rankingNamespace != "" {
		ranking = new(resourceOf("configmaps", "", &corev1.ConfigMap{}, named[*corev1.ConfigMapList]{c.CoreV1().ConfigMaps(rankingNamespace), cluster.RankingName}))
	}
	storage, devices := c.StorageV1(), c.ResourceV1()
	return resources{
		configMaps: ranking,
		nodes:      resourceOf("nodes", "", &corev1.Node{}, c.CoreV1().Nodes()),
		pods:       resourceOf("pods", "", &corev1.Pod{}, c.CoreV1().Pods("")),
		daemonSets: resourceOf("daemonsets", "apps", &appsv1.DaemonSet{}, c.AppsV1().DaemonSets("")),
		budgets:    resourceOf("poddisruptionbudgets", "policy", &policyv1.PodDisruptionBudget{}, c.PolicyV1().PodDisruptionBudgets("")),
		namespaces: resourceOf("namespaces", "", &corev1.Namespace{}, c.CoreV1().Namespaces()),

		claims:      resourceOf("persistentvolumeclaims", "", &corev1.PersistentVolumeClaim{}, c.CoreV1().PersistentVolumeClaims("")),
		volumes:     resourceOf("persistentvolumes", "", &corev1.PersistentVolume{}, c.CoreV1().PersistentVolumes()),
		classes:     resourceOf("storageclasses", "storage.k8s.io", &storagev1.StorageClass{}, storage.StorageClasses()),
		csiNodes:    resourceOf("csinodes", "storage.k8s.io", &storagev1.CSINode{}, storage.CSINodes()),
		csiDrivers:  resourceOf("csidrivers", "storage.k8s.io", &storagev1.CSIDriver{}, storage.CSIDrivers()),
		capacities:  resourceOf("csistoragecapacities", "storage.k8s.io", &storagev1.CSIStorageCapacity{}, storage.CSIStorageCapacities("")),
		attachments: resourceOf("volumeattachments", "storage.k8s.io", &storagev1.VolumeAttachment{}, storage.VolumeAttachments()),

		deviceClasses: resourceOf("deviceclasses", "resource.k8s.io", &resourcev1.DeviceClass{}, devices.DeviceClasses()).where(deviceAPI),
		deviceClaims:  resourceOf("resourceclaims", "resource.k8s.io", &resourcev1.ResourceClaim{}, devices.ResourceClaims("")).where(deviceAPI),
		slices:        resourceOf("resourceslices", "resource.k8s.io", &resourcev1.ResourceSlice{}, devices.ResourceSlices()).where(deviceAPI),
		podGroups:     resourceOf("podgroups", "scheduling.k8s.io", &schedulingv1beta1.PodGroup{}, c.SchedulingV1beta1().PodGroups("")).where(podGroupAPI),
		coscheduling:  customOf(c, coschedulingAPI, "scheduling.x-k8s.io", func() *cluster.CoschedulingGroup { return new(cluster.CoschedulingGroup) }),
		buffers:       customOf(c, bufferAPI, "autoscaling.x-k8s.io", func() *cluster.CapacityBuffer { return new(cluster.CapacityBuffer) }),
		requests:      customOf(c, requestAPI, "autoscaling.x-k8s.io", func() *cluster.ProvisioningRequest { return new(cluster.ProvisioningRequest) }),
		templates:     resourceOf("podtemplates", "", &corev1.PodTemplate{}, c.CoreV1().PodTemplates("")).where(slices.Concat(bufferAPI, requestAPI)...),
	}
}

// where is the resource for clusters that serve one of these.
func (r resource[T]) where(apis ...api) resource[T] {
	r.apis = apis
	return r
}

// customOf is the resource that a custom resource definition defines, in the first of these versions that is served; *S is T.
func customOf[S any, T interface {
	*S
	object
}](c kubernetes.Interface, versions []api, group string, empty func() T) resource[T] {
	reader := custom[S]{client: c, empty: func() object { return empty() }}
	for _, a := range versions {
		reader.paths = append(reader.paths, "/apis/"+a.groupVersion+"/"+a.resource)
	}
	return resourceOf[T](versions[0].resource, group, empty(), reader).where(versions...)
}

// reads is the part of a typed client that reads objects whose list is an L.
type reads[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// named reads the one object of a name, so that the right to read no other is needed.
type named[L runtime.Object] struct {
	of   reads[L]
	name string
}

func (n named[L]) List(ctx context.Context, o metav1.ListOptions) (L, error) {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.name).String()
	return n.of.List(ctx, o)
}

func (n named[L]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.name).String()
	return n.of.Watch(ctx, o)
}

func resourceOf[T object, L runtime.Object](name, group string, empty T, client reads[L]) resource[T] {
	return resource[T]{
		name:  name,
		group: group,
		empty: empty,
		watch: client.Watch,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := client.List(ctx, o)
			if err != nil {
				return nil, err // not l: a nil pointer in an interface is not nil
			}
			return l, nil
		},
	}
}
