package packing

import (
	"slices"
	"testing"
)

// TestPlansAreNearTheBound prints cost against bound for all cases, and holds the goal: 3 % in the median, 10 % at worst.
func TestPlansAreNearTheBound(t *testing.T) {
	for _, set := range cases(t) {
		var gaps []float64
		var cost, bound int64
		for i, p := range set.problems {
			s := solve(t, p)
			gap := 0.0
			if s.Bound > 0 {
				gap = float64(s.Cost)/float64(s.Bound) - 1
			}
			gaps = append(gaps, gap)
			cost, bound = cost+s.Cost, bound+s.Bound
			if testing.Verbose() && gap > 0.1 {
				t.Logf("  problem %d: %d classes, cost %d bound %d %.3f: %v %v", i, len(p.Classes), s.Cost, s.Bound, gap, s.Count(len(p.Groups)), p.Classes)
			}
		}
		slices.Sort(gaps)
		t.Logf("%-32s %4d problems: gap median %.2f %%, worst %.2f %%; cost %d, bound %d", set.name, len(gaps),
			100*gaps[len(gaps)/2], 100*gaps[len(gaps)-1], cost, bound)
	}
}
