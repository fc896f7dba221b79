package certify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

// TestAChangedBeliefIsNamed changes one thing about Azure at a time, and wants its probe, and no other, to differ, with the promises that lean on it.
func TestAChangedBeliefIsNamed(t *testing.T) {
	belief := func(b azuresim.Beliefs) func(*world) { return func(w *world) { w.sim.Beliefs = b } }
	fault := func(f azuresim.Fault) func(*world) { return func(w *world) { w.sim.Inject(f) } }
	for name, tc := range map[string]struct {
		change   func(*world)
		probe    string
		promises string
	}{
		"a lower capacity is refused": {belief(azuresim.Beliefs{LowerRefused: true}), "lower-capacity-lets-azure-choose", "S-01 S-10"},
		"If-Match guards nothing":     {belief(azuresim.Beliefs{Unguarded: true}), "entity-tag-guards-writes", "S-04"},
		"tags keep the entity tag":    {belief(azuresim.Beliefs{TagsKeepETag: true}), "entity-tag-moves-with-tags", "S-04"},
		"vmId follows the id":         {belief(azuresim.Beliefs{UIDFollowsID: true}), "new-machine-is-another", "S-11"},
		"the dead are deleted again":  {belief(azuresim.Beliefs{DeadAccepted: true}), "repeated-delete-is-refused", "S-11 S-31"},
		"two deletes at a time":       {func(w *world) { w.sim.DeleteWindow = 1 }, "second-delete-is-refused", "S-30 S-31"},
		"a 429 without a time": {fault(azuresim.Fault{
			Kind: "GET virtualMachineScaleSets", ScaleSet: "uniform", Header: []azuresim.Header{{Name: "Retry-After"}},
		}), "too-many-reads-are-refused", "S-32"},
		"a list is late": {fault(azuresim.Fault{
			Kind: "LIST virtualMachineScaleSets/virtualMachines", ScaleSet: "uniform", Omit: -1, Times: 3,
		}), "new-machine-is-listed", "S-01 S-02 S-20"},
		"a failure is a refusal": {fault(azuresim.Fault{
			Kind: "PATCH virtualMachineScaleSets", ScaleSet: "dear", Status: 409, Code: "SpotPriceGreaterThanProvidedMaxPrice", Times: 1,
		}), "failure-comes-with-the-operation", "S-33"},
		"an address is not told": {func(w *world) {
			w.between = without(`"privateIPAddress"`)
		}, "interfaces-tell-addresses", "S-12"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.change)
			record, left := w.run(t.Context())
			if left != nil {
				t.Errorf("left: %+v", left)
			}
			var differ []string
			for _, r := range record.Results {
				if r.Verdict == certify.Differs {
					differ = append(differ, r.Name)
				}
			}
			if !slices.Equal(differ, []string{tc.probe}) {
				t.Errorf("%q differ, want %q", differ, tc.probe)
			}
			for _, p := range certify.Probes() {
				if p.Name == tc.probe && strings.Join(p.Promises, " ") != tc.promises {
					t.Errorf("%s leans on %q, want %q", p.Promises, p.Name, tc.promises)
				}
			}
			if lasted := w.now.Sub(start); lasted > 45*time.Minute {
				t.Errorf("it lasted %s", lasted)
			}
		})
	}
}
