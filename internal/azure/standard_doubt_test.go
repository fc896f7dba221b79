package azure_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// TestARemovalIsOverWhoseOperationsAzureForgets has Azure know nothing of the deletions that it has accepted: nothing is followed any more, and what
// belonged to the machines goes all the same.
func TestARemovalIsOverWhoseOperationsAzureForgets(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render"))
	w.sim.Inject(azuresim.Fault{Kind: "DELETE virtualMachines", Operation: "NotFound"})
	w.remove("agents", "k8s-agents-12345678-1")
	w.pass(time.Minute)
	if n := len(w.Operations()); n != 0 {
		t.Errorf("%d operations are followed, want none", n)
	}
	w.pass(5 * time.Minute)
	w.holds("agents-0", "render-0", "render-1")
	if all := strings.Join(w.everything(), " "); strings.Contains(all, "agents-1") || strings.Contains(all, "!") {
		t.Errorf("left is %q, want nothing of agents-1", all)
	}
}

// TestAGrowthStandsAgainstReadsThatDoNotShowIt has all reads stand still, and the answer to the growth be lost, or belie it: its machines are on their way for
// this process and for the next one, and their numbers are given to no other machine.
func TestAGrowthStandsAgainstReadsThatDoNotShowIt(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"accepted":                        {},
		"the answer is lost":              {Kind: "PUT deployments", LoseAnswer: true, Times: 1},
		"a proxy sends it twice":          {Kind: "PUT deployments", Duplicate: true, Times: 1},
		"an error, and done all the same": {Kind: "PUT deployments", Status: 500, Applied: true, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStandardWorld(t)
			w.open(w.standard("1:9:agents"))
			g := w.groups()["agents"]
			w.sim.Inject(fault)
			w.sim.Inject(azuresim.Fault{Frozen: true, Until: w.now.Add(7 * time.Minute)})
			err := w.SetCapacity(t.Context(), g, 3)
			if fault.Kind == "" {
				w.must(err)
			}
			w.pass(4 * time.Minute)
			if n := w.groups()["agents"].Capacity; n != 3 {
				t.Errorf("capacity %d, want 3 with the machine that reads do not show", n)
			}
			w.restart(w.standard("1:9:agents"))
			if n := w.groups()["agents"].Capacity; n != 3 {
				t.Errorf("the next process says capacity %d, want 3", n)
			}
			w.pass(20 * time.Minute)
			w.grow("agents", 1)
			w.pass(10 * time.Minute)
			w.holds("agents-0", "agents-1", "agents-2", "agents-3", "render-0", "render-1")
		})
	}
}

// TestNumbersOfAFailedGrowthAreNotGivenAgainWhileReadsAreOld has a deployment fail of which it is not known what it has made.
func TestNumbersOfAFailedGrowthAreNotGivenAgainWhileReadsAreOld(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	w.groups()
	w.sim.Inject(azuresim.Fault{ScaleSet: "agents", MachineError: "AllocationFailed", Times: 1})
	w.sim.Inject(azuresim.Fault{Kind: "LIST *", Frozen: true, Until: w.now.Add(8 * time.Minute)})
	w.grow("agents", 1)
	w.pass(time.Minute)
	if n := w.groups()["agents"].Capacity; n != 2 {
		t.Errorf("capacity %d, want 2: the growth has failed", n)
	}
	w.restart(w.standard("1:9:agents"))
	w.groups()
	w.grow("agents", 1)
	w.pass(10 * time.Minute)
	w.holds("agents-0", "agents-1", "agents-2", "agents-3", "render-0", "render-1")
}

// TestARefusedGrowthLeavesNoTrace has Azure refuse a deployment: nothing comes of it, and its number is the next one's.
func TestARefusedGrowthLeavesNoTrace(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	g := w.groups()["agents"]
	w.sim.Inject(azuresim.Fault{Kind: "PUT deployments", Status: 403, Times: 1})
	if err := w.SetCapacity(t.Context(), g, 3); err == nil {
		t.Fatal("the growth was accepted, want it refused")
	}
	if n := w.groups()["agents"].Capacity; n != 2 {
		t.Errorf("capacity %d, want 2", n)
	}
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.holds("agents-0", "agents-1", "agents-2", "render-0", "render-1")
}

// TestChoresWriteNothingThatTheLeaseMayNotOutlive has the lease end in four seconds, always: what is left of a machine stays until it is renewed (S-23).
func TestChoresWriteNothingThatTheLeaseMayNotOutlive(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	left := 4 * time.Second
	w.Lease(func() time.Time { return w.now.Add(left) })
	w.groups()
	w.remove("agents", "k8s-agents-12345678-1")
	before := w.sim.Counters()
	w.pass(5 * time.Minute)
	spent := diff(before, w.sim.Counters())
	if n := spent["DELETE disks"] + spent["DELETE networkInterfaces"]; n != 0 {
		t.Errorf("%d deletions were sent, want none", n)
	}
	refused := w.Refused()
	if len(refused) != 1 || refused[0].Property != "S-23" || !strings.Contains(refused[0].Why, "the leader lease ends at") {
		t.Errorf("refusals %+v, want one of S-23", refused)
	}
	left = time.Minute
	w.pass(2 * time.Minute)
	if all := strings.Join(w.everything(), " "); strings.Contains(all, "agents-1") {
		t.Errorf("left is %q, want nothing of agents-1", all)
	}
}

// TestAPoolThatOthersHaveEmptiedGrowsAgain has a person delete the last machine of a pool: lists without it are believed after ten minutes, and the next
// machine is like the last one and gets a number of its own. A process that has not seen one says what it needs.
func TestAPoolThatOthersHaveEmptiedGrowsAgain(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	w.groups()
	for _, name := range []string{"0", "1"} {
		w.call("DELETE", "/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-"+name, "")
	}
	w.pass(9 * time.Minute)
	want := `node pool "agents" has no machine in resource group "farm": make one, which the next ones are modelled on, or correct --nodes`
	if g := w.groups()["agents"]; g.Usable() || !strings.EqualFold(g.Problem, want) {
		t.Errorf("usable %t, problem %q, want %q", g.Usable(), g.Problem, want)
	}
	w.pass(5 * time.Minute)
	if g := w.groups()["agents"]; !g.Usable() || g.Capacity != 0 || g.Size != "Standard_D4s_v5" {
		t.Errorf("group %+v, want it usable and empty", g)
	}
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.holds("agents-2", "render-0", "render-1")
}

// TestNamesTellWhichMachinesAListShouldHave has a pool whose machines are named as no others, and pools that share names and are told by tags alone: there no
// node can be said to be of the one or the other.
func TestNamesTellWhichMachinesAListShouldHave(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render"))
	want := "azure:///subscriptions/" + subscription + "/resourceGroups/farm/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-"
	if got := w.groups()["agents"].ProviderIDPrefix; got != want {
		t.Errorf("provider ids of agents begin with %q, want %q", got, want)
	}
	w.call("PATCH", "/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-0", `{"tags":{"poolName":"render"}}`)
	w.pass(2 * time.Minute)
	if got := w.groups()["agents"].ProviderIDPrefix; got != "" {
		t.Errorf("provider ids of agents begin with %q, and so does one of render: want none", got)
	}
}
