package azure_test

import (
	"net/http"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// TestARemovedMachineIsNotCountedOnWhileReadsAreOld holds S-11 and S-06 against reads that are older than they look: what Azure accepted to
// remove is neither named again nor capacity, whatever lists say.
func TestARemovedMachineIsNotCountedOnWhileReadsAreOld(t *testing.T) {
	for name, c := range map[string]struct {
		removal string
		fault   azuresim.Fault // besides the old reads
	}{
		"a deletion":                        {removal: "delete"},
		"a machine is switched off":         {removal: "deallocate"},
		"Azure forgets the deletion":        {"delete", azuresim.Fault{Kind: "GET operations", Status: http.StatusNotFound}},
		"Azure forgets the switching off":   {"deallocate", azuresim.Fault{Kind: "GET operations", Status: http.StatusNotFound}},
		"the operation may not be followed": {"delete", azuresim.Fault{Kind: "GET operations", Status: http.StatusForbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			agents := set("agents", 3)
			agents.Tags = map[string]string{"sluice.dev_removal": c.removal}
			w := newWorld(t, agents)
			w.open(w.options("0:9:agents"))
			w.groups()
			until := w.now.Add(4 * time.Minute)
			for _, kind := range []string{"LIST virtualMachineScaleSets", "GET virtualMachineScaleSets", "LIST virtualMachineScaleSets/virtualMachines"} {
				w.sim.Inject(azuresim.Fault{Kind: kind, Frozen: true, Until: until})
			}
			if c.fault.Kind != "" {
				c.fault.Until = until
				w.sim.Inject(c.fault)
			}
			w.remove("agents", "1")
			for w.now.Before(until) {
				g := w.groups()["agents"]
				if in := g.Instance("1"); in != nil && in.State != cluster.StateDeleting {
					t.Fatalf("at %s machine 1 is %s again", w.now.Format(time.TimeOnly), in.State)
				}
				if g.Present() > 2 {
					t.Fatalf("at %s %d machines are counted on, want 2", w.now.Format(time.TimeOnly), g.Present())
				}
				w.pass(10 * time.Second)
			}
			w.pass(3 * time.Minute)
			if g := w.groups()["agents"]; len(g.Instances) != 2 || !g.Usable() {
				t.Errorf("%d machines, usable: %t, once reads are right again; want 2 and a usable group", len(g.Instances), g.Usable())
			}
		})
	}
}

// TestARemovalThatEndedStandsForTheProcessThatCameAfter holds the same for a process that begins after the removal ended, while reads are old.
func TestARemovalThatEndedStandsForTheProcessThatCameAfter(t *testing.T) {
	for name, c := range map[string]struct {
		removal string
		found   bool // by its tags
	}{
		"a deletion":                              {removal: "delete"},
		"a machine was switched off":              {removal: "deallocate"},
		"a deletion in a group found by its tags": {removal: "delete", found: true},
	} {
		t.Run(name, func(t *testing.T) {
			agents := set("agents", 3)
			agents.Tags = map[string]string{"sluice.dev_removal": c.removal, "pool": "farm", "min": "0", "max": "9"}
			w := newWorld(t, agents)
			options := w.options("0:9:agents")
			if c.found {
				options = w.options()
				options.Discovery = []azure.Discovery{{Tags: map[string]string{"pool": "farm"}}}
			}
			w.open(options)
			w.groups()
			until := w.now.Add(8 * time.Minute)
			for _, kind := range []string{"LIST virtualMachineScaleSets", "GET virtualMachineScaleSets", "LIST virtualMachineScaleSets/virtualMachines"} {
				w.sim.Inject(azuresim.Fault{Kind: kind, Frozen: true, Until: until})
			}
			w.remove("agents", "1")
			for range 30 { // the deletion ends
				w.pass(6 * time.Second)
				w.groups()
			}
			if n := len(w.Operations()); n != 0 {
				t.Fatalf("%d operations are in flight, want none", n)
			}
			w.restart(options)
			w.restart(options) // which has read nothing yet, and passes on what it was told
			for w.now.Before(until) {
				if g := w.groups()["agents"]; g.Present() != 2 {
					t.Fatalf("at %s %d machines are counted on, want 2", w.now.Format(time.TimeOnly), g.Present())
				}
				w.pass(10 * time.Second)
			}
			w.pass(3 * time.Minute)
			if g := w.groups()["agents"]; len(g.Instances) != 2 || !g.Usable() {
				t.Errorf("%d machines, usable: %t, once reads are right again; want 2 and a usable group", len(g.Instances), g.Usable())
			}
			w.pass(10 * time.Minute)
			for _, b := range w.recorded(w.SaveOperations()).Ledger().Beyond("agents") {
				if b.Does == fleet.Park {
					t.Errorf("%+v is still kept, which every list shows", b)
				}
			}
		})
	}
}

// TestAMachineThatSomebodyStartedIsCapacity holds S-06 where the earlier process switched a machine off, and somebody has started it since: until a list tells,
// nobody counts on the machine, and none is made in its place.
func TestAMachineThatSomebodyStartedIsCapacity(t *testing.T) {
	for name, later := range map[string]time.Duration{
		"it comes up":     10 * time.Second,
		"it is up by now": 5 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			agents := set("agents", 3)
			agents.Tags = map[string]string{"sluice.dev_removal": "deallocate"}
			w := newWorld(t, agents)
			options := w.options("0:3:agents")
			w.open(options)
			w.groups()
			w.remove("agents", "1")
			for range 20 { // it is off
				w.pass(6 * time.Second)
				w.groups()
			}
			if g := w.groups()["agents"]; g.Capacity != 2 || len(g.Parked) != 1 {
				t.Fatalf("capacity %d with %d parked, want 2 with 1", g.Capacity, len(g.Parked))
			}
			w.must(w.sim.Start("agents_1"))
			w.pass(later)
			w.restart(options)
			for range 90 {
				if g := w.groups()["agents"]; g.Capacity != 3 {
					t.Fatalf("at %s the capacity is %d, want 3", w.now.Format(time.TimeOnly), g.Capacity)
				}
				w.pass(10 * time.Second)
			}
			if g := w.groups()["agents"]; g.Present() != 3 || !g.Usable() {
				t.Errorf("%d machines are counted on, usable: %t, want 3", g.Present(), g.Usable())
			}
		})
	}
}
