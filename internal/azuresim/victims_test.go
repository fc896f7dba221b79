package azuresim

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The vectors of Azure's documentation of scale-in policies, and what follows
// from its text.
func TestVictimsAreThoseOfTheDocumentation(t *testing.T) {
	documented := map[string][]int{"1": {3, 4, 5, 10}, "2": {2, 6, 9, 11}, "3": {1, 7, 8}}
	for name, tc := range map[string]struct {
		policy  string
		zones   map[string][]int
		faults  map[int]int // fault domains, of instances that are not in 0
		young   []int       // instances created later than their numbers say
		spared  []int
		victims []int
	}{
		"the oldest, after the zones are balanced":                 {policy: "OldestVM", zones: documented, victims: []int{2, 3, 1, 4, 6, 5}},
		"the newest, after the zones are balanced":                 {policy: "NewestVM", zones: documented, victims: []int{11, 10, 9, 8, 5, 7}},
		"by default the highest ids, after the zones are balanced": {policy: "Default", zones: documented, victims: []int{11, 10, 9, 8, 5, 7}},
		"no policy is the default one":                             {zones: map[string][]int{"": {0, 1, 2}}, victims: []int{2, 1}},
		"by default the fullest fault domain comes before the highest id": {
			policy: "Default", zones: map[string][]int{"": {0, 1, 2, 3}}, faults: map[int]int{3: 1}, victims: []int{2, 1, 3}},
		"the fullest zone comes before the fullest fault domain": {
			policy: "Default", zones: map[string][]int{"1": {0, 1, 2}, "2": {3, 4}}, faults: map[int]int{0: 1, 1: 2}, victims: []int{2, 4}},
		"a protected one is skipped, and weighs": {
			policy: "Default", zones: map[string][]int{"1": {0, 1, 4}, "2": {2, 3}}, spared: []int{4}, victims: []int{1, 3}},
		"the newest by age, whatever its id": {policy: "NewestVM", zones: map[string][]int{"": {0, 1, 2}}, young: []int{0}, victims: []int{0, 2}},
		"the oldest by age, whatever its id": {policy: "OldestVM", zones: map[string][]int{"": {0, 1, 2}}, young: []int{0}, victims: []int{1, 2}},
		"no more than there are":             {policy: "Default", zones: map[string][]int{"": {7}}, spared: []int{7}, victims: nil},
	} {
		t.Run(name, func(t *testing.T) {
			ss := &scaleSet{model: map[string]any{"properties": map[string]any{}}}
			if tc.policy != "" {
				ss.model["properties"] = map[string]any{"scaleInPolicy": map[string]any{"rules": []any{tc.policy}}}
			}
			now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
			for zone, numbers := range tc.zones {
				for _, n := range numbers {
					i := &instance{set: ss, number: n, placement: placement{zone: zone, faultDomain: tc.faults[n]}, created: now, provisioning: provisioning{upAt: now}}
					if slices.Contains(tc.young, n) {
						i.created = now.Add(time.Hour)
					}
					i.protection.FromScaleIn = slices.Contains(tc.spared, n)
					ss.instances = append(ss.instances, i)
				}
			}
			slices.SortFunc(ss.instances, func(a, b *instance) int { return a.number - b.number })
			var got []int
			for _, i := range ss.victims(max(len(tc.victims), 1), now) {
				got = append(got, i.number)
			}
			if diff := cmp.Diff(tc.victims, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASizeSaysWhatItTakes(t *testing.T) {
	for size, want := range map[string]traits{
		"Standard_D4s_v5":          {4, "standardDSv5Family", 8},
		"Standard_D4as_v5":         {4, "standardDASv5Family", 8},
		"standard_d2_v3":           {2, "standardDv3Family", 4},
		"Standard_E64-16s_v3":      {64, "standardESv3Family", 64},
		"Standard_NC24ads_A100_v4": {24, "StandardNCADSA100v4Family", 8}, // as the SKU list says
		"Standard_NC24ads_H200_v9": {24, "standardNCADSv9Family", 48},
		"Standard_F8s":             {8, "standardFSFamily", 16},
		"whatever":                 {},
	} {
		var s Server
		if diff := cmp.Diff(want, s.store.traits(size), cmp.AllowUnexported(traits{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", size, diff)
		}
	}
}
