package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Sizes are the sizes that machines of a group could have instead, as far as the cloud is known to offer them to it: those sold where the
// group is, on its terms. Nobody changes them; groups that could have the same sizes share them, and so do snapshots, from read to read.
type Sizes struct {
	Where string `json:"where"` // in words, such as "westeurope"
	All   []Size `json:"all"`   // the cheapest first; those without a price last, the smaller before the larger
}

// Size is what one machine of a size has.
type Size struct {
	Name       string              `json:"name"`
	Family     string              `json:"family,omitempty"` // of sizes that differ in how much of everything they have; "" when unknown
	Cores      int                 `json:"cores"`
	MemoryMiB  int64               `json:"memoryMiB"`
	Device     corev1.ResourceName `json:"device,omitempty"` // that its GPUs are announced as, "" when it has none
	Devices    int                 `json:"devices,omitempty"`
	USDPerHour float64             `json:"usdPerHour,omitempty"` // on the group's terms; 0 when unknown
}

// Find is the size of that name in any letter case, nil when it is not among them.
func (s *Sizes) Find(name string) *Size {
	if s == nil {
		return nil
	}
	for i := range s.All {
		if strings.EqualFold(s.All[i].Name, name) {
			return &s.All[i]
		}
	}
	return nil
}
