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

// TestNoCapacityIsAskedForBelowTheLastOneAccepted has Azure tell less than it accepted a minute ago, as a lie and because it took machines away.
func TestNoCapacityIsAskedForBelowTheLastOneAccepted(t *testing.T) {
	t.Run("a lie", func(t *testing.T) {
		w := newWorld(t, set("agents", 3))
		w.open(w.options("0:9:agents"))
		w.groups()
		w.grow("agents", 2)
		w.lies(3, w.now.Add(5*time.Minute))
		g := w.read(time.Minute)
		if got := w.mayGrow(g, 4); got != "S-01" {
			t.Errorf("with capacity %d told, a request for 4 is refused by %q, want S-01", g.Capacity, got)
		}
	})
	t.Run("evictions", func(t *testing.T) {
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
	})
}

// TestNoCapacityIsAskedForBelowParkedMachinesThatListsHaveLost has two of three machines parked when Azure's answers lose them.
func TestNoCapacityIsAskedForBelowParkedMachinesThatListsHaveLost(t *testing.T) {
	for name, c := range map[string]struct {
		later    time.Duration
		capacity int
		refused  bool
	}{
		"one less than there are":                {time.Minute, 2, true},
		"as many as there are":                   {time.Minute, 3, false},
		"one less, when lists have said so long": {11 * time.Minute, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parking("agents", 3))
			w.open(w.options("0:9:agents"))
			w.groups()
			w.remove("agents", "1")
			w.read(2 * time.Minute)
			w.remove("agents", "2")
			w.read(2 * time.Minute)
			w.lies(1, w.now.Add(time.Hour))
			w.read(4 * time.Minute)
			g := w.read(c.later)
			if got := w.mayGrow(g, c.capacity); (got == "S-01") != c.refused || got != "" && !c.refused {
				t.Errorf("with capacity %d told, a request for %d is refused by %q; want S-01: %t", g.Capacity, c.capacity, got, c.refused)
			}
		})
	}
}

// TestNoCapacityIsAskedForBelowYoungMachinesThatListsHaveLost has somebody else make two machines, which Azure lists once and then loses before they have joined.
// The list counts that had them, whether or not it was whole, and so does the word of the process that read it.
func TestNoCapacityIsAskedForBelowYoungMachinesThatListsHaveLost(t *testing.T) {
	for name, c := range map[string]struct {
		told         int // the capacity, with the list that has them
		again, whole bool
	}{
		"a whole list":                           {told: 3, whole: true},
		"a whole list, and another process":      {told: 3, whole: true, again: true},
		"a list that lacks one":                  {told: 4},
		"a list that lacks one, another process": {told: 4, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1))
			w.open(w.options("0:9:agents"))
			w.groups()
			w.read(30 * time.Minute)
			w.must(w.sim.SetCapacity("agents", 3))
			until := w.now.Add(65 * time.Second)
			for _, kind := range []string{"GET virtualMachineScaleSets", "LIST virtualMachineScaleSets"} {
				w.sim.Inject(azuresim.Fault{Kind: kind, FalseCapacity: &c.told, Until: until})
			}
			if g := w.read(time.Minute); g.Read.Complete != c.whole {
				t.Fatalf("complete %t: this shows nothing", g.Read.Complete)
			}
			w.now = until
			w.lies(1, w.now.Add(time.Hour))
			if c.again {
				saved := w.SaveOperations()
				w.open(w.options("0:9:agents"))
				w.must(w.ResumeOperations(saved))
			}
			g := w.read(3 * time.Minute)
			if g.Capacity != 1 || !g.Read.Complete {
				t.Fatalf("capacity %d, complete %t: this shows nothing", g.Capacity, g.Read.Complete)
			}
			if got := w.mayGrow(g, 2); got != "S-01" {
				t.Errorf("a request for 2 while there are 3 is refused by %q, want S-01", got)
			}
		})
	}
}
