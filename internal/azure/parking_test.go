package azure_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/azuresim"
)

// parking is a scale set whose removals switch machines off.
func parking(name string, capacity int) azuresim.ScaleSet {
	s := set(name, capacity)
	s.Tags = map[string]string{"sluice.dev_removal": "deallocate"}
	return s
}

// shape is a group in a line: capacity, machines with their states, and parked ones.
func shape(g *cluster.Group) string {
	var words []string
	for _, in := range g.Instances {
		words = append(words, string(in.ID)+"="+string(in.State))
	}
	for _, in := range g.Parked {
		words = append(words, "("+string(in.ID)+")")
	}
	return strings.Join(words, " ")
}

func (w *world) want(id cluster.GroupID, capacity int, words string) {
	w.t.Helper()
	g := w.groups()[id]
	if d := cmp.Diff(words, shape(g)); d != "" || g.Capacity != capacity {
		w.t.Errorf("%s at %s: capacity %d, want %d; machines (-want +got):\n%s", id, w.now.Format(time.TimeOnly), g.Capacity, capacity, d)
	}
}

func TestAParkedMachineIsSeenOnItsWayOutAndBack(t *testing.T) {
	w := newWorld(t, parking("agents", 3))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.want("agents", 2, "0=running 1=deleting 2=running")
	w.pass(20 * time.Second)
	w.want("agents", 2, "0=running 1=deleting 2=running")
	w.pass(2 * time.Minute)
	w.want("agents", 2, "0=running 2=running (1)")
	if g := w.groups()["agents"]; !g.Usable() || g.Live() != 2 {
		t.Errorf("%d live, read %+v: want a group to decide on", g.Live(), g.Read)
	}

	before := w.sim.Counters()
	w.grow("agents", 1)
	if spent := diff(before, w.sim.Counters()); spent["PATCH virtualMachineScaleSets"] != 0 || w.sim.Counters()["POST virtualMachineScaleSets/start"] != 1 {
		t.Errorf("the growth by a parked machine sent %v, want one start and no capacity", spent)
	}
	w.want("agents", 3, "0=running 1=creating 2=running")
	w.pass(20 * time.Second)
	w.want("agents", 3, "0=running 1=creating 2=running")
	w.pass(4 * time.Minute)
	w.want("agents", 3, "0=running 1=running 2=running")
}

func TestAMachineThatCannotStartStaysParkedAndOthersAreMade(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "0")
	w.pass(2 * time.Minute)
	w.want("agents", 1, "1=running (0)")
	w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/start", MachineError: "AllocationFailed", After: 10 * time.Second})
	w.grow("agents", 1)
	w.pass(time.Minute)
	g := w.groups()["agents"]
	if g.Failure == nil || g.Failure.Kind != string(cloud.Allocation) || g.Failure.Code != "AllocationFailed" {
		t.Errorf("failure %+v, want the allocation that failed", g.Failure)
	}
	w.sim.ClearFaults()
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	g = w.groups()["agents"]
	if len(g.Parked) != 1 || g.Parked[0].ID != "0" || g.Live() != 2 || g.Capacity != 2 {
		t.Errorf("capacity %d with %s, want a new machine beside the parked one", g.Capacity, shape(g))
	}
}

func TestAStartThatIsRefusedIsNotAskedForAgain(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "0")
	w.pass(2 * time.Minute)
	w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/start", Status: 409, Code: "AllocationFailed"})
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	if err := w.SetCapacity(context.Background(), g, 2); cloud.KindOf(err) != cloud.Allocation {
		t.Fatalf("the start ended with %v, want it refused for want of machines", err)
	}
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.want("agents", 2, "1=running 2=running (0)")
}

func TestAMachineThatFailedIsDeletedAndNotParked(t *testing.T) {
	w := newWorld(t, parking("agents", 1))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{MachineError: "OSProvisioningTimedOut", After: time.Second, Times: 1})
	w.grow("agents", 1)
	w.pass(time.Minute)
	w.want("agents", 2, "0=running 1=failed")
	w.remove("agents", "1")
	w.pass(2 * time.Minute)
	w.want("agents", 1, "0=running")
}

func TestARemovalOfBothKindsIsSentInTwo(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{MachineError: "OSProvisioningTimedOut", After: time.Second, Times: 1})
	w.grow("agents", 1)
	w.pass(time.Minute)
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	err = w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instance("2").Machine(), g.Instance("0").Machine()})
	if e := errorOf(t, err); e.Kind != cloud.Conflict || !strings.Contains(e.Message, "the other 1 wait") {
		t.Errorf("error %+v, want a conflict that says one waits", e)
	}
	w.pass(2 * time.Minute)
	w.want("agents", 2, "1=running 2=failed (0)")
}

func TestAMachineSwitchedOffByOtherHandsIsParked(t *testing.T) {
	w := newWorld(t, parking("agents", 3))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.must(w.sim.Deallocate("agents_1"))
	w.pass(3 * time.Minute)
	w.want("agents", 2, "0=running 2=running (1)")
	w.must(w.sim.Start("agents_1"))
	w.pass(5 * time.Minute)
	w.want("agents", 3, "0=running 1=running 2=running")
}

func TestAnEvictedMachineIsNoCapacityAndNotLost(t *testing.T) {
	for removal, want := range map[string]string{"delete": "0=running 1=stopped", "deallocate": "0=running (1)"} {
		t.Run(removal, func(t *testing.T) {
			s := set("agents", 2)
			s.Priority, s.EvictionPolicy, s.Tags = "Spot", "Deallocate", map[string]string{"sluice.dev_removal": removal}
			w := newWorld(t, s)
			w.open(w.options("0:9:agents"))
			w.groups()
			w.must(w.sim.Evict("agents_1", 30*time.Second))
			w.pass(4 * time.Minute)
			if g := w.groups()["agents"]; shape(g) != want || g.Live() != 1 || !g.Usable() {
				t.Errorf("%s with %d live, usable %t; want %s with 1", shape(g), g.Live(), g.Usable(), want)
			}
		})
	}
}

func TestParkedMachinesCostNoReads(t *testing.T) {
	w := newWorld(t, parking("agents", 3))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.pass(5 * time.Minute)
	before := w.sim.Counters()
	w.pass(10 * time.Minute)
	if reads, writes := spent(before, w.sim.Counters()); reads > 2*10 || writes != 0 {
		t.Errorf("ten quiet minutes with a parked machine cost %d reads and %d writes, want at most 20 reads", reads, writes)
	}
}

func TestATagThatIsNoRemovalIsRefused(t *testing.T) {
	s := set("agents", 2)
	s.Tags = map[string]string{"sluice.dev_removal": "hibernate"}
	w := newWorld(t, s)
	w.open(w.options("0:9:agents"))
	if g := w.groups()["agents"]; g.Usable() || !strings.Contains(g.Problem, "it must be delete or deallocate") {
		t.Errorf("problem %q, want the tag's value refused", g.Problem)
	}
}

func TestParkingAndStartingGoOnInTheProcessThatCameAfter(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.restart(w.options("0:9:agents"))
	w.want("agents", 1, "0=running 1=deleting")
	w.pass(2 * time.Minute)
	w.want("agents", 1, "0=running (1)")
	w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/start", MachineError: "AllocationFailed", After: 10 * time.Second})
	w.grow("agents", 1)
	w.restart(w.options("0:9:agents"))
	w.want("agents", 2, "0=running 1=creating")
	w.pass(time.Minute)
	w.want("agents", 1, "0=running (1)")
	if g := w.groups()["agents"]; g.Failure == nil || g.Failure.Code != "AllocationFailed" {
		t.Errorf("failure %+v, want that of the start that the earlier process asked for", g.Failure)
	}
}

// TestAStartThatAzureForgetsIsShown has Azure know nothing of a start that it has accepted, while reads are old: the machine is on its way, and counts from then.
func TestAStartThatAzureForgetsIsShown(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.pass(20 * time.Minute)
	began, until := w.now, w.now.Add(4*time.Minute)
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Frozen: true, Until: until})
	w.sim.Inject(azuresim.Fault{Kind: "GET operations", Status: 404, Until: until})
	w.grow("agents", 1)
	for w.now.Before(until) {
		w.pass(10 * time.Second)
		if n := len(w.Operations()); n != 0 {
			continue
		}
		w.want("agents", 2, "0=running 1=creating")
	}
	w.pass(3 * time.Minute)
	w.want("agents", 2, "0=running 1=running")
	if at := w.groups()["agents"].Instance("1").Started; at.Before(began.UTC().Truncate(time.Millisecond)) || at.After(until) {
		t.Errorf("it was started at %s, want the time of the request, %s", at, began)
	}
}

// TestAStartThatWasNotSentLeavesTheMachineOff has Azure refuse the new machine of a growth, so that the parked one is not started either.
func TestAStartThatWasNotSentLeavesTheMachineOff(t *testing.T) {
	w := newWorld(t, parking("agents", 2))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	w.pass(15 * time.Minute)
	g := w.groups()["agents"]
	w.sim.Inject(azuresim.Fault{Kind: "PATCH virtualMachineScaleSets", Status: http.StatusConflict, Code: "ScopeLocked", Times: 9})
	if err := w.SetCapacity(t.Context(), g, g.Capacity+2); err == nil {
		t.Fatal("the growth was accepted: this shows nothing")
	}
	if may := w.book.View().May("agents", fleet.UID(g.Parked[0].UID)); may != fleet.IsOff {
		t.Errorf("the ledger holds %04b possible of the machine, want that it is off", may)
	}
}
