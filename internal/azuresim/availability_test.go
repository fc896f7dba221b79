package azuresim_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

func TestAnAvailabilitySetListsItsMachinesAndOutlivesThem(t *testing.T) {
	a := newAzure(t)
	a.must(a.AddAvailabilitySet(azuresim.AvailabilitySet{Subscription: subscription, ResourceGroup: group, Name: "workers", Location: "westeurope", FaultDomains: 2}))
	sets, err := armcompute.NewAvailabilitySetsClient(subscription, a.cred, a.options)
	a.must(err)
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		a.server(name, func(m *azuresim.Machine) { m.AvailabilitySet, m.Zone = "workers", "" })
	}
	if err := a.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: group, Name: "x", Location: "l", AvailabilitySet: "none"}); err == nil {
		t.Error("added a machine to an availability set that is not there")
	}
	got, err := sets.Get(context.Background(), group, "WORKERS", nil)
	a.must(err)
	if len(got.Properties.VirtualMachines) != 3 || *got.Properties.PlatformFaultDomainCount != 2 || *got.Properties.PlatformUpdateDomainCount != 5 {
		t.Errorf("%d machines, %+v", len(got.Properties.VirtualMachines), got.Properties)
	}
	domains := map[int32]int{}
	for _, m := range got.Properties.VirtualMachines {
		name := (*m.ID)[strings.LastIndexByte(*m.ID, '/')+1:]
		vm, err := a.machines().Get(context.Background(), group, name, &armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
		a.must(err)
		domains[*vm.Properties.InstanceView.PlatformFaultDomain]++
		if *vm.Properties.AvailabilitySet.ID != *got.ID {
			t.Errorf("%s is in %s", name, *vm.Properties.AvailabilitySet.ID)
		}
	}
	if domains[0] != 2 || domains[1] != 1 {
		t.Errorf("fault domains %v", domains)
	}
	if _, err := sets.Delete(context.Background(), group, "workers", nil); err == nil || !strings.Contains(err.Error(), "does not contain any VM") {
		t.Errorf("delete of a set with machines: %v", err)
	}
	for _, m := range got.Properties.VirtualMachines {
		a.plain(202, http.MethodDelete, *m.ID+version, "")
	}
	a.advance(time.Minute)
	_, err = sets.Delete(context.Background(), group, "workers", nil)
	a.must(err)
	a.plain(404, http.MethodGet, computePath+"/availabilitySets/workers"+version, "")
}

func TestAMachineIsPutIntoAnAvailabilitySet(t *testing.T) {
	a := newAzure(t)
	a.agents(0)
	set := computePath + "/availabilitySets/workers"
	a.plain(200, http.MethodPut, set+version, `{"location":"westeurope","sku":{"name":"Aligned"},"properties":{"platformFaultDomainCount":3,"platformUpdateDomainCount":20}}`)
	a.plain(201, http.MethodPut, networkPath+"/networkInterfaces/nic-1"+nicVersion, nicBody)
	body := vmBody("nic-1", `,"availabilitySet":{"id":"`+set+`"}`)
	if got := field(t, a.plain(400, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, body), "error", "code"); got != "BadRequest" {
		t.Errorf("in a zone and in an availability set: %v", got)
	}
	a.plain(201, http.MethodPut, computePath+"/virtualMachines/agent-1"+version, strings.Replace(body, `"zones":["1"],`, "", 1))
	got := a.plain(200, http.MethodGet, set+version, "")
	if !strings.Contains(got, `"virtualMachines":[{"id":"`+computePath+`/virtualMachines/agent-1"}]`) || !strings.Contains(got, `"platformFaultDomainCount":3`) {
		t.Errorf("%s", got)
	}
	a.plain(200, http.MethodPatch, set+version, `{"tags":{"a":"b"}}`)
	if got := a.plain(200, http.MethodGet, computePath+"/availabilitySets"+version, ""); !strings.Contains(got, `"tags":{"a":"b"}`) {
		t.Errorf("list: %s", got)
	}
}
