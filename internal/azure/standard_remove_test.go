package azure_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

const firstAgent = "k8s-agents-12345678-0"

// withVolume attaches a volume to the first agent, as the disk driver does.
func (w *world) withVolume() *world {
	w.t.Helper()
	id := "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.Compute/disks/"
	w.call("PUT", "/providers/Microsoft.Compute/disks/pvc-1", `{"location":"westeurope","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
	w.call("PATCH", "/providers/Microsoft.Compute/virtualMachines/"+firstAgent, fmt.Sprintf(`{"properties":{"storageProfile":{"dataDisks":[
		{"lun":0,"name":"%[2]s-data","createOption":"Empty","managedDisk":{"id":"%[1]s%[2]s-data"}},
		{"lun":1,"name":"pvc-1","createOption":"Attach","managedDisk":{"id":"%[1]spvc-1"}}]}}}`, id, firstAgent))
	return w
}

// whole is everything of the pools before a removal, and removed after that of the first agent: the volume stays.
var (
	whole = []string{
		"agents-0 agents-1 render-0 render-1",
		"agents-nic-0 agents-nic-1 render-nic-0 render-nic-1",
		"agents-0-data agents-0-os agents-1-data agents-1-os pvc-1 render-0-data render-0-os render-1-data render-1-os",
	}
	removed = []string{
		"agents-1 render-0 render-1",
		"agents-nic-1 render-nic-0 render-nic-1",
		"agents-1-data agents-1-os pvc-1 render-0-data render-0-os render-1-data render-1-os",
	}
)

func TestARemovalTakesAlongWhatWasMadeWithTheMachine(t *testing.T) {
	w := newStandardWorld(t).withVolume()
	w.open(w.standard("1:9:agents", "1:9:render"))
	w.pass(time.Minute)
	if d := cmp.Diff(whole, w.everything()); d != "" {
		t.Fatalf("before (-want +got):\n%s", d)
	}
	before := w.sim.Counters()
	w.remove("agents", firstAgent)
	want := map[string]int{
		"LIST virtualMachines":   2, // the evidence, and once more right before the write
		"LIST networkInterfaces": 1, "LIST disks": 1,
		"PATCH networkInterfaces": 1, "PATCH disks": 2, "DELETE virtualMachines": 1,
	}
	if d := cmp.Diff(want, nonzero(diff(before, w.sim.Counters()))); d != "" {
		t.Errorf("the removal cost (-want +got):\n%s", d)
	}
	marked := []string{whole[0], "agents-nic-0! agents-nic-1 render-nic-0 render-nic-1",
		"agents-0-data! agents-0-os! agents-1-data agents-1-os pvc-1 render-0-data render-0-os render-1-data render-1-os"}
	if d := cmp.Diff(marked, w.everything()); d != "" {
		t.Errorf("right after (-want +got):\n%s", d)
	}
	if nic := w.call("GET", "/providers/Microsoft.Network/networkInterfaces/k8s-agents-12345678-nic-0", ""); !strings.Contains(nic, `"made":"by hand"`) {
		t.Errorf("the interface has lost its other tags: %s", nic)
	}
	if g := w.groups()["agents"]; g.Capacity != 1 || g.Deleting() != 1 {
		t.Errorf("capacity %d with %d being deleted, want 1 with 1", g.Capacity, g.Deleting())
	}
	before = w.sim.Counters()
	w.pass(3 * time.Minute)
	if d := cmp.Diff(removed, w.everything()); d != "" {
		t.Errorf("at the end (-want +got):\n%s", d)
	}
	spent := nonzero(diff(before, w.sim.Counters()))
	if spent["DELETE networkInterfaces"] != 1 || spent["DELETE disks"] != 2 || spent["LIST disks"] > 4+1 { // one of them is the test's
		t.Errorf("the rest of the removal cost %v, want each resource deleted once and few lists", spent)
	}
	before = w.sim.Counters()
	w.pass(5 * time.Minute)
	if spent := nonzero(diff(before, w.sim.Counters())); spent["LIST disks"] != 0 || spent["LIST networkInterfaces"] != 0 {
		t.Errorf("a pool at peace costs %v, want no look at disks and interfaces", spent)
	}
	if len(w.Operations()) != 0 || len(w.Remains()) != 0 || w.groups()["agents"].Capacity != 1 {
		t.Errorf("operations %+v, remains %v", w.Operations(), w.Remains())
	}
}

func TestSeveralMachinesAreRemovedAsOneWrite(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render")).grow("agents", 2)
	w.pass(10 * time.Minute)
	w.remove("agents", firstAgent, "k8s-agents-12345678-1", "k8s-agents-12345678-3")
	w.pass(5 * time.Minute)
	want := []string{"agents-2 render-0 render-1", "agents-nic-2 render-nic-0 render-nic-1", "agents-2-data agents-2-os render-0-data render-0-os render-1-data render-1-os"}
	if d := cmp.Diff(want, w.everything()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// mortal is the connection of a process that dies at its n-th write: before it is sent, or before the answer comes.
type mortal struct {
	http.RoundTripper
	left     int
	answered bool
	dead     bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	write := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/oauth2/")
	if write && !m.dead {
		if m.left--; m.left < 0 {
			m.dead = true
			if m.answered {
				_, _ = m.RoundTripper.RoundTrip(r)
			}
		}
	}
	if m.dead {
		return nil, errDead
	}
	return m.RoundTripper.RoundTrip(r)
}

func TestARemovalIsFinishedOrTakenBackWhereverTheProcessDies(t *testing.T) {
	const writes = 7 // three tags, the machine, and three resources
	for at := range writes {
		for _, answered := range []bool{false, true} {
			for _, recorded := range []bool{false, true} {
				t.Run(fmt.Sprintf("at write %d applied %t record kept %t", at+1, answered, recorded), func(t *testing.T) {
					w := newStandardWorld(t).withVolume()
					o := w.standard("1:9:agents", "1:9:render")
					m := &mortal{RoundTripper: o.Transport, left: at, answered: answered}
					o.Transport = m
					w.open(o)
					g, err := w.Group(context.Background(), "agents")
					w.must(err)
					_ = w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instance(firstAgent).Machine()})
					for range 30 {
						if m.dead {
							break
						}
						w.now = w.now.Add(10 * time.Second)
						_, _ = w.Groups(context.Background())
					}
					if !m.dead {
						t.Fatal("the process outlived its removal")
					}
					if recorded {
						w.restart(w.standard("1:9:agents", "1:9:render"))
					} else {
						w.open(w.standard("1:9:agents", "1:9:render"))
					}
					w.pass(10 * time.Minute)
					got := w.everything()
					began := at > 3 || at == 3 && answered // the machine's deletion was accepted
					want := whole
					if began {
						want = removed
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("after the restart (-want +got):\n%s", d)
					}
					if !began {
						w.remove("agents", firstAgent)
						w.pass(5 * time.Minute)
						if d := cmp.Diff(removed, w.everything()); d != "" {
							t.Errorf("after the removal was begun again (-want +got):\n%s", d)
						}
					}
					if len(w.Remains()) != 0 || !w.groups()["agents"].Usable() {
						t.Errorf("remains %v, usable %t", w.Remains(), w.groups()["agents"].Usable())
					}
				})
			}
		}
	}
}

func TestWhatCannotBeDeletedIsNamedAndTriedAgain(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render"))
	w.sim.Inject(azuresim.Fault{Kind: "DELETE disks", Status: http.StatusConflict, Code: "ScopeLocked", Message: "The disk is locked."})
	w.remove("agents", firstAgent)
	w.pass(10 * time.Minute)
	remains := w.Remains()
	if len(remains) != 2 || !strings.Contains(remains[0], "/disks/"+firstAgent+"-data") || !strings.Contains(remains[0], "locked") {
		t.Errorf("remains %q, want both disks named with the lock", remains)
	}
	if n := w.sim.Counters()["DELETE disks"]; n < 4 || n > 2*6 {
		t.Errorf("%d attempts in ten minutes on two disks, want a few with growing pauses", n)
	}
	if g := w.groups()["agents"]; !g.Usable() || g.Capacity != 1 {
		t.Errorf("group %+v, want it usable all the while", g)
	}
	w.sim.ClearFaults()
	w.pass(15 * time.Minute)
	if disks := w.names("Microsoft.Compute/disks"); len(disks) != 6 || len(w.Remains()) != 0 {
		t.Errorf("disks %v, remains %v, want the two gone", disks, w.Remains())
	}
}

func TestATaggedDiskInUseIsLeftAlone(t *testing.T) {
	w := newStandardWorld(t)
	w.call("PATCH", "/providers/Microsoft.Compute/disks/k8s-agents-12345678-1-data", `{"tags":{"sluice.dev_delete-with":"0000-gone"}}`)
	w.open(w.standard("1:9:agents"))
	w.pass(5 * time.Minute)
	if n := w.sim.Counters()["DELETE disks"]; n != 0 {
		t.Errorf("%d disks were asked to be deleted, want none: a machine uses it", n)
	}
	if r := w.Remains(); len(r) != 1 || !strings.Contains(r[0], "k8s-agents-12345678-1-data") || !strings.Contains(r[0], "uses it") {
		t.Errorf("remains %q, want the disk named", r)
	}
	if r := w.Refused(); len(r) != 1 || r[0].Property != "S-37" || !strings.Contains(r[0].Resource, "k8s-agents-12345678-1-data") || !strings.Contains(r[0].Why, "uses it") {
		t.Errorf("refused %+v, want the deletion of the disk once, by S-37", r)
	}
	w.pass(5 * time.Minute)
	if r := w.Refused(); len(r) != 0 {
		t.Errorf("refused %+v again", r)
	}
}

func TestAMachineUnderAUsedNameIsNotRemoved(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	w.call("DELETE", "/providers/Microsoft.Compute/virtualMachines/"+firstAgent, "")
	w.now = w.now.Add(5 * time.Minute)
	w.call("PUT", "/providers/Microsoft.Resources/deployments/again", fmt.Sprintf(`{"properties":{"mode":"Incremental","template":%s,"parameters":%s}}`, template(),
		strings.NewReplacer(`"renderCount":{"value":2}`, `"renderCount":{"value":2},"renderOffset":{"value":2}`).Replace(clusterParameters)))
	w.now = w.now.Add(5 * time.Minute)
	w.groups() // the new machine is known, the caller's evidence is of the old one
	e := errorOf(t, w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instance(firstAgent).Machine()}))
	if e.Kind != cloud.Conflict {
		t.Errorf("error %+v, want a conflict", e)
	}
	if n := w.sim.Counters()["PATCH disks"]; n != 0 {
		t.Errorf("%d disks of the new machine were tagged", n)
	}
}

func TestAPoolParksMachinesAndStartsThem(t *testing.T) {
	w := newStandardWorld(t)
	for _, name := range []string{firstAgent, "k8s-agents-12345678-1"} {
		w.call("PATCH", "/providers/Microsoft.Compute/virtualMachines/"+name, `{"tags":{"poolName":"agents","sluice.dev_removal":"deallocate"}}`)
	}
	w.open(w.standard("1:9:agents"))
	w.remove("agents", firstAgent)
	w.pass(3 * time.Minute)
	w.want("agents", 1, "k8s-agents-12345678-1=running ("+firstAgent+")")
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.want("agents", 2, firstAgent+"=running k8s-agents-12345678-1=running")
	if n := w.sim.Counters()["PUT deployments"]; n != 1 {
		t.Errorf("%d deployments, want the cluster's alone", n)
	}
}
