package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Size is what a machine of a group has and costs.
type Size struct {
	Name   string
	Cores  int64
	MiB    int64
	Hourly float64 // list price in USD
}

// sizes are Azure's, with on-demand list prices of region eastus as of 2026-06-18.
var sizes = []Size{
	{"Standard_D4s_v5", 4, 16384, 0.1920},
	{"Standard_D8s_v5", 8, 32768, 0.3840},
	{"Standard_D16s_v5", 16, 65536, 0.7680},
	{"Standard_D32s_v5", 32, 131072, 1.5360},
	{"Standard_D64s_v5", 64, 262144, 3.0720},
	{"Standard_E8s_v5", 8, 65536, 0.5040},
	{"Standard_E16s_v5", 16, 131072, 1.0080},
	{"Standard_E32s_v5", 32, 262144, 2.0160},
	{"Standard_E64s_v5", 64, 524288, 4.0320},
	{"Standard_F8s_v2", 8, 16384, 0.3380},
	{"Standard_F16s_v2", 16, 32768, 0.6770},
	{"Standard_F32s_v2", 32, 65536, 1.3530},
	{"Standard_F64s_v2", 64, 131072, 2.7060},
	{"Standard_F72s_v2", 72, 147456, 3.0450},
	{"Standard_D48s_v5", 48, 196608, 2.3040},
	{"Standard_D96s_v5", 96, 393216, 4.6080},
	{"Standard_E48s_v5", 48, 393216, 3.0240},
}

// SizeOf is the size of that name; a name that is not in the table is a defect of the caller.
func SizeOf(name string) Size {
	for _, s := range sizes {
		if s.Name == name {
			return s
		}
	}
	panic(fmt.Sprintf("workload: no size %s", name))
}

// podsPerNode is kubelet's default.
const podsPerNode = 110

// capacity is what a node of the size has, and what of it pods may have: AKS keeps 140 millicores of four cores and 10 of each further
// one, 20 MiB a pod and 50 MiB more, and kubelet 100 MiB for evictions. Firmware and kernel take a fiftieth of the memory.
func (s Size) capacity() (all, allocatable corev1.ResourceList) {
	memory := s.MiB * 49 / 50
	kept := 140 + 10*(s.Cores-4)
	if s.Cores < 4 {
		kept = 50 * s.Cores
	}
	list := func(milli, mib int64) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(mib<<20, resource.BinarySI),
			corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
		}
	}
	return list(1000*s.Cores, memory), list(1000*s.Cores-kept, memory-min(20*podsPerNode+50, memory/4)-100)
}

// slug is the size's name as a part of a group's: "Standard_D4s_v5" is "d4s-v5".
func (s Size) slug() string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.Name, "Standard_"), "_", "-"))
}

// Shapes are n sizes that no cloud has: 2 to 101 cores with 2, 4, 8 and 16 GiB each in turn, at 3.3 cents a core and 0.42 cents a GiB,
// up to 8 % more or less.
func Shapes(seed uint64, n int) []Size {
	c := NewChance(seed)
	all := make([]Size, n)
	for i := range all {
		cores, gib := int64(2+i/4%100), int64(2<<(i%4))
		price := (0.033*float64(cores) + 0.0042*float64(cores*gib)) * (0.92 + 0.16*c.Share())
		all[i] = Size{fmt.Sprintf("Shape_%d_c%d_m%d", i, cores, cores*gib), cores, cores * gib * 1024, price}
	}
	return all
}
