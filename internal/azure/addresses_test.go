package azure_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// addressed counts a group's machines that show the private address Azure gave them; a wrong one fails the test.
func (w *world) addressed() int {
	w.t.Helper()
	given := map[string]string{}
	for _, m := range w.sim.Machines() {
		given[strings.ToLower(m.VMID)] = m.PrivateIP
	}
	n := 0
	for _, in := range w.groups()["agents"].Instances {
		if len(in.PrivateIPs) == 0 {
			continue
		}
		if n++; len(in.PrivateIPs) != 1 || in.PrivateIPs[0] != given[in.UID] {
			w.t.Errorf("machine %s has addresses %v, want %s", in.ID, in.PrivateIPs, given[in.UID])
		}
	}
	return n
}

func TestEveryAddressIsAskedForOnce(t *testing.T) {
	for orchestration, list := range map[string]string{"Uniform": listInterfaces, "Flexible": "LIST networkInterfaces"} {
		t.Run(orchestration, func(t *testing.T) {
			s := set("agents", 2)
			s.OrchestrationMode = orchestration
			w := newWorld(t, s)
			w.open(w.options("0:9:agents"))
			if n := w.addressed(); n != 2 {
				t.Errorf("%d addresses at the first read, want both", n)
			}
			w.pass(10 * time.Minute)
			if n := w.sim.Counters()[list]; n != 1 {
				t.Errorf("%d lists for machines whose addresses are known, want 1", n)
			}
			w.grow("agents", 3)
			w.pass(10 * time.Minute)
			if n := w.addressed(); n != 5 {
				t.Errorf("%d addresses after the growth, want all 5", n)
			}
			if n := w.sim.Counters()[list]; n > 3 {
				t.Errorf("%d lists of interfaces, want those of the new machines in one or two", n)
			}
		})
	}
}

func TestWithoutTheRightToAddressesThereIsOneWarning(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: listInterfaces, Status: 403, Code: "AuthorizationFailed"})
	w.pass(24 * time.Hour)
	if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 2 || w.addressed() != 0 {
		t.Errorf("agents is %+v, want it whole without addresses", g)
	}
	if n := strings.Count(w.log.String(), "allow Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read"); n != 1 {
		t.Errorf("%d warnings that name the right, want 1:\n%s", n, w.log.String())
	}
	if n := w.sim.Counters()[listInterfaces]; n < 8 || n > 14 {
		t.Errorf("%d attempts in a day, want ever fewer", n)
	}
}
