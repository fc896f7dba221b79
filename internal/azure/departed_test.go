package azure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// lies has Azure list two machines fewer than there are, and say this capacity, until then.
func (w *world) lies(capacity int, until time.Time) {
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Omit: 2, Until: until})
	w.sim.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", FalseCapacity: &capacity, Until: until})
	w.sim.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets", FalseCapacity: &capacity, Until: until})
}

// read is the group after so long.
func (w *world) read(after time.Duration) *cluster.Group {
	w.pass(after)
	return w.groups()["agents"]
}

// TestAMachineThatIsListedNoMoreHasDepartedOrIsMissing tells machines apart that Azure was seen to delete from those that a list lacks for no reason.
func TestAMachineThatIsListedNoMoreHasDepartedOrIsMissing(t *testing.T) {
	w := newWorld(t, set("agents", 4))
	w.open(w.options("0:9:agents"))
	all := w.groups()["agents"].Instances
	w.remove("agents", all[0].ID)
	if g := w.read(2 * time.Minute); !slices.Equal(g.Departed, []string{all[0].UID}) || len(g.Missing) != 0 {
		t.Errorf("after a deletion departed %v, missing %v; want that machine, none", g.Departed, g.Missing)
	}
	w.lies(1, w.now.Add(5*time.Minute))
	want := []string{all[2].UID, all[3].UID}
	slices.Sort(want)
	if g := w.read(4 * time.Minute); !slices.Equal(g.Missing, want) {
		t.Errorf("while lists lack two machines %v are missing, want %v", g.Missing, want)
	}
	if g := w.read(80 * time.Minute); len(g.Missing) != 0 || len(g.Departed) != 0 {
		t.Errorf("once lists have them again missing %v, and long after the deletion departed %v; want none", g.Missing, g.Departed)
	}
}

// TestGroupsTellHowTheirMachinesAreNamed: a list that lacks machines is proved wrong by nodes with such provider ids or hostnames.
func TestGroupsTellHowTheirMachinesAreNamed(t *testing.T) {
	uniform, flexible := set("agents", 1), set("flex", 1)
	uniform.ComputerNamePrefix, flexible.OrchestrationMode = "Node-", "Flexible"
	w := newWorld(t, uniform, flexible)
	w.open(w.options("0:9:agents", "0:9:flex"))
	groups := w.groups()
	for name, want := range map[cluster.GroupID][2]string{
		"agents": {"/virtualMachineScaleSets/agents/virtualMachines/", "Node-"},
		"flex":   {"/Microsoft.Compute/virtualMachines/flex_", ""},
	} {
		g := groups[name]
		if !strings.HasPrefix(g.ProviderIDPrefix, "azure:///subscriptions/") || !strings.HasSuffix(g.ProviderIDPrefix, want[0]) || g.HostnamePrefix != want[1] {
			t.Errorf("provider ids of %s begin with %q, hostnames with %q; want ...%q and %q", name, g.ProviderIDPrefix, g.HostnamePrefix, want[0], want[1])
		}
		if in := g.Instances[0]; !strings.HasPrefix(in.ProviderID, g.ProviderIDPrefix) || !strings.HasPrefix(in.ComputerName, g.HostnamePrefix) {
			t.Errorf("machine %+v of %s is named otherwise: %q, %q", in, name, g.ProviderIDPrefix, g.HostnamePrefix)
		}
	}
}

// TestADeletionThatFailedHasNobodyDepart has lists lack machines whose deletion Azure had accepted, and has said to have failed.
func TestADeletionThatFailedHasNobodyDepart(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	all := w.groups()["agents"].Instances
	w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", MachineError: "InternalExecutionError", After: time.Minute, Times: 2})
	w.remove("agents", all[0].ID, all[1].ID)
	w.read(2 * time.Minute)
	w.lies(0, w.now.Add(5*time.Minute))
	if g := w.read(4 * time.Minute); len(g.Departed) != 0 || len(g.Missing) != 2 {
		t.Errorf("departed %v, missing %v; want none, both", g.Departed, g.Missing)
	}
}

// TestMachinesOfAListThatLacksOneCount has somebody else make two machines, which Azure lists once, short of its capacity, and then loses before they have joined.
func TestMachinesOfAListThatLacksOneCount(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.read(30 * time.Minute)
	w.must(w.sim.SetCapacity("agents", 3))
	until := w.now.Add(65 * time.Second)
	for _, kind := range []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets"} {
		w.sim.Inject(azuresim.Fault{Kind: kind, FalseCapacity: new(4), Until: until})
	}
	if g := w.read(time.Minute); g.Read.Complete {
		t.Fatal("the list is complete: this shows nothing")
	}
	w.now = until
	w.lies(1, w.now.Add(time.Hour))
	g := w.read(3 * time.Minute)
	if g.Capacity != 1 || !g.Read.Complete {
		t.Fatalf("capacity %d, complete %t: this shows nothing", g.Capacity, g.Read.Complete)
	}
	if got := w.mayGrow(g, 2); got != "S-01" {
		t.Errorf("a request for 2 while there are 3 is refused by %q, want S-01", got)
	}
}
