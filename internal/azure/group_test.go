package azure

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// vm is a failed machine of which Azure does not say why it failed.
func vm(id, uid string) *machine {
	return uniformMachine(&model{}, &armcompute.VirtualMachineScaleSetVM{
		ID: new("/subscriptions/s/resourceGroups/g/providers/x/" + id), InstanceID: new(id),
		Properties: &armcompute.VirtualMachineScaleSetVMProperties{VMID: new(uid), ProvisioningState: new("Failed")},
	})
}

func TestAnOperationsBlameStaysWithTheMachineAndNotWithItsID(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	said := &cluster.Failure{At: at, Code: "AllocationFailed"}
	p := alone()
	g := &group{id: "agents", name: "agents", blame: blame{id: map[string]*cluster.Failure{"7": said}}}
	read := func(uid string) *cluster.Instance {
		t.Helper()
		r := &reading{model: &model{capacity: 1}, machines: []*machine{vm("7", uid)}, at: at, asked: p.options.Ledger.Instant()}
		if err := p.take(g, r); err != nil {
			t.Fatal(err)
		}
		return g.view.Instances[0]
	}
	if in := read("A-1"); in.Failure != said {
		t.Errorf("failure %+v, want what the operation said", in.Failure)
	}
	if in := read("a-1"); in.Failure != said {
		t.Errorf("failure %+v at the next read, want what the operation said", in.Failure)
	}
	read("b-2") // another machine in the place of one that was there takes two reads to be believed
	if in := read("b-2"); in.UID != "b-2" || in.Failure == said {
		t.Errorf("another machine under the same id is blamed")
	}
}

func TestTwoMachinesUnderOneIDAreNoReading(t *testing.T) {
	p := alone()
	g := &group{id: "agents", name: "agents"}
	m := &model{capacity: 2}
	twice := &reading{model: m, machines: []*machine{vm("7", "a"), vm("7", "b")}}
	if err := p.take(g, twice); err == nil || g.view != nil {
		t.Errorf("error %v, view %+v: want an error and no view", err, g.view)
	}
	moved := &reading{model: m, machines: []*machine{vm("7", "a"), vm("7", "a"), vm("8", "b")}}
	if err := p.take(g, moved); err != nil || len(g.view.Instances) != 2 {
		t.Errorf("error %v: want a machine that two pages list counted once", err)
	}
}

func TestACloudThatLeavesOutTheIDIsNotBelieved(t *testing.T) {
	p := alone()
	g := &group{id: "agents", name: "agents"}
	m := &model{capacity: -1}
	nameless := vm("", "a")
	if err := p.take(g, &reading{model: m, machines: []*machine{nameless}}); err == nil {
		t.Errorf("a machine without an id is believed")
	}
	if err := p.take(g, &reading{model: m}); err != nil || g.view.Capacity != -1 || g.view.Read.Complete {
		t.Errorf("error %v, view %+v: want an unknown capacity and an incomplete read", err, g.view)
	}
}

// TestAWriteThatIsNotSentIsNotTold has a question about the group begin before and after a growth of it is told: nobody is told of a growth that is not sent.
func TestAWriteThatIsNotSentIsNotTold(t *testing.T) {
	p := alone()
	p.tokens = &tokens{now: p.now}
	g := &group{id: "agents", name: "agents", asking: newQuestion(0)}
	if _, fault := p.writes.recordIntent(t.Context(), g, "resize", false, func() (a asked) { t.Error("it is told"); return a }); fault == nil || fault.Code != unansweredYet {
		t.Errorf("a write beside a question ended with %v, want %s", fault, unansweredYet)
	}
	a := asked{growth: p.options.Ledger.Instant()}
	p.options.Ledger.Observe(fleet.Asked{Group: "agents", At: a.growth, Verb: fleet.Grow, To: 3})
	g.writing.ahead = "a growth of a pool"
	if err := p.writes.send(t.Context(), g, "resize", 3, a, nil); err == nil {
		t.Error("it was sent")
	}
	if to, _ := p.options.Ledger.Ledger().Grown("agents"); to != 0 || g.writing.ahead != "" {
		t.Errorf("the next process is told of a capacity of %d and of %q, want neither", to, g.writing.ahead)
	}
}

// TestAListWithAMachineThatNobodyCanNameIsNotWhole has Azure leave out a machine's unique id: nothing may rest on the list.
func TestAListWithAMachineThatNobodyCanNameIsNotWhole(t *testing.T) {
	for _, c := range []struct{ uid, code string }{{"b", ""}, {"", string(reason.GroupNotRead)}} {
		p, g := alone(), &group{id: "agents", name: "agents"}
		p.options.Ledger.Observe(fleet.Nodes{Group: "agents", At: p.options.Ledger.Instant()})
		r := &reading{model: &model{kind: &uniform{}, capacity: 2}, machines: []*machine{vm("1", "a"), vm("2", c.uid)}, at: p.now(), asked: p.options.Ledger.Instant()}
		if err := p.take(g, r); err != nil {
			t.Fatal(err)
		}
		got := ""
		if refused := p.options.Ledger.View().MayGrow("agents", 3, 1, fleet.Limits{Max: 9, Owned: true}); refused != nil {
			got = string(refused.Code)
		}
		if got != c.code {
			t.Errorf("with unique id %q a growth is refused by %q, want %q", c.uid, got, c.code)
		}
	}
}
