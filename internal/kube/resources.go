package kube

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// resources are the kinds that decisions read.
type resources struct {
	nodes      resource[*corev1.Node]
	pods       resource[*corev1.Pod]
	daemonSets resource[*appsv1.DaemonSet]
	budgets    resource[*policyv1.PodDisruptionBudget]
	namespaces resource[*corev1.Namespace]
	configMaps *resource[*corev1.ConfigMap] // of one name; nil when nobody reads it
}

// resourcesOf are the kinds, with the ConfigMap that ranks groups where a namespace for it is named.
func resourcesOf(c kubernetes.Interface, rankingNamespace string) resources {
	var ranking *resource[*corev1.ConfigMap]
	if rankingNamespace != "" {
		ranking = new(resourceOf("configmaps", "", &corev1.ConfigMap{}, named[*corev1.ConfigMapList]{c.CoreV1().ConfigMaps(rankingNamespace), cluster.RankingName}))
	}
	return resources{
		configMaps: ranking,
		nodes:      resourceOf("nodes", "", &corev1.Node{}, c.CoreV1().Nodes()),
		pods:       resourceOf("pods", "", &corev1.Pod{}, c.CoreV1().Pods("")),
		daemonSets: resourceOf("daemonsets", "apps", &appsv1.DaemonSet{}, c.AppsV1().DaemonSets("")),
		budgets:    resourceOf("poddisruptionbudgets", "policy", &policyv1.PodDisruptionBudget{}, c.PolicyV1().PodDisruptionBudgets("")),
		namespaces: resourceOf("namespaces", "", &corev1.Namespace{}, c.CoreV1().Namespaces()),
	}
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
