package azure_test

import (
	"net/http"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// TestAGrowthThatFailedBindsNoLaterOne has Azure refuse a growth, or accept it and take it back: its operation fails, and the capacity is what it was. A smaller
// growth is asked for then, although the larger one would count for minutes, had Azure not said so.
func TestAGrowthThatFailedBindsNoLaterOne(t *testing.T) {
	for name, test := range map[string]struct {
		fault azuresim.Fault
		grows bool
	}{
		"it is refused":            {azuresim.Fault{Status: http.StatusConflict}, true},
		"its operation has failed": {azuresim.Fault{Operation: "Failed"}, true},
		"nobody knows yet":         {azuresim.Fault{Operation: "Endless"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1))
			w.open(w.options("0:9:agents"))
			one := 1
			test.fault.Kind, test.fault.Code, test.fault.After, test.fault.Times = patchSet, "AllocationFailed", time.Second, 1
			w.sim.Inject(test.fault)
			for _, kind := range []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets"} {
				w.sim.Inject(azuresim.Fault{Kind: kind, FalseCapacity: &one, From: w.now.Add(time.Millisecond)})
			}
			w.sim.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets/virtualMachines", Hide: []string{"1", "2", "3"}})
			before, err := w.Group(t.Context(), "agents")
			w.must(err)
			if err := w.SetCapacity(t.Context(), before, 4); (err != nil) != (test.fault.Status > 0) {
				t.Fatalf("the growth ended with %v", err)
			}
			w.pass(time.Minute)
			if g := w.groups()["agents"]; g.Capacity != 1 || len(g.Instances) != 1 {
				t.Fatalf("capacity %d with %d machines, want what was before the growth: this shows nothing", g.Capacity, len(g.Instances))
			}
			read, err := w.Group(t.Context(), "agents")
			w.must(err)
			if got := w.mayGrow(read, 2); (got == "") != test.grows {
				t.Errorf("a growth to 2 is refused by %q", got)
			}
		})
	}
}
