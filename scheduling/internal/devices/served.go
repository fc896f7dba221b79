package devices

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"

	"sluice.dev/sluice/scheduling/internal/plugins"
)

// A device class may serve an extended resource: containers ask for example.com/gpu in their requests, as of a device plugin, and
// kube-scheduler makes the claim. Each class serves one that has its own name as well. Which of the two ways it is, each node says:
//
//	the node's allocatable   who is asked                 what placing a pod takes
//	has some of it           NodeResourcesFit             of the allocatable, as for a device plugin
//	has none of it           DynamicResources             devices that the node's slices publish
//
// A resource that no class serves is asked of NodeResourcesFit alone.

// Served are the extended resources that device classes serve, sorted; nil where the feature gate is off.
func Served(classes []*resourcev1.DeviceClass) []corev1.ResourceName {
	if len(classes) == 0 || !plugins.Gates().EnableDRAExtendedResource {
		return nil
	}
	names := map[corev1.ResourceName]bool{}
	for _, c := range classes {
		names[corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)] = true
		if c.Spec.ExtendedResourceName != nil {
			names[corev1.ResourceName(*c.Spec.ExtendedResourceName)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// serving says which class serves a resource, as kube-scheduler finds it: of several the youngest. It knows a class whose resource a
// younger one serves by its own name or not, as they come; here they come in an order in which it does.
func serving(classes []*resourcev1.DeviceClass) *extendedresourcecache.ExtendedResourceCache {
	if len(Served(classes)) == 0 {
		return nil // it serves nothing, as nil does
	}
	all := slices.Clone(classes)
	slices.SortFunc(all, func(a, b *resourcev1.DeviceClass) int {
		if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
			return strings.Compare(b.Name, a.Name)
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	cache := extendedresourcecache.NewExtendedResourceCache(logr.Discard())
	for _, c := range all {
		cache.OnAdd(c, true)
	}
	return cache
}
