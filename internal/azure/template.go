package azure

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// The tags by which cluster-autoscaler is told about nodes; Azure allows no "/" in a tag's name.
const (
	labelTag    = "k8s.io_cluster-autoscaler_node-template_label_"
	taintTag    = "k8s.io_cluster-autoscaler_node-template_taint_"
	resourceTag = "k8s.io_cluster-autoscaler_node-template_resources_"
)

const (
	podsPerNode   = 110 // kubelet's default
	diskZoneLabel = "topology.disk.csi.azure.com/zone"
	gpuResource   = corev1.ResourceName("nvidia.com/gpu")
)

// template is the node that the group's next machine will become, as far as size and tags tell; nil when they do not tell how
// much CPU and memory it has. Allocatable equals capacity: what a kubelet reserves is learned from the first node.
func template(m *model, instances []*cluster.Instance) *corev1.Node {
	capacity := resources(m)
	if capacity.Cpu().IsZero() || capacity.Memory().IsZero() {
		return nil
	}
	os := "linux"
	if m.windows {
		os = "windows"
	}
	region, arch, zone := strings.ToLower(m.location), architecture(m.size), nextZone(m, instances)
	labels := map[string]string{
		corev1.LabelArchStable: arch, "beta.kubernetes.io/arch": arch,
		corev1.LabelOSStable: os, "beta.kubernetes.io/os": os,
		corev1.LabelInstanceTypeStable: m.size,
		corev1.LabelTopologyRegion:     region,
		corev1.LabelTopologyZone:       zone,
		diskZoneLabel:                  "",
	}
	if len(m.zones) > 0 {
		labels[diskZoneLabel] = zone
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity.DeepCopy(),
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: os, Architecture: arch},
		},
	}
	for _, tag := range slices.Sorted(maps.Keys(m.tags)) {
		value := m.tags[tag]
		if key, ok := strings.CutPrefix(tag, labelTag); ok {
			labels[decodeKey(key)] = value
		}
		if key, ok := strings.CutPrefix(tag, taintTag); ok {
			v, effect, _ := strings.Cut(value, ":")
			switch e := corev1.TaintEffect(effect); e {
			case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: decodeKey(key), Value: v, Effect: e})
			}
		}
	}
	return n
}

// resources are the size's, the OS disk's, and what tags say instead or besides. A tag that is no quantity is ignored.
func resources(m *model) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI)}
	if s, ok := knownSizes()[strings.ToLower(m.size)]; ok {
		list[corev1.ResourceCPU] = *resource.NewQuantity(int64(s.vcpus), resource.DecimalSI)
		list[corev1.ResourceMemory] = *resource.NewQuantity(s.memoryMiB<<20, resource.BinarySI)
		if s.gpus > 0 {
			list[gpuResource] = *resource.NewQuantity(int64(s.gpus), resource.DecimalSI)
		}
	}
	if m.osDiskGB > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(m.osDiskGB)<<30, resource.BinarySI)
	}
	for tag, value := range m.tags {
		name, ok := strings.CutPrefix(tag, resourceTag)
		if !ok {
			continue
		}
		if q, err := resource.ParseQuantity(value); err == nil && q.Sign() >= 0 {
			list[corev1.ResourceName(strings.ReplaceAll(strings.ReplaceAll(name, "_", "/"), "~2", "/"))] = q
		}
	}
	return list
}

// decodeKey turns a tag's "_" into "/" and then "~2" into "_", in that order.
func decodeKey(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "_", "/"), "~2", "_")
}

// nextZone is where the next machine will most likely be: the set's only zone, or the one with the fewest machines, the first of
// several. Without zones the cloud controller labels nodes "0".
func nextZone(m *model, instances []*cluster.Instance) string {
	count := map[string]int{}
	for _, i := range instances {
		count[i.Zone]++
	}
	best := "0"
	for n, z := range m.zones {
		if zone := zoneName(m.location, z); n == 0 || count[zone] < count[best] {
			best = zone
		}
	}
	return best
}

// zoneName is a zone as topology.kubernetes.io/zone has it: "westeurope-1".
func zoneName(location, zone string) string {
	return strings.ToLower(location) + "-" + zone
}

// val is what p points at, the zero value for nil: every field of the SDK's models is a pointer.
func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
