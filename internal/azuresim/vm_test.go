package azuresim_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	computePath = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute"
	networkPath = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Network"
	nicVersion  = "?api-version=2025-05-01"
	diskVersion = "?api-version=2025-01-02"
)

func (a *azure) machines() *armcompute.VirtualMachinesClient {
	a.t.Helper()
	c, err := armcompute.NewVirtualMachinesClient(subscription, a.cred, a.options)
	a.must(err)
	return c
}

// vmStates lists virtual machines as "name state power", through the SDK.
func (a *azure) vmStates(filter string) []string {
	a.t.Helper()
	o := &armcompute.VirtualMachinesClientListOptions{Expand: to.Ptr(armcompute.ExpandTypeForListVMsInstanceView)}
	if filter != "" {
		o.Filter = to.Ptr("'virtualMachineScaleSet/id' eq '" + filter + "'")
	}
	out := []string{}
	for p := a.machines().NewListPager(group, o); p.More(); {
		page, err := p.NextPage(context.Background())
		a.must(err)
		for _, vm := range page.Value {
			codes := []string{}
			for _, s := range vm.Properties.InstanceView.Statuses {
				codes = append(codes, *s.Code)
			}
			out = append(out, *vm.Name+" "+*vm.Properties.ProvisioningState+" "+strings.Join(codes, " "))
		}
	}
	return out
}

// plain sends a request without the SDK and wants a status.
func (a *azure) plain(want int, method, path, body string, header ...string) string {
	a.t.Helper()
	resp, got := a.wire(method, path, body, header...)
	if resp.StatusCode != want {
		a.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, want, got)
	}
	return got
}

// server adds a machine outside scale sets.
func (a *azure) server(name string, change ...func(*azuresim.Machine)) {
	a.t.Helper()
	m := azuresim.Machine{
		Subscription: subscription, ResourceGroup: group, Name: name, Location: "westeurope", Zone: "1",
		Size: "Standard_D2s_v5", VCPUs: 2, Family: "standardDSv5Family",
	}
	for _, c := range change {
		c(&m)
	}
	a.must(a.AddMachine(m))
}

const nicBody = `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"ipconfig1","properties":{"subnet":{"id":"/sub/net/subnets/agents"}}}]}}`

// vmBody is a plain virtual machine of an interface.
func vmBody(nic, more string) string {
	return fmt.Sprintf(`{"location":"westeurope","zones":["1"],"tags":{"pool":"standard"},"properties":{
		"hardwareProfile":{"vmSize":"Standard_D4s_v5"},
		"osProfile":{"computerName":"agent-1","customData":"c2VjcmV0"},
		"storageProfile":{"osDisk":{"createOption":"FromImage","name":"agent-1-os","deleteOption":"Delete"},
			"dataDisks":[{"lun":0,"createOption":"Empty","name":"agent-1-data","diskSizeGB":64}]},
		"networkProfile":{"networkInterfaces":[{"id":%q}]}%s}}`, networkPath+"/networkInterfaces/"+nic, more)
}

func TestAMachineIsCreatedFromAPlainBodyAndLeavesBehindWhatItDoesNotOwn(t *testing.T) {
	a := newAzure(t)
	a.agents(0)
	a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
	body := a.plain(201, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, vmBody("nic-1", ""))
	if strings.Contains(body, "c2VjcmV0") {
		t.Error("customData was returned")
	}
	if got := a.vmStates(""); !cmp.Equal(got, []string{"agent-1 Creating ProvisioningState/creating PowerState/starting"}) {
		t.Errorf("right after the PUT: %v", got)
	}
	a.advance(2 * time.Minute)
	vm, err := a.machines().Get(context.Background(), group, "AGENT-1", &armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
	a.must(err)
	if *vm.Properties.ProvisioningState != "Succeeded" || *vm.Properties.StorageProfile.OSDisk.Name != "agent-1-os" || len(vm.Properties.StorageProfile.DataDisks) != 1 {
		t.Errorf("machine: %s %+v", *vm.Properties.ProvisioningState, vm.Properties.StorageProfile)
	}
	nic := a.plain(200, http.MethodGet, networkPath+"/networkInterfaces/nic-1"+nicVersion, "")
	if got := field(t, nic, "properties", "virtualMachine", "id"); got != *vm.ID {
		t.Errorf("the interface is in %v", got)
	}
	if got := a.Machines()[0].PrivateIP; !strings.Contains(nic, `"privateIPAddress":"`+got+`"`) {
		t.Errorf("the interface does not have the machine's address %s: %s", got, nic)
	}
	if got := field(t, a.plain(400, http.MethodDelete, networkPath+"/networkInterfaces/nic-1"+nicVersion, ""), "error", "code"); got != "NicInUse" {
		t.Errorf("delete of the interface: %v", got)
	}
	if got := field(t, a.plain(409, http.MethodDelete, computePath+"/disks/agent-1-data"+diskVersion, ""), "error", "code"); got != "OperationNotAllowed" {
		t.Errorf("delete of the disk: %v", got)
	}

	p, err := a.machines().BeginDelete(context.Background(), group, "agent-1", nil)
	a.must(err)
	if _, err := p.Poll(context.Background()); err != nil || p.Done() {
		t.Fatalf("poll: done %v, error %v", p.Done(), err)
	}
	a.advance(time.Minute)
	_, err = p.Poll(context.Background())
	a.must(err)
	_, err = p.Result(context.Background())
	a.must(err)
	if got := a.vmStates(""); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	a.plain(404, http.MethodGet, computePath+"/disks/agent-1-os"+diskVersion, "")
	if got := field(t, a.plain(200, http.MethodGet, computePath+"/disks/agent-1-data"+diskVersion, ""), "properties", "diskState"); got != "Unattached" {
		t.Errorf("data disk %v", got)
	}
	nic = a.plain(200, http.MethodGet, networkPath+"/networkInterfaces/nic-1"+nicVersion, "")
	if got := field(t, nic, "properties", "virtualMachine"); got != nil {
		t.Errorf("the interface stays in %v", got)
	}
	a.plain(202, http.MethodDelete, networkPath+"/networkInterfaces/nic-1"+nicVersion, "")
	a.plain(204, http.MethodDelete, computePath+"/virtualMachines/agent-1"+version, "")
}

func TestAMachineIsRefusedWhenItsPartsAreNotFree(t *testing.T) {
	for name, tc := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"an interface that does not exist": {vmBody("nic-9", ""), 400, "InvalidResourceReference"},
		"an interface of another machine":  {vmBody("server-1VMNic", ""), 400, "NicInUse"},
		"an availability set that does not exist": {
			strings.Replace(vmBody("nic-1", `,"availabilitySet":{"id":"/x"}`), `"zones":["1"],`, "", 1), 400, "InvalidResourceReference"},
		"a disk attached elsewhere": {strings.Replace(vmBody("nic-1", ""), `"createOption":"Empty","name":"agent-1-data"`,
			`"createOption":"Attach","managedDisk":{"id":"`+computePath+`/disks/data-0"}`, 1), 409, "ConflictingUserInput"},
		"a disk's name that is taken": {strings.Replace(vmBody("nic-1", ""), "agent-1-os", "data-0", 1), 409, "ConflictingUserInput"},
		"no quota for its cores":      {vmBody("nic-1", ""), 409, "OperationNotAllowed"},
		"no location":                 {`{}`, 400, "LocationRequired"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t, func(s *azuresim.Server) {
				if strings.HasPrefix(name, "no quota") {
					s.Quota = map[string]int{"standardDSv5Family": 5}
				}
			})
			a.server("server-1")
			a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
			a.plain(200, http.MethodPut, computePath+"/disks/data-0"+diskVersion, `{"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
			a.plain(200, http.MethodPatch, computePath+"/virtualMachines/server-1"+version,
				`{"properties":{"storageProfile":{"dataDisks":[{"lun":0,"createOption":"Attach","managedDisk":{"id":"`+computePath+`/disks/data-0"}}]}}}`)
			got := a.plain(tc.status, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, tc.body)
			if c := field(t, got, "error", "code"); c != tc.code {
				t.Errorf("code %v, want %s: %s", c, tc.code, got)
			}
			if got := len(a.vmStates("")); got != 1 {
				t.Errorf("%d machines after a refusal", got)
			}
			if got := field(t, a.plain(200, http.MethodGet, networkPath+"/networkInterfaces/nic-1"+nicVersion, ""), "properties", "virtualMachine"); got != nil {
				t.Errorf("a refused machine keeps the interface: %v", got)
			}
		})
	}
}

func TestTheInterfaceOfAFailedMachineIsKeptForThreeMinutes(t *testing.T) {
	a := newAzure(t)
	a.server("server-1")
	a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
	a.Inject(azuresim.Fault{MachineError: "ZonalAllocationFailed", Times: 1})
	resp, _ := a.wire(http.MethodPut, computePath+"/virtualMachines/agent-1"+version, vmBody("nic-1", ""))
	a.advance(10 * time.Second)
	operation := resp.Header.Get("Azure-AsyncOperation")
	_, status := a.wireFrom("", http.MethodGet, operation, "", "Authorization", "Bearer "+a.token())
	if got := field(t, status, "error", "code"); got != "ZonalAllocationFailed" {
		t.Errorf("the operation says %s", status)
	}
	a.plain(202, http.MethodDelete, computePath+"/virtualMachines/agent-1"+version, "")
	a.advance(time.Minute)
	if got := field(t, a.plain(400, http.MethodDelete, networkPath+"/networkInterfaces/nic-1"+nicVersion, ""), "error", "code"); got != "NicReservedForAnotherVm" {
		t.Errorf("right after: %v", got)
	}
	a.advance(3 * time.Minute)
	a.plain(202, http.MethodDelete, networkPath+"/networkInterfaces/nic-1"+nicVersion, "")
}

func TestMachinesAreTurnedOffAndOn(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Quota = map[string]int{"cores": 4, "virtualMachines": 2} })
	a.server("server-1")
	p, err := a.machines().BeginDeallocate(context.Background(), group, "server-1", nil)
	a.must(err)
	a.advance(time.Minute)
	_, err = p.Poll(context.Background())
	a.must(err)
	if !p.Done() {
		t.Error("not done when it is off")
	}
	if got := a.Machines()[0].PowerState; got != "deallocated" {
		t.Fatalf("power %s", got)
	}
	a.server("server-2", func(m *azuresim.Machine) { m.VCPUs = 4 }) // takes the cores that were given back
	if got := field(t, a.plain(409, http.MethodPost, computePath+"/virtualMachines/server-1/start"+version, ""), "error", "code"); got != "OperationNotAllowed" {
		t.Errorf("start without quota: %v", got)
	}
	a.plain(202, http.MethodDelete, computePath+"/virtualMachines/server-2"+version, "")
	a.advance(time.Minute)
	a.Inject(azuresim.Fault{MachineError: "AllocationFailed", Times: 1})
	start, err := a.machines().BeginStart(context.Background(), group, "server-1", nil)
	a.must(err)
	a.advance(10 * time.Second)
	_, err = start.Poll(context.Background())
	a.must(err)
	if _, err := start.Result(context.Background()); err == nil || !strings.Contains(err.Error(), "AllocationFailed") {
		t.Errorf("a start without room: %v", err)
	}
	if m := a.Machines()[0]; m.PowerState != "deallocated" || m.ProvisioningState != "Failed" || m.Error != "AllocationFailed" {
		t.Errorf("after a start that failed: %+v", m)
	}
	a.plain(202, http.MethodPost, computePath+"/virtualMachines/server-1/start"+version, "")
	a.advance(2 * time.Minute)
	if m := a.Machines()[0]; m.PowerState != "running" || m.ProvisioningState != "Succeeded" {
		t.Errorf("after a start: %+v", m)
	}
}
