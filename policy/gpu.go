package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// GPUTotal bounds the GPUs of a kind in the whole cluster; see [sluice.dev/sluice/cluster.GPUsOf].
type GPUTotal struct {
	Kind string `json:"kind"`
	Min  int64  `json:"min"` // that removal leaves
	Max  int64  `json:"max"` // to which growth is cut
}

// ParseGPUTotal reads "KIND:MIN:MAX".
func ParseGPUTotal(text string) (GPUTotal, error) {
	kind, rest, _ := strings.Cut(text, ":")
	least, most, _ := strings.Cut(rest, ":")
	low, lowErr := strconv.ParseInt(least, 10, 64)
	high, highErr := strconv.ParseInt(most, 10, 64)
	if kind == "" || lowErr != nil || highErr != nil || low < 0 || high < low {
		return GPUTotal{}, fmt.Errorf("give KIND:MIN:MAX, such as nvidia.com/gpu:0:16, " +
			"where KIND is a resource or the value of the nodes' label accelerator")
	}
	return GPUTotal{kind, low, high}, nil
}

// String is as [ParseGPUTotal] reads it.
func (t GPUTotal) String() string { return fmt.Sprintf("%s:%d:%d", t.Kind, t.Min, t.Max) }
