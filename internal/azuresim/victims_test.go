package azuresim

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The vectors of Azure's documentation of scale-in policies.
func TestVictimsAreThoseOfTheDocumentation(t *testing.T) {
	zones := map[string][]int{"1": {3, 4, 5, 10}, "2": {2, 6, 9, 11}, "3": {1, 7, 8}}
	for policy, want := range map[string][]int{
		"OldestVM": {2, 3, 1, 4, 6, 5},
		"NewestVM": {11, 10, 9, 8, 5, 7},
	} {
		t.Run(policy, func(t *testing.T) {
			ss := &scaleSet{model: map[string]any{"properties": map[string]any{
				"scaleInPolicy": map[string]any{"rules": []any{policy}}}}}
			for zone, numbers := range zones {
				for _, n := range numbers {
					ss.instances = append(ss.instances, &instance{set: ss, number: n, zone: zone})
				}
			}
			slices.SortFunc(ss.instances, func(a, b *instance) int { return a.number - b.number })
			var got []int
			for _, i := range ss.victims(6, time.Now()) {
				got = append(got, i.number)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
