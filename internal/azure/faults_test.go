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

const (
	listSets       = "LIST virtualMachineScaleSets"
	getSet         = "GET virtualMachineScaleSets"
	listMachines   = "LIST virtualMachineScaleSets/virtualMachines"
	listInterfaces = "LIST virtualMachineScaleSets/networkInterfaces"
	patchSet       = "PATCH virtualMachineScaleSets"
	deleteByID     = "POST virtualMachineScaleSets/delete"
)

// errorOf is the contract's error in err; anything else fails the test.
func errorOf(t *testing.T, err error) *cloud.Error {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v, want a *cloud.Error", err)
	}
	return e
}

func TestAThrottledClassIsLeftAloneUntilItsTime(t *testing.T) {
	w := newWorld(t, set("agents", 2), set("render", 2))
	w.open(w.options("0:9:agents", "0:9:render"))
	w.groups()
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Times: 1, Status: http.StatusTooManyRequests, RetryAfter: 20 * time.Minute,
		Details: []azuresim.Detail{{Code: "TooManyRequests", Target: "ListVMScaleSetVMsSubscription"}}})

	_, err := w.Group(context.Background(), "agents")
	if e := errorOf(t, err); e.Kind != cloud.Throttled || e.RetryAfter != 20*time.Minute || e.Group != "agents" {
		t.Errorf("the error is %+v, want agents throttled for 20 minutes", e)
	}
	before := w.sim.Counters()[listMachines]
	for range 19 {
		w.now = w.now.Add(time.Minute)
		for _, g := range w.groups() {
			if g.Problem == "" && g.Read.At.Before(w.now.Add(-time.Minute)) {
				t.Fatalf("%s: read at %s with no problem, and it is %s", g.ID, g.Read.At, w.now)
			}
			if len(g.Instances) != 2 {
				t.Fatalf("%s: %d instances, want the last known 2", g.ID, len(g.Instances))
			}
		}
	}
	_, err = w.Group(context.Background(), "render")
	if e := errorOf(t, err); e.Kind != cloud.Throttled || e.RetryAfter != time.Minute {
		t.Errorf("a minute before the time the error is %+v, want throttled for the minute that is left", e)
	}
	if got := w.sim.Counters()[listMachines]; got != before {
		t.Errorf("%d machine lists were asked for before the time", got-before)
	}
	w.now = w.now.Add(time.Minute)
	if g := w.groups()["render"]; g.Problem != "" || !g.Read.At.Equal(w.now) {
		t.Errorf("%s: problem %q, read at %s, want it read again when the time has come", g.ID, g.Problem, g.Read.At)
	}
	w.now = w.now.Add(15 * time.Second)
	if g := w.groups()["agents"]; g.Problem != "" || !g.Read.At.Equal(w.now) {
		t.Errorf("%s: problem %q, read at %s, want it read again when the others have been", g.ID, g.Problem, g.Read.At)
	}
}

func TestOneThrottledScaleSetDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t, set("agents", 2), set("render", 2))
	w.sim.Throttle = true
	w.open(w.options("0:9:agents", "0:9:render"))
	w.groups()
	var last error
	for range 40 { // the bucket of one scale set holds 36
		if _, last = w.Group(context.Background(), "agents"); last != nil {
			break
		}
	}
	if e := errorOf(t, last); e.Kind != cloud.Throttled {
		t.Errorf("after 40 reads at once the error is %+v, want throttled", e)
	}
	if _, err := w.Group(context.Background(), "render"); err != nil {
		t.Errorf("render cannot be read: %v", err)
	}
}

func TestAThrottledWriteLeavesReadsAlone(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: patchSet, Status: http.StatusTooManyRequests})
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	for range 3 {
		if e := errorOf(t, w.SetCapacity(context.Background(), g, 3)); e.Kind != cloud.Throttled || e.RetryAfter != 30*time.Second {
			t.Errorf("the error is %+v, want throttled for 30 s when Azure names no time", e)
		}
	}
	if n := w.sim.Counters()[patchSet]; n != 1 {
		t.Errorf("%d writes were sent, want 1", n)
	}
	if _, err := w.Group(context.Background(), "agents"); err != nil {
		t.Errorf("a read fails because a write was throttled: %v", err)
	}
}

func TestQuotaIsNamedWithItsNumbers(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.sim.Quota = map[string]int{"standardDSv5Family": 10}
	w.open(w.options("0:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	e := errorOf(t, w.SetCapacity(context.Background(), g, 4))
	if e.Kind != cloud.Quota || e.Code != "OperationNotAllowed" || e.Group != "agents" {
		t.Errorf("the error is %+v, want quota", e)
	}
	want := "resize agents to 4: the quota of standardDSv5Family Cores in westeurope is 10, 8 are in use and 8 more are needed: have it raised to at least 16, or use another size"
	if d := cmp.Diff(want, e.Message); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
	if g := w.groups()["agents"]; g.Capacity != 2 {
		t.Errorf("capacity is %d after a refusal, want 2", g.Capacity)
	}
}

func TestAFailedOperationIsToldInTheCycleThatSeesIt(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: patchSet, MachineError: "ZonalAllocationFailed", Times: 2, After: 12 * time.Second})
	w.grow("agents", 2)
	w.pass(30 * time.Second)
	g := w.groups()["agents"]
	if g.Failure == nil || g.Failure.Kind != string(cloud.Allocation) || g.Failure.Code != "ZonalAllocationFailed" ||
		!strings.HasPrefix(g.Failure.Message, "resize agents to 3: Azure has no Standard_D4s_v5 in westeurope to give now") {
		t.Errorf("failure is %+v, want the allocation failure of the resize", g.Failure)
	}
	if g.Capacity != 3 || len(g.Instances) != 3 {
		t.Errorf("capacity %d with %d instances, want both 3: Azure keeps the capacity raised", g.Capacity, len(g.Instances))
	}
	failed := 0
	for _, i := range g.Instances {
		if i.State == cluster.StateFailed {
			failed++
			if i.Failure == nil || i.Failure.Code != "ZonalAllocationFailed" || i.Failure.Kind != string(cloud.Allocation) {
				t.Errorf("instance %s failed with %+v, want its allocation failure", i.ID, i.Failure)
			}
		}
	}
	if failed != 2 || !w.NextPoll().IsZero() {
		t.Errorf("%d machines failed, next poll %s: want 2 and no poll", failed, w.NextPoll())
	}

	w.sim.ClearFaults()
	w.grow("agents", 1)
	w.pass(4 * time.Minute)
	if g := w.groups()["agents"]; g.Failure != nil {
		t.Errorf("failure %+v is still told after a growth that succeeded", g.Failure)
	}
}

func TestAReadThatBreaksOffLeavesWhatWasKnown(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"the list of machines breaks on a page":   {Kind: listMachines, Truncate: true},
		"the list of machines is refused":         {Kind: listMachines, Status: http.StatusInternalServerError},
		"the connection breaks":                   {Kind: listMachines, LoseRequest: true},
		"the list of machines lacks some":         {Kind: listMachines, Omit: 2},
		"reads of scale sets do not say it":       {Kind: "* virtualMachineScaleSets", NullCapacity: true},
		"the list of scale sets is cut in two":    {Kind: listSets, Truncate: true},
		"the list of scale sets is forbidden now": {Kind: listSets, Status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 5))
			w.sim.PageSize = 2
			w.open(w.options("0:9:agents"))
			at := w.groups()["agents"].Read.At
			w.sim.Inject(fault)
			w.now = w.now.Add(2 * time.Minute)
			gs, _ := w.Groups(context.Background())
			g := byID(gs)["agents"]
			if g == nil || g.Usable() || g.Read.Complete && g.Problem == "" {
				t.Fatalf("decisions may rest on %+v", g)
			}
			if len(g.Instances) != 5 {
				t.Errorf("%d instances are visible, want the 5 that were", len(g.Instances))
			}
			if g.Read.At.After(at) && !strings.Contains(name, "do not say it") {
				t.Errorf("read at %s, want the old evidence's %s", g.Read.At, at)
			}
			w.sim.ClearFaults()
			w.now = w.now.Add(2 * time.Minute)
			if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 5 {
				t.Errorf("after the fault the group is %+v, want it usable", g)
			}
		})
	}
}

func TestAFreshReadIsWholeOrAnError(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"no capacity":        {Kind: getSet, NullCapacity: true},
		"a broken page":      {Kind: listMachines, Truncate: true},
		"a list cut short":   {Kind: listMachines, Omit: 1},
		"a failing provider": {Kind: getSet, Status: http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 3))
			w.open(w.options("0:9:agents"))
			w.sim.Inject(fault)
			g, err := w.Group(context.Background(), "agents")
			if e := errorOf(t, err); e.Kind != cloud.Transient || g != nil {
				t.Errorf("Group returned %+v and %+v, want only a transient error", g, e)
			}
		})
	}
}

func TestAMissingRightIsNamed(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.sim.AnyToken = false
	id := "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/sluice"
	w.must(w.sim.AddIdentity(azuresim.Identity{ID: id, TenantID: "tenant", ClientID: "client-1"}))
	w.must(w.sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: resourceGroup, Name: "server-1", Location: "westeurope", Identities: []string{id}}))
	o := w.options("0:9:agents")
	o.Transport = &azuresim.Transport{Server: w.sim, Machine: "server-1"}
	o.Identity.UserAssigned = id
	w.open(o)
	g, err := w.Group(context.Background(), "agents")
	w.must(err)

	w.must(w.sim.Deny("client-1", "Microsoft.Compute/virtualMachineScaleSets/write"))
	if e := errorOf(t, w.SetCapacity(context.Background(), g, 3)); e.Kind != cloud.Conflict {
		t.Errorf("the first refusal is %+v, want it looked at again", e)
	}
	g, err = w.Group(context.Background(), "agents")
	w.must(err)
	e := errorOf(t, w.SetCapacity(context.Background(), g, 3))
	want := fmt.Sprintf("resize agents to 3: the identity may not perform Microsoft.Compute/virtualMachineScaleSets/write over /subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachineScaleSets/agents: give it sluice's role (deploy/azure-role.json), or another one with that action, at that scope", subscription, resourceGroup)
	if d := cmp.Diff(&cloud.Error{Kind: cloud.Unauthorized, Group: "agents", Code: "AuthorizationFailed", Message: want}, e); d != "" {
		t.Errorf("error (-want +got):\n%s", d)
	}

	w.must(w.sim.Deny("client-1", "Microsoft.Compute/virtualMachineScaleSets/read"))
	w.now = w.now.Add(2 * time.Minute)
	gs, err := w.Groups(context.Background())
	if e := errorOf(t, err); e.Kind != cloud.Unauthorized || !strings.Contains(e.Message, "Microsoft.Compute/virtualMachineScaleSets/read") {
		t.Errorf("the error is %+v, want the missing read named", e)
	}
	if g := byID(gs)["agents"]; g == nil || g.Problem == "" || len(g.Instances) != 2 {
		t.Errorf("agents is %+v, want its last known machines and a problem", g)
	}
	before := w.sim.Counters()[listSets]
	w.now = w.now.Add(15 * time.Second)
	if _, err := w.Groups(context.Background()); err == nil || w.sim.Counters()[listSets] != before {
		t.Errorf("15 s later: error %v, %d more lists: want the error remembered without asking again", err, w.sim.Counters()[listSets]-before)
	}
}

func TestAMissingScaleSetIsThatGroupsProblem(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents", "0:9:agnets"))
	gs := w.groups()
	if d := cmp.Diff(`scale set "agnets" is not in resource group "Farm": correct --nodes or create it`, gs["agnets"].Problem); d != "" {
		t.Errorf("problem (-want +got):\n%s", d)
	}
	if g := gs["agents"]; !g.Usable() {
		t.Errorf("the other group suffers: %+v", g)
	}
	_, err := w.Group(context.Background(), "agnets")
	if e := errorOf(t, err); e.Kind != cloud.NotFound {
		t.Errorf("reading it gives %+v, want not found", e)
	}
}

func TestUnfitScaleSetsSaySo(t *testing.T) {
	flexible, generous := set("flex", 0), set("generous", 2)
	flexible.OrchestrationMode, generous.Overprovision = "Flexible", true
	w := newWorld(t, flexible, generous)
	o := w.options("0:9:flex", "0:9:generous")
	o.RefuseFlexible = true
	w.open(o)
	for id, word := range map[cluster.GroupID]string{"flex": "uniform", "generous": "overprovision to false"} {
		if g := w.groups()[id]; g.Usable() || !strings.Contains(g.Problem, word) {
			t.Errorf("%s: problem %q, want the remedy %q", id, g.Problem, word)
		}
		if _, err := w.Group(context.Background(), id); cloud.KindOf(err) != cloud.Invalid {
			t.Errorf("%s: Group gives %v, want invalid", id, err)
		}
	}
	before := w.sim.Counters()
	for range 3 {
		w.now = w.now.Add(10 * time.Second)
		w.groups()
	}
	if reads, _ := spent(before, w.sim.Counters()); reads != 0 {
		t.Errorf("%d reads within the cache's time, want none", reads)
	}
}

func TestALostAnswerIsFoundOutByReading(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.groups()
	w.sim.Inject(azuresim.Fault{Kind: patchSet, LoseAnswer: true, Times: 1})
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	want := &cloud.Error{
		Kind: cloud.Transient, Group: "agents", Code: "ConnectionLost",
		Message: "resize agents to 4: the connection to management.azure.com was lost before an answer came; the next cycle reads what came of it",
	}
	if d := cmp.Diff(want, errorOf(t, w.SetCapacity(context.Background(), g, 4))); d != "" {
		t.Errorf("error (-want +got):\n%s", d)
	}
	if g := w.groups()["agents"]; g.Capacity != 4 || len(g.Instances) != 4 {
		t.Errorf("capacity %d with %d instances, want the 4 that the write made", g.Capacity, len(g.Instances))
	}
	if e := errorOf(t, w.SetCapacity(context.Background(), g, 4)); e.Kind != cloud.Conflict {
		t.Errorf("the same write again gives %+v, want a conflict", e)
	}
}

func TestOneDeletionAtATimeInAScaleSet(t *testing.T) {
	w := newWorld(t, set("agents", 4))
	w.open(w.options("0:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	w.must(w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[0].Machine()}))
	if e := errorOf(t, w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[1].Machine()})); e.Kind != cloud.Conflict {
		t.Errorf("a second deletion gives %+v, want a conflict", e)
	}
	if n := w.sim.Counters()[deleteByID]; n != 1 {
		t.Errorf("%d deletions were sent, want 1", n)
	}
	w.grow("agents", 1) // S-30: a deletion in flight does not block growth
	w.pass(15 * time.Second)
	if g := w.groups()["agents"]; g.Instance("0").State != cluster.StateDeleting {
		t.Errorf("machine 0 is %s after the first poll, want deleting", g.Instance("0").State)
	}
	w.pass(5 * time.Minute)
	if g := w.groups()["agents"]; g.Capacity != 4 || g.Instance("0") != nil || !w.NextPoll().IsZero() {
		t.Errorf("after all: %+v, next poll %s", g, w.NextPoll())
	}
}

func TestADeletionIsSeenSoonAfterItBegan(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	w.must(w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[1].Machine()}))
	w.pass(15 * time.Second)
	if g := w.groups()["agents"]; g.Capacity != 2 || g.Instance("1").State != cluster.StateDeleting {
		t.Errorf("capacity %d and machine 1 %s, want 2 and deleting", g.Capacity, g.Instance("1").State)
	}
}

func TestALongListOfVictimsIsSentInPart(t *testing.T) {
	w := newWorld(t, set("agents", 150))
	w.open(w.options("0:200:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	var all []cluster.Machine
	for _, i := range g.Instances {
		all = append(all, i.Machine())
	}
	e := errorOf(t, w.DeleteInstances(context.Background(), g, all))
	if e.Kind != cloud.Conflict || e.Message != "delete 100 machines of agents: accepted; the other 50 wait until they are gone" {
		t.Errorf("the error is %+v", e)
	}
	rs := w.sim.Requests()
	if n := len(rs[len(rs)-1].InstanceIDs); n != 100 {
		t.Errorf("%d machines were named, want 100", n)
	}
}

func TestStoppedAndFailedMachinesAreToldApart(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.must(w.sim.Deallocate("agents_1"))
	w.now = w.now.Add(5 * time.Minute)
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: patchSet, MachineError: "OSProvisioningTimedOut", Times: 1})
	w.grow("agents", 1)
	w.pass(25 * time.Minute)
	got := map[cluster.InstanceID]cluster.State{}
	g := w.groups()["agents"]
	for _, i := range g.Instances {
		got[i.ID] = i.State
	}
	want := map[cluster.InstanceID]cluster.State{"0": cluster.StateRunning, "1": cluster.StateStopped, "2": cluster.StateRunning, "3": cluster.StateFailed}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	if f := g.Instance("3").Failure; f == nil || f.Code != "OSProvisioningTimedOut" {
		t.Errorf("machine 3 failed with %+v, want OSProvisioningTimedOut", f)
	}
}

func TestAnOperationNobodyMayFollowIsDropped(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: "GET operations", Status: http.StatusNotFound})
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	if n := w.sim.Counters()["GET operations"]; n != 1 {
		t.Errorf("an operation that is not known was asked for %d times, want once (S-32)", n)
	}
	if g := w.groups()["agents"]; g.Live() != 2 || !w.NextPoll().IsZero() {
		t.Errorf("%d machines live, next poll %s: want 2 by reading alone", g.Live(), w.NextPoll())
	}
}

func TestOperationsAreNotPolledTooOften(t *testing.T) {
	for name, tc := range map[string]struct {
		retryAfter time.Duration
		polls      int
	}{
		"not more than once in five seconds": {time.Second, 12},
		"not before Azure wants it":          {25 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1))
			w.sim.RetryAfter = tc.retryAfter
			w.open(w.options("0:9:agents"))
			w.grow("agents", 1)
			ops := w.Operations()
			if len(ops) != 1 || ops[0].Token == "" || ops[0].Group != "agents" || ops[0].Action != "resize agents to 2" {
				t.Fatalf("operations are %+v, want the resize with its resume token", ops)
			}
			for range 60 {
				w.now = w.now.Add(time.Second)
				w.groups()
			}
			if n := w.sim.Counters()["GET operations"]; n != tc.polls {
				t.Errorf("%d polls in a minute, want %d", n, tc.polls)
			}
		})
	}
}
