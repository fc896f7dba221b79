package azure_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// TestADeletedMachineIsNotNamedAgainWhileListsAreOld holds S-11 against lists that are older than they look.
func TestADeletedMachineIsNotNamedAgainWhileListsAreOld(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	w.groups()
	for _, kind := range []string{"LIST virtualMachineScaleSets", "GET virtualMachineScaleSets", "LIST virtualMachineScaleSets/virtualMachines"} {
		w.sim.Inject(azuresim.Fault{Kind: kind, Frozen: true, Until: w.now.Add(4 * time.Minute)})
	}
	w.remove("agents", "1")
	for end := w.now.Add(4 * time.Minute); w.now.Before(end); w.pass(10 * time.Second) {
		if in := w.groups()["agents"].Instance("1"); in != nil && in.State != cluster.StateDeleting {
			t.Fatalf("at %s machine 1 is %s again", w.now.Format(time.TimeOnly), in.State)
		}
	}
	w.pass(3 * time.Minute)
	if g := w.groups()["agents"]; len(g.Instances) != 2 || !g.Usable() {
		t.Errorf("%d machines, usable: %t, once lists are right again; want 2 and a usable group", len(g.Instances), g.Usable())
	}
}
