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
	Groups   []cluster.GroupID // whose nodes may be emptied for it; [AllGroups] for every one
	Expected time.Duration     // for how long a saving is expected to last
	PodUSD   float64           // what moving a pod is thought to cost
	PerDay   int               // nodes that are emptied for it within 24 hours
}

// AllGroups stands for every group in [Consolidation.Groups].
const AllGroups cluster.GroupID = "all"

// Of says whether nodes of the group may be emptied.
func (c Consolidation) Of(id cluster.GroupID) bool {
	return slices.ContainsFunc(c.Groups, func(g cluster.GroupID) bool { return g == AllGroups || same(g, id) })
}

// Worth is what saving so much an hour is worth, in USD.
func (c Consolidation) Worth(usdPerHour float64) float64 { return usdPerHour * c.Expected.Hours() }

// ParseConsolidated reads the name of a group, or "all". Its error is one clause for the operator.
func ParseConsolidated(text string) (cluster.GroupID, error) {
	if name := strings.TrimSpace(text); name != "" {
		return cluster.GroupID(name), nil
	}
	return "", fmt.Errorf("it names no group; give GROUP, or all for every group")
}
