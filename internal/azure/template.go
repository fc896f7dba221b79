package azure

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/catalog"
)

const (
	podsPerNode   = 110 // kubelet's default
	diskZoneLabel = "topology.disk.csi.azure.com/zone"
	aksLabels     = "kubernetes.azure.com/" // the prefix of what AKS and those who do as AKS does label nodes with
)

// poolTags name a group's pool, the newer first.
var poolTags = []string{"aks-managed-poolName", "poolName"}

// template is the node that the group's next machine will become, as far as size and tags tell; nil when they do not tell how much CPU
// and memory it has. Zone is where that machine will be. Allocatable is capacity less huge pages: what a kubelet reserves is learned from the
// first node. Labels of a later rank win: tags as they are; what kubelet and the cloud controller set; what AKS would set, when that is
// predicted; label tags. Those of the first and third rank nobody has promised: they are named in [cluster.GuessedLabels].
func template(m *model, size catalog.Size, known bool, zone string, tags reported, predict bool) *corev1.Node {
	capacity := resources(m, size, known, tags)
	if capacity.Cpu().IsZero() || capacity.Memory().IsZero() {
		return nil
	}
	os, arch := "linux", size.Arch
	if m.windows {
		os = "windows"
	}
	if !known {
		arch = architecture(m.size)
	}
	region, diskZone := strings.ToLower(m.location), ""
	if len(m.zones) > 0 {
		diskZone = zone
	}
	guessed, labels := maps.Clone(tags.plain), map[string]string{}
	if predict {
		maps.Copy(guessed, predicted(m, size))
	}
	for key, value := range map[string]string{
		corev1.LabelArchStable: arch, "beta.kubernetes.io/arch": arch,
		corev1.LabelOSStable: os, "beta.kubernetes.io/os": os,
		corev1.LabelInstanceTypeStable: m.size, corev1.LabelInstanceType: m.size,
		corev1.LabelTopologyRegion: region, corev1.LabelFailureDomainBetaRegion: region,
		corev1.LabelTopologyZone: zone, corev1.LabelFailureDomainBetaZone: zone,
		diskZoneLabel: diskZone,
	} {
		labels[key] = value
		delete(guessed, key)
	}
	for key, value := range tags.labels {
		labels[key] = value
		delete(guessed, key)
	}
	maps.Copy(labels, guessed)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.NodeSpec{Taints: slices.Clone(tags.taints)},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable(capacity, tags),
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: os, Architecture: arch},
		},
	}
	if len(guessed) > 0 {
		n.Annotations = map[string]string{cluster.GuessedLabels: strings.Join(slices.Sorted(maps.Keys(guessed)), ",")}
	}
	return n
}

// predicted are the labels that AKS, and those who do as AKS does, set on the nodes of such a group.
func predicted(m *model, size catalog.Size) map[string]string {
	labels := map[string]string{}
	both := func(key, value string) {
		if value != "" && validLabel(key, value) {
			labels[key], labels[aksLabels+key] = value, value
		}
	}
	for _, tag := range poolTags {
		if pool := m.tags[tag]; pool != "" {
			both("agentpool", pool)
			break
		}
	}
	if m.disks.os {
		both("storageprofile", "managed")
		if m.disks.ephemeral {
			both("storageprofile", "ephemeral")
		}
		both("storagetier", m.disks.osTier)
	}
	if size.GPUResource() == "nvidia.com/gpu" {
		both("accelerator", "nvidia")
	}
	if m.spot {
		labels[aksLabels+"scalesetpriority"] = "spot"
	}
	return labels
}

// resources are the size's, the OS disk's, and what tags say instead or besides.
func resources(m *model, size catalog.Size, known bool, tags reported) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI)}
	if known {
		list[corev1.ResourceCPU] = *resource.NewQuantity(int64(size.VCPUs), resource.DecimalSI)
		list[corev1.ResourceMemory] = *resource.NewQuantity(size.MemoryMiB<<20, resource.BinarySI)
		if name := size.GPUResource(); name != "" {
			list[corev1.ResourceName(name)] = *resource.NewQuantity(int64(size.GPUs), resource.DecimalSI)
		}
	}
	if m.disks.osGB > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(m.disks.osGB)<<30, resource.BinarySI)
	}
	maps.Copy(list, tags.resources)
	return list
}

// allocatable is what a kubelet that reserves nothing gives to pods: memory that is set aside for huge pages is theirs alone. What a tag says of
// memory stands.
func allocatable(capacity corev1.ResourceList, tags reported) corev1.ResourceList {
	list := capacity.DeepCopy()
	if _, said := tags.resources[corev1.ResourceMemory]; said {
		return list
	}
	left := list[corev1.ResourceMemory]
	for name, q := range capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			left.Sub(q)
		}
	}
	list[corev1.ResourceMemory] = left
	return list
}

// zonesFor are the zones that the group's next machines may be in, as labels name them: all of the group's but those in which the
// subscription may not have the size, while another is left.
func zonesFor(m *model, barred func(zone string) bool) []string {
	zones := slices.DeleteFunc(slices.Clone(m.zones), barred)
	if len(zones) == 0 {
		zones = m.zones
	}
	var names []string
	for _, z := range zones {
		names = append(names, zoneName(m.location, z))
	}
	return names
}

// unzoned is the zone of machines that have none, as the cloud controller labels their nodes.
const unzoned = "0"

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
