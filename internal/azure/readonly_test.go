package azure_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// TestAProcessThatOnlyLooksWritesNothing: not even to finish what another has begun (S-24).
func TestAProcessThatOnlyLooksWritesNothing(t *testing.T) {
	w := newStandardWorld(t)
	o := w.standard("1:9:agents")
	o.MaxDeployments = 1
	w.open(o)
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.grow("agents", 1)
	w.remove("agents", firstAgent) // the process dies with the machine, and its interface and disks stay behind
	o.ReadOnly = true
	w.restart(o)
	before := w.sim.Counters()
	w.pass(20 * time.Minute)
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	for doing, err := range map[string]error{
		"grow":   w.SetCapacity(context.Background(), g, g.Capacity+1),
		"remove": w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[0].Machine()}),
	} {
		if e := errorOf(t, err); e.Kind != cloud.Invalid || e.Code != "ReadOnly" {
			t.Errorf("%s: %v, want it refused", doing, err)
		}
	}
	for call, n := range nonzero(diff(before, w.sim.Counters())) {
		if !strings.HasPrefix(call, "GET ") && !strings.HasPrefix(call, "LIST ") {
			t.Errorf("%d %s", n, call)
		}
	}
	if left := strings.Join(w.everything(), " "); !strings.Contains(left, "agents-nic-0!") || g.Capacity != 3 || !g.Usable() {
		t.Errorf("capacity %d and %s, want three agents and the tagged remnants of the first", g.Capacity, left)
	}
	o.ReadOnly = false
	w.open(o)
	w.pass(5 * time.Minute)
	if left := strings.Join(w.everything(), " "); strings.Contains(left, "!") {
		t.Errorf("the next process that may write leaves %s", left)
	}
}
