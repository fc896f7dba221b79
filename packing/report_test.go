package packing

import (
	"math"
	"slices"
	"testing"
)

// TestPlansAreNearTheBound prints, for each set of cases, what the plans cost above the bound, and what the expanders of
// cluster-autoscaler would cost. It holds the goals: at most 3 % above the bound in the median and 10 % at worst, never dearer than the
// cheapest expander, and nobody is left whom an expander would serve.
func TestPlansAreNearTheBound(t *testing.T) {
	for _, set := range cases(t) {
		var gaps []float64
		var cost, bound int64
		by := make([]int64, len(expanders))
		for i, p := range set.problems {
			s := solve(t, p)
			gaps = append(gaps, float64(s.Cost)/math.Max(1, float64(s.Bound))-1)
			cost, bound = cost+s.Cost, bound+s.Bound
			left := 0
			for _, l := range s.Left {
				left += l.Count
			}
			for j, e := range expanders {
				theirs, stay := e.plan(p)
				by[j] += theirs
				if stay < left || stay == left && theirs < s.Cost {
					t.Errorf("%s, problem %d: %s costs %d and leaves %d, the plan costs %d and leaves %d",
						set.name, i, e.name, theirs, stay, s.Cost, left)
				}
			}
		}
		slices.Sort(gaps)
		median, worst := gaps[len(gaps)/2], gaps[len(gaps)-1]
		t.Logf("%-32s %4d problems: %.2f USD/h, median %.2f %% above the bound, worst %.2f %%, all %.2f %%",
			set.name, len(gaps), float64(cost)/1e6, 100*median, 100*worst, 100*(float64(cost)/float64(bound)-1))
		for j, e := range expanders {
			t.Logf("%47s %-12s %+7.2f %%", "", e.name, 100*(float64(by[j])/float64(cost)-1))
		}
		if median > 0.03 || worst > 0.10 {
			t.Errorf("%s: %.2f %% above the bound in the median and %.2f %% at worst", set.name, 100*median, 100*worst)
		}
	}
}
