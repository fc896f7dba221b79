package azure_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// TestAGrowthThatFailedBindsNoLaterOne has Azure accept a growth and take it back: its operation fails, and the capacity is what it was. A smaller growth is
// asked for then, although Azure's word on the larger one would stand for minutes, had its operation not failed.
func TestAGrowthThatFailedBindsNoLaterOne(t *testing.T) {
	for name, test := range map[string]struct {
		operation string
		grows     bool
	}{
		"its operation has failed": {"Failed", true},
		"nobody knows yet":         {"Endless", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1))
			w.open(w.options("0:9:agents"))
			one := 1
			w.sim.Inject(azuresim.Fault{Kind: patchSet, Operation: test.operation, Code: "AllocationFailed", After: time.Second, Times: 1})
			for _, kind := range []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets"} {
				w.sim.Inject(azuresim.Fault{Kind: kind, FalseCapacity: &one, From: w.now.Add(time.Millisecond)})
			}
			w.sim.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets/virtualMachines", Hide: []string{"1", "2", "3"}})
			w.grow("agents", 3)
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

// TestAGrowthThatAzureTookAwayBindsNoLaterOne has spot machines evicted right after a growth that Azure accepted.
func TestAGrowthThatAzureTookAwayBindsNoLaterOne(t *testing.T) {
	agents := set("agents", 3)
	agents.Priority, agents.EvictionPolicy = "Spot", "Delete"
	w := newWorld(t, agents)
	w.open(w.options("0:9:agents"))
	w.groups()
	w.grow("agents", 2)
	w.read(2 * time.Minute)
	w.must(w.sim.Evict("agents_0", 0))
	w.must(w.sim.Evict("agents_1", 0))
	g := w.read(2 * time.Minute)
	if got := w.mayGrow(g, g.Capacity+1); got != "" {
		t.Errorf("with two of five taken away and capacity %d, one more is refused by %s", g.Capacity, got)
	}
}
