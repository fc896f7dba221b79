package azuresim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestFrozenReadsTellOfTheMomentTheFaultBegan(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.Inject(azuresim.Fault{Kind: "LIST virtualMachines", Frozen: true}) // another, which began before
	_, err := a.resize(3, nil)                                           // in the same instant, and before
	a.must(err)
	a.Inject(azuresim.Fault{Name: "frozen", Kind: "* virtualMachineScaleSets*", Frozen: true})
	_, err = a.resize(5, nil) // in the same instant, and after
	a.must(err)
	for range 3 {
		if got := a.capacity(); got != 3 {
			t.Errorf("capacity %d, want the frozen 3", got)
		}
		if diff := cmp.Diff([]string{
			"0 1 Succeeded ProvisioningState/succeeded PowerState/running",
			"1 2 Succeeded ProvisioningState/succeeded PowerState/running",
			"2 3 Creating ProvisioningState/creating PowerState/starting",
		}, a.states()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		a.advance(3 * time.Minute) // all are up by then
	}
	a.ClearFault("frozen")
	if got := a.capacity(); got != 5 {
		t.Errorf("capacity %d after the fault, want 5", got)
	}
}

func TestStaleReadsLagBehindByTheirAge(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Stale: 2 * time.Minute})
	var got []int64
	for minute := range 8 {
		if minute < 4 {
			a.must(a.SetCapacity("agents", 2+minute))
		}
		got = append(got, a.capacity())
		a.advance(time.Minute)
	}
	// The set grew at minutes 0 to 3; nothing from before the fault is shown but what it found.
	if diff := cmp.Diff([]int64{1, 1, 1, 3, 4, 5, 5, 5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAStaleAnswerNeverReachesAWrite(t *testing.T) {
	a := newAzure(t)
	a.agents(3)
	a.Inject(azuresim.Fault{Frozen: true})
	tag := a.scaleSet().Etag
	a.must(a.SetCapacity("agents", 4))
	_, err := a.resize(3, tag)
	if got, _ := code(err); got != "PreconditionFailed" {
		t.Errorf("a write with a stale tag: %v", err)
	}
}

func TestALateWriteIsOvertaken(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.Inject(azuresim.Fault{Kind: "PATCH *", Late: time.Minute, Times: 1})
	p, err := a.resize(6, nil)
	a.must(err)
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d at once, want 2", got)
	}
	_, err = a.resize(4, nil)
	a.must(err)
	if next, ok := a.NextChange(); !ok || next.After(a.now.Add(time.Minute)) {
		t.Errorf("the next change is at %v", next)
	}
	a.advance(time.Minute)
	if got := a.capacity(); got != 6 {
		t.Errorf("capacity %d: the older write came last, want 6", got)
	}
	a.must2(p.Poll(context.Background()))
	if p.Done() {
		t.Error("its operation ended before its machines were up")
	}
	a.advance(2 * time.Minute)
	a.must2(p.Poll(context.Background()))
	if _, err := p.Result(context.Background()); err != nil {
		t.Errorf("its operation: %v", err)
	}
}

func TestWritesOfEveryKindCanBeLate(t *testing.T) {
	compute := strings.TrimSuffix(setPath, "virtualMachineScaleSets/agents")
	network := strings.Replace(compute, "Microsoft.Compute", "Microsoft.Network", 1)
	for name, tc := range map[string]struct {
		method, path, body string
		answer             int
		before, after      int // of a read of the path
	}{
		"a disk is created":         {"PUT", compute + "disks/fresh", `{"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`, 201, 404, 200},
		"a disk is deleted":         {"DELETE", compute + "disks/spare", "", 202, 200, 404},
		"an interface is created":   {"PUT", network + "networkInterfaces/fresh", `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"ip"}]}}`, 201, 404, 200},
		"a scale set is created":    {"PUT", compute + "virtualMachineScaleSets/fresh", `{"location":"westeurope","sku":{"name":"Standard_D2s_v5","capacity":0}}`, 201, 404, 200},
		"a scale set is deleted":    {"DELETE", setPath, "", 202, 200, 404},
		"a machine is stopped":      {"POST", compute + "virtualMachines/server-0/deallocate", "", 202, 405, 405},
		"an availability set comes": {"PUT", compute + "availabilitySets/fresh", `{"location":"westeurope"}`, 201, 404, 200},
		"what is not there goes":    {"DELETE", compute + "disks/none", "", 204, 404, 404},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(0)
			a.server("server-0")
			a.plain(200, "PUT", compute+"disks/spare"+version, `{"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
			a.Inject(azuresim.Fault{Kind: tc.method + " *", Late: time.Minute})
			resp, body := a.wire(tc.method, tc.path+version, tc.body)
			if resp.StatusCode != tc.answer {
				t.Fatalf("answered %d %s, want %d", resp.StatusCode, body, tc.answer)
			}
			read := func() int { resp, _ := a.wire("GET", tc.path+version, ""); return resp.StatusCode }
			if got := read(); got != tc.before {
				t.Errorf("a read answers %d before its time, want %d", got, tc.before)
			}
			a.advance(time.Minute)
			if got := read(); got != tc.after {
				t.Errorf("a read answers %d after its time, want %d", got, tc.after)
			}
			if tc.method == "POST" && a.powerStates()["server-0"] != "deallocating" {
				t.Errorf("the machine is %s", a.powerStates()["server-0"])
			}
		})
	}
}

func TestALateWriteThatHasBecomeImpossibleFailsOnItsOperation(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.Inject(azuresim.Fault{Kind: "POST *", Late: time.Minute, Times: 1})
	p, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("1")}, nil)
	a.must(err)
	a.must(a.DeleteMachine("agents_1"))
	a.advance(time.Minute)
	a.must2(p.Poll(context.Background()))
	if _, err := p.Result(context.Background()); err == nil || !strings.Contains(err.Error(), "not an active Virtual Machine Scale Set VM") {
		t.Errorf("result: %v", err)
	}
}

func TestOperationsMeetTheirFate(t *testing.T) {
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		after time.Duration
		want  string
	}{
		"it succeeds":    {azuresim.Fault{Kind: "GET none", Status: 500}, 2 * time.Minute, ""},
		"it is canceled": {azuresim.Fault{Operation: "Canceled", After: time.Minute}, time.Minute, "OperationPreempted"},
		"it fails, its machines do not": {
			azuresim.Fault{Operation: "Failed", Code: "ResourceOperationFailure", After: time.Minute, Details: []azuresim.Detail{{Code: "AllocationFailed", Target: "1"}}},
			time.Minute, "AllocationFailed",
		},
		"nobody knows it": {azuresim.Fault{Operation: "NotFound"}, time.Minute, "NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			a.Inject(tc.fault)
			p, err := a.resize(2, nil)
			a.must(err)
			a.advance(tc.after)
			_, err = p.Poll(context.Background())
			if err == nil {
				_, err = p.Result(context.Background())
			}
			if (tc.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if got := a.capacity(); got != 2 {
				t.Errorf("capacity %d, want 2", got)
			}
		})
	}
}

func TestAnEndlessOperationNeverEnds(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.AnyToken = true })
	a.agents(1)
	a.Inject(azuresim.Fault{Operation: "Endless", Times: 1})
	p, err := a.resize(2, nil)
	a.must(err)
	a.advance(24 * time.Hour)
	a.must2(p.Poll(context.Background()))
	if p.Done() {
		t.Error("it ended")
	}
	if got := *a.scaleSet().Properties.ProvisioningState; got != "Updating" {
		t.Errorf("the set is %s", got)
	}
}

// TestADeletionThatIsNeverSaidToEndHoldsUpNoOther has the machine of such a deletion go: the group takes the next one then, and none before.
func TestADeletionThatIsNeverSaidToEndHoldsUpNoOther(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.AnyToken = true })
	a.agents(3)
	a.Inject(azuresim.Fault{Operation: "Endless", Times: 1})
	p, err := a.resize(2, nil)
	a.must(err)
	remove := func() error {
		_, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents", armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("0")}, nil)
		return err
	}
	a.advance(time.Second)
	if remove() == nil {
		t.Error("a machine was deleted while another one was")
	}
	a.advance(10 * time.Minute)
	a.must(remove())
	a.must2(p.Poll(context.Background()))
	if p.Done() {
		t.Error("the operation ended")
	}
}

// TestADeletionWithoutAnEndIsOverOnceTheMachineIsGone has Azure take a machine away that it was deleting without an end: the next deletion of the group can go on.
func TestADeletionWithoutAnEndIsOverOnceTheMachineIsGone(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.AnyToken = true })
	a.agents(2, func(ss *azuresim.ScaleSet) { ss.Priority, ss.EvictionPolicy = "Spot", "Delete" })
	a.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", NeverBoots: true, Times: 1})
	first, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents", armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("0")}, nil)
	a.must(err)
	a.advance(24 * time.Hour)
	a.must2(first.Poll(context.Background()))
	if first.Done() {
		t.Fatal("the deletion ended")
	}
	a.must(a.Perform(azuresim.Act{Do: "evict", Target: "agents_0"}))
	a.advance(10 * time.Minute)
	a.must2(first.Poll(context.Background()))
	if !first.Done() {
		t.Error("the machine is gone, and its deletion goes on")
	}
	_, err = a.sets.BeginDeleteInstances(context.Background(), group, "agents", armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("1")}, nil)
	a.must(err)
}

func TestMachinesAreLateReusedRenamedAndSpared(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.AnyToken = true })
	a.agents(3)
	a.must(a.DeleteMachine("agents_1"))
	a.advance(time.Minute)
	a.Inject(azuresim.Fault{ReuseID: true, Times: 1})
	a.Inject(azuresim.Fault{ComputerName: "agents000000", Times: 1})
	a.Inject(azuresim.Fault{Takes: time.Hour, Times: 1})
	_, err := a.resize(5, nil)
	a.must(err)
	a.advance(2 * time.Minute)
	type row struct{ ID, Name, State string }
	rows := func() (rows []row) {
		for _, m := range a.Machines() {
			rows = append(rows, row{m.InstanceID, m.ComputerName, m.ProvisioningState})
		}
		return rows
	}
	if diff := cmp.Diff([]row{
		{"0", "agents000000", "Succeeded"}, {"1", "agents000001", "Succeeded"}, {"2", "agents000002", "Succeeded"},
		{"4", "agents000000", "Succeeded"}, {"5", "agents000005", "Creating"},
	}, rows()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	a.Inject(azuresim.Fault{Resource: "*/virtualMachines/0", Survives: true})
	a.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", Resource: "*/virtualMachines/1", Takes: time.Hour})
	p, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("0", "1", "2")}, nil)
	a.must(err)
	a.advance(59 * time.Minute)
	if diff := cmp.Diff([]row{
		{"0", "agents000000", "Succeeded"}, {"1", "agents000001", "Deleting"},
		{"4", "agents000000", "Succeeded"}, {"5", "agents000005", "Succeeded"},
	}, rows()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.advance(time.Minute)
	a.must2(p.Poll(context.Background()))
	if _, err := p.Result(context.Background()); err != nil {
		t.Errorf("Azure says that all were deleted: %v", err)
	}
}

func TestScheduledActsAreDoneInTheirOrderAndSayWhatWentWrong(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	at := func(d time.Duration) time.Time { return a.now.Add(d) }
	a.must(a.Perform(azuresim.Act{At: at(2 * time.Minute), Do: "set-capacity", Target: "agents", Capacity: 3}))
	a.must(a.Perform(azuresim.Act{At: at(time.Minute), Do: "set-capacity", Target: "agents", Capacity: 7}))
	a.must(a.Perform(azuresim.Act{At: at(3 * time.Minute), Do: "delete", Target: "agents_99"}))
	a.must(a.Perform(azuresim.Act{At: at(4 * time.Minute), Do: "inject", Fault: azuresim.Fault{Name: "storm", Status: 500}}))
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d before anything was due", got)
	}
	a.advance(90 * time.Second)
	if got := a.capacity(); got != 7 {
		t.Errorf("capacity %d after the first, want 7", got)
	}
	a.advance(time.Hour)
	var got []string
	for _, s := range a.Acts() {
		got = append(got, s.At.Format("15:04 ")+s.Do+" "+s.Error)
	}
	want := []string{
		"22:01 set-capacity ", "22:02 set-capacity ",
		"22:03 delete delete agents_99: there is not exactly one such instance", "22:04 inject ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(a.Faults()) != 1 {
		t.Error("the fault was not injected")
	}
}
