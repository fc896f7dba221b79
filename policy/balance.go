package policy

import "fmt"

// Balance says which groups are alike, so that a growth is spread over them. The zero value of Similar spreads nothing.
type Balance struct {
	Similar      bool     `json:"similar,omitempty"`      // --balance-similar-node-groups
	IgnoreLabels []string `json:"ignoreLabels,omitempty"` // labels in which like groups may differ, beside those that differ by nature (--balancing-ignore-label)

	// How far like groups may differ, as a share of the larger: memory of a machine, what of anything it can give to pods, and what of that
	// daemons leave.
	Memory      float64 `json:"memory"`      // --memory-difference-ratio
	Allocatable float64 `json:"allocatable"` // --max-allocatable-difference-ratio
	Free        float64 `json:"free"`        // --max-free-difference-ratio
}

func (b Balance) check() error {
	for _, r := range []struct {
		flag  string
		value float64
	}{
		{"memory-difference-ratio", b.Memory},
		{"max-allocatable-difference-ratio", b.Allocatable},
		{"max-free-difference-ratio", b.Free},
	} {
		if !(r.value >= 0 && r.value <= 1) { // so that NaN is refused
			return fmt.Errorf("--%s=%g: give a share between 0 and 1, such as 0.05", r.flag, r.value)
		}
	}
	for _, l := range b.IgnoreLabels {
		if l == "" {
			return fmt.Errorf("--balancing-ignore-label is empty: give the key of a label, or leave the flag out")
		}
	}
	return nil
}
