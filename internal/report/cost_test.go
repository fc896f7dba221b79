package report

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
)

// TestCostIsOfWhatAzureHas has groups that are read, and that are not, or no more.
func TestCostIsOfWhatAzureHas(t *testing.T) {
	for name, c := range map[string]struct {
		group cluster.Group
		usd   float64
		known bool
	}{
		"of two machines":         {cluster.Group{Capacity: 2, PriceUSDPerHour: 0.5}, 1, true},
		"of none":                 {cluster.Group{}, 0, true},
		"at an unknown price":     {cluster.Group{Capacity: 2}, 0, false},
		"of an unknown capacity":  {cluster.Group{Capacity: -1, PriceUSDPerHour: 0.5}, 0, false},
		"of a group that is gone": {cluster.Group{Capacity: 2, PriceUSDPerHour: 0.5, Deleted: time.Unix(1, 0)}, 0, true},
	} {
		if usd, known := Cost(&c.group); usd != c.usd && known || known != c.known {
			t.Errorf("%s: %v, %v", name, usd, known)
		}
	}
}
