package azure

import (
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
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

// template is the node that the scale set's next machine will become, as far as size and tags tell; nil when they do not tell how
// much CPU and memory it has. Allocatable equals capacity: what a kubelet reserves is learned from the first node.
func template(set *armcompute.VirtualMachineScaleSet, instances []*cluster.Instance) *corev1.Node {
	capacity := resources(set)
	if capacity.Cpu().IsZero() || capacity.Memory().IsZero() {
		return nil
	}
	os := "linux"
	if profile := machineProfile(set); profile != nil && profile.OSProfile != nil && profile.OSProfile.WindowsConfiguration != nil {
		os = "windows"
	}
	region, arch, zone := strings.ToLower(val(set.Location)), architecture(sizeOf(set)), nextZone(set, instances)
	labels := map[string]string{
		corev1.LabelArchStable: arch, "beta.kubernetes.io/arch": arch,
		corev1.LabelOSStable: os, "beta.kubernetes.io/os": os,
		corev1.LabelInstanceTypeStable: sizeOf(set),
		corev1.LabelTopologyRegion:     region,
		corev1.LabelTopologyZone:       zone,
		diskZoneLabel:                  "",
	}
	if len(set.Zones) > 0 {
		labels[diskZoneLabel] = zone
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity.DeepCopy(),
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: os, Architecture: arch},
		},
	}
	for _, tag := range tagNames(set) {
		value := val(set.Tags[tag])
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
func resources(set *armcompute.VirtualMachineScaleSet) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI)}
	if s, ok := knownSizes()[strings.ToLower(sizeOf(set))]; ok {
		list[corev1.ResourceCPU] = *resource.NewQuantity(int64(s.vcpus), resource.DecimalSI)
		list[corev1.ResourceMemory] = *resource.NewQuantity(s.memoryMiB<<20, resource.BinarySI)
		if s.gpus > 0 {
			list[gpuResource] = *resource.NewQuantity(int64(s.gpus), resource.DecimalSI)
		}
	}
	if p := machineProfile(set); p != nil && p.StorageProfile != nil && p.StorageProfile.OSDisk != nil && val(p.StorageProfile.OSDisk.DiskSizeGB) > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(val(p.StorageProfile.OSDisk.DiskSizeGB))<<30, resource.BinarySI)
	}
	for tag, value := range set.Tags {
		name, ok := strings.CutPrefix(tag, resourceTag)
		if !ok {
			continue
		}
		if q, err := resource.ParseQuantity(val(value)); err == nil && q.Sign() >= 0 {
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
func nextZone(set *armcompute.VirtualMachineScaleSet, instances []*cluster.Instance) string {
	count := map[string]int{}
	for _, i := range instances {
		count[i.Zone]++
	}
	best := "0"
	for n, z := range set.Zones {
		if zone := zoneName(set.Location, val(z)); n == 0 || count[zone] < count[best] {
			best = zone
		}
	}
	return best
}

// zoneName is a zone as topology.kubernetes.io/zone has it: "westeurope-1".
func zoneName(location *string, zone string) string {
	return strings.ToLower(val(location)) + "-" + zone
}

func sizeOf(set *armcompute.VirtualMachineScaleSet) string {
	if set.SKU == nil {
		return ""
	}
	return val(set.SKU.Name)
}

func machineProfile(set *armcompute.VirtualMachineScaleSet) *armcompute.VirtualMachineScaleSetVMProfile {
	if set.Properties == nil {
		return nil
	}
	return set.Properties.VirtualMachineProfile
}

func tagNames(set *armcompute.VirtualMachineScaleSet) []string {
	names := make([]string, 0, len(set.Tags))
	for n := range set.Tags {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// val is what p points at, the zero value for nil: every field of the SDK's models is a pointer.
func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
