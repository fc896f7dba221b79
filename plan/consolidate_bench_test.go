package plan_test

import (
	"fmt"
	"testing"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// BenchmarkConsolidation measures a cycle of the steady cluster of 5,000 nodes that looks for a saving, with groups of ever cheaper sizes
// of which none is large enough to replace a node: when nothing happened but that the cloud was read, and when pods changed.
func BenchmarkConsolidation(b *testing.B) {
	allowed := policy.Default()
	allowed.Removal.UnneededTime = 1 << 40
	allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
	for _, changed := range []int{0, 2} {
		c := newCycles(allowed)
		for i, g := range c.groups {
			g.PriceUSDPerHour = 1 - float64(i)/100
		}
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c.read()
				c.change(changed)
				b.StartTimer()
				c.cycle()
			}
		})
	}
}
