package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// Consolidation is what it takes to move pods only because the same could run for less. It is opt-in: without groups there is none.
type Consolidation struct {
	Groups   []cluster.GroupID `json:"groups,omitempty"`   // whose nodes may be emptied for it; [AllGroups] for every one (--consolidate)
	Expected time.Duration     `json:"expected,omitempty"` // for how long a saving is expected to last (--consolidation-expected-time)
	PodUSD   float64           `json:"podUSD,omitempty"`   // what moving a pod is thought to cost (--consolidation-pod-cost)
	PerDay   int               `json:"perDay,omitempty"`   // nodes that are emptied for it within 24 hours (--consolidation-per-day)
}

// AllGroups stands for every group in [Consolidation.Groups].
const AllGroups cluster.GroupID = "all"

// Of says whether nodes of the group may be emptied.
func (c Consolidation) Of(id cluster.GroupID) bool {
	return slices.ContainsFunc(c.Groups, func(g cluster.GroupID) bool { return g == AllGroups || same(g, id) })
}

// Worth is what saving so much an hour is worth.
func (c Consolidation) Worth(usdPerHour float64) float64 { return usdPerHour * c.Expected.Hours() }

// check returns the first setting that makes no sense, by the name of its flag.
func (c Consolidation) check() error {
	switch {
	case c.Expected < 0:
		return fmt.Errorf("--consolidation-expected-time=%s: give a duration of zero or more, such as 1h", c.Expected)
	case !(c.PodUSD >= 0): // so that NaN is refused
		return fmt.Errorf("--consolidation-pod-cost=%g: give dollars, zero or more, such as 0.01", c.PodUSD)
	case c.PerDay < 0:
		return fmt.Errorf("--consolidation-per-day=%d: give 0 or more", c.PerDay)
	}
	return nil
}

// ParseConsolidated reads the name of a group, or "all". Its error is one clause for the operator.
func ParseConsolidated(text string) (cluster.GroupID, error) {
	if name := strings.TrimSpace(text); name != "" {
		return cluster.GroupID(name), nil
	}
	return "", fmt.Errorf("it names no group; give GROUP, or all for every group")
}
