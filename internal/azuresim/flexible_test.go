package azuresim_test

import (
	"context"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

func flexible(ss *azuresim.ScaleSet) { ss.OrchestrationMode = "Flexible" }

func TestAFlexibleSetGrowsByVirtualMachines(t *testing.T) {
	a := newAzure(t)
	a.agents(1, flexible)
	a.server("server-1")
	p, err := a.resize(3, a.scaleSet().Etag)
	a.must(err)
	a.advance(2 * time.Minute)
	_, err = p.Poll(context.Background())
	a.must(err)
	if !p.Done() {
		t.Error("not done when all are up")
	}
	if got := len(a.vmStates("")); got != 4 {
		t.Errorf("%d machines in the resource group, want 4", got)
	}
	members := a.vmStates(strings.ToUpper(setPath))
	if len(members) != 3 {
		t.Fatalf("members: %v", members)
	}
	zones := map[string]int{}
	for _, m := range members {
		name, _, _ := strings.Cut(m, " ")
		if !regexp.MustCompile(`^agents_[0-9a-f]{8} Succeeded`).MatchString(m) {
			t.Errorf("member %q", m)
		}
		vm, err := a.machines().Get(context.Background(), group, name, nil)
		a.must(err)
		zones[*vm.Zones[0]]++
		if got := *vm.Properties.VirtualMachineScaleSet.ID; got != setPath {
			t.Errorf("it is of %s", got)
		}
		if got := *vm.Properties.OSProfile.ComputerName; !regexp.MustCompile(`^agents[0-9a-z]{6}$`).MatchString(got) {
			t.Errorf("computer name %s", got)
		}
		nic := *vm.Properties.NetworkProfile.NetworkInterfaces[0]
		if *nic.Properties.DeleteOption != "Delete" || *vm.Properties.StorageProfile.OSDisk.DeleteOption != "Delete" {
			t.Error("interface and disk would stay behind")
		}
		a.plain(200, http.MethodGet, *nic.ID+nicVersion, "")
	}
	if len(zones) != 3 {
		t.Errorf("zones %v", zones)
	}
}

func TestAFlexibleSetShrinksByNameEitherWay(t *testing.T) {
	a := newAzure(t)
	a.agents(3, flexible)
	var names []string
	for _, m := range a.Machines() {
		names = append(names, m.InstanceID)
	}
	_, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs(names[0])}, nil)
	a.must(err)
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d after a delete by name, want 2", got)
	}
	etag := *a.scaleSet().Etag
	_, err = a.machines().BeginDelete(context.Background(), group, names[1], nil)
	a.must(err)
	if got := a.capacity(); got != 1 || *a.scaleSet().Etag == etag {
		t.Errorf("capacity %d after a direct delete, want 1 and a new etag", got)
	}
	a.advance(time.Minute)
	if got := a.vmStates(setPath); len(got) != 1 || !strings.HasPrefix(got[0], names[2]) {
		t.Errorf("left: %v", got)
	}
	for _, kind := range []string{computePath + "/disks" + diskVersion, networkPath + "/networkInterfaces" + nicVersion} {
		if got := strings.Count(a.plain(200, http.MethodGet, kind, ""), `"type":"Microsoft.`); got < 1 || got > 2 {
			t.Errorf("%s: %d left", kind, got)
		}
	}
	_, err = a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs(names[0])}, nil)
	if c, status := code(err); c != "InvalidParameter" || status != 400 {
		t.Errorf("a stale name: %q %d", c, status)
	}
}

// TestTheInstanceListOfAFlexibleSetNamesItsMachinesAlone follows Microsoft's page on orchestration modes: the list gives ids, and no states.
func TestTheInstanceListOfAFlexibleSetNamesItsMachinesAlone(t *testing.T) {
	a := newAzure(t)
	a.agents(2, flexible)
	body := a.plain(200, http.MethodGet, setPath+"/virtualMachines"+version+"&$expand=instanceView", "")
	for _, m := range a.Machines() {
		if name := path.Base(m.ID); !strings.Contains(body, `"instanceId":"`+name+`"`) {
			t.Errorf("%s is not in %s", name, body)
		}
	}
	if strings.Contains(body, "PowerState") || strings.Contains(body, "vmId") {
		t.Errorf("it tells more than names: %s", body)
	}
}

func TestAFlexibleSetRefusesWhatIsUniformOnly(t *testing.T) {
	a := newAzure(t)
	a.agents(1, flexible)
	for _, path := range []string{"/instanceView", "/virtualMachines/0", "/networkInterfaces"} {
		body := a.plain(400, http.MethodGet, setPath+path+version, "")
		if got := field(t, body, "error", "code"); got != "BadRequest" {
			t.Errorf("%s: %s", path, body)
		}
	}
	body := a.plain(400, http.MethodPatch, setPath+version, `{"identity":{"type":"SystemAssigned"}}`)
	if got := field(t, body, "error", "target"); got != "identity.type" {
		t.Errorf("an identity of its own: %s", body)
	}
	if err := a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: group, Name: "x", Location: "l", OrchestrationMode: "Flexible", SystemAssigned: true}); err == nil {
		t.Error("added a flexible set with an identity of its own")
	}
}

func TestFailuresOfFlexibleInstancesAreToldByName(t *testing.T) {
	a := newAzure(t)
	a.agents(1, flexible)
	a.Inject(azuresim.Fault{ScaleSet: "agents", MachineError: "AllocationFailed", Times: 1})
	p, err := a.resize(3, nil)
	a.must(err)
	a.advance(10 * time.Second)
	_, err = p.Poll(context.Background())
	a.must(err)
	_, err = p.Result(context.Background())
	failed := ""
	for _, m := range a.Machines() {
		if m.Error != "" {
			failed = m.Name
		}
	}
	if c, _ := code(err); c != "ResourceOperationFailure" || failed == "" || !strings.Contains(err.Error(), `"target": "`+failed+`"`) {
		t.Errorf("%q does not name %q: %v", c, failed, err)
	}
	if got := a.capacity(); got != 3 {
		t.Errorf("capacity %d, want it to stay raised at 3", got)
	}
}

func TestAMachineCanBePutIntoAFlexibleSet(t *testing.T) {
	a := newAzure(t)
	a.agents(1, flexible)
	a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
	a.plain(201, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, vmBody("nic-1", `,"virtualMachineScaleSet":{"id":"`+setPath+`"}`))
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d, want 2", got)
	}
	if got := len(a.vmStates(setPath)); got != 2 {
		t.Errorf("%d members, want 2", got)
	}
}
