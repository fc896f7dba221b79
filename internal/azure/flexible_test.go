package azure

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

const flexID = "/subscriptions/s/resourceGroups/Farm/providers/Microsoft.Compute/virtualMachineScaleSets/flex"

// answering is a connection that gives the same answer to every request, and remembers the last.
type answering struct {
	body string
	last *http.Request
}

func (a *answering) Do(r *http.Request) (*http.Response, error) {
	a.last = r
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func (a *answering) machines(t *testing.T) ([]*machine, error) {
	t.Helper()
	o := &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{Transport: a}}
	client, err := armcompute.NewVirtualMachinesClient("s", &fake.TokenCredential{}, o)
	if err != nil {
		t.Fatal(err)
	}
	f := &flexible{scaleSets: &scaleSets{resourceGroup: "Farm"}, client: client}
	return f.machines(context.Background(), &model{name: "flex", resource: flexID, location: "WestEurope"})
}

func TestMachinesOfAFlexibleScaleSetAreAskedForWithTheirConditions(t *testing.T) {
	wire := &answering{body: `{"value":[
		{"id":"/subscriptions/s/resourceGroups/FARM/providers/Microsoft.Compute/virtualMachines/flex_0a1b2c3d","name":"flex_0a1b2c3d","zones":["2"],"properties":{
			"vmId":"AB-1","timeCreated":"2026-03-02T09:00:00+00:00","provisioningState":"Succeeded","osProfile":{"computerName":"flexA1B2C3"},
			"virtualMachineScaleSet":{"id":"` + strings.ToUpper(flexID) + `"},
			"instanceView":{"platformFaultDomain":1,"statuses":[{"code":"ProvisioningState/succeeded"},{"code":"PowerState/deallocated"}]}}},
		{"id":"/subscriptions/s/resourceGroups/FARM/providers/Microsoft.Compute/virtualMachines/flex_4","name":"flex_4","properties":{
			"vmId":"ab-2","provisioningState":"Creating","instanceView":{"platformFaultDomain":3}}}]}`}
	got, err := wire.machines(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []*machine{
		{id: "flex_0a1b2c3d", uid: "ab-1", resource: "/subscriptions/s/resourceGroups/FARM/providers/Microsoft.Compute/virtualMachines/flex_0a1b2c3d",
			computerName: "flexA1B2C3", zone: "westeurope-2", created: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), state: cluster.StateStopped, power: "deallocated"},
		{id: "flex_4", uid: "ab-2", resource: "/subscriptions/s/resourceGroups/FARM/providers/Microsoft.Compute/virtualMachines/flex_4", zone: "3", state: cluster.StateCreating},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(machine{})); d != "" {
		t.Errorf("machines (-want +got):\n%s", d)
	}
	if q := wire.last.URL.Query(); q.Get("$filter") != "'virtualMachineScaleSet/id' eq '"+flexID+"'" || q.Get("$expand") != "instanceView" {
		t.Errorf("asked with %v, want the scale set's filter and the instance view", q)
	}
	if got, want := providerID(got[0].resource), "azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachines/flex_0a1b2c3d"; got != want {
		t.Errorf("provider id %s, want %s", got, want)
	}
}

func TestAMachineOfAnotherScaleSetIsNoneOfThisOne(t *testing.T) {
	wire := &answering{body: `{"value":[{"id":"x","name":"other_1","properties":{"vmId":"ab-1","virtualMachineScaleSet":{"id":"` + flexID + `2"}}}]}`}
	if got, err := wire.machines(t); err == nil {
		t.Errorf("machines %+v are believed, want an error: the filter was not obeyed", got)
	}
}

func TestAFlexibleScaleSetNeedsAProfile(t *testing.T) {
	mode := armcompute.OrchestrationModeFlexible
	set := &armcompute.VirtualMachineScaleSet{Name: new("flex"), Properties: &armcompute.VirtualMachineScaleSetProperties{OrchestrationMode: &mode}}
	source := newScaleSets(Options{}, &armcompute.ClientFactory{})
	if m := source.translate(set); !strings.Contains(m.unfit, "no virtual machine profile") {
		t.Errorf("unfit %q, want the missing profile named", m.unfit)
	}
	set.Properties.VirtualMachineProfile = &armcompute.VirtualMachineScaleSetVMProfile{}
	if m := source.translate(set); m.unfit != "" || m.kind != source.flexible {
		t.Errorf("unfit %q of kind %T, want it managed as a flexible one", m.unfit, m.kind)
	}
}

func TestNoMachineIsNeverReadAsAll(t *testing.T) {
	wire := &answering{}
	client, err := armcompute.NewVirtualMachineScaleSetsClient("s", &fake.TokenCredential{}, &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: wire}})
	if err != nil {
		t.Fatal(err)
	}
	s := &scaleSets{resourceGroup: "Farm", client: client}
	ctx := context.Background()
	for doing, call := range map[string]func() (*accepted, error){
		"delete":     func() (*accepted, error) { return s.remove(ctx, "agents", "v", nil) },
		"deallocate": func() (*accepted, error) { return s.park(ctx, "agents", "v", nil) },
		"start":      func() (*accepted, error) { return s.start(ctx, "agents", nil) },
	} {
		if _, err := call(); cloud.KindOf(err) != cloud.Invalid || wire.last != nil {
			t.Errorf("%s of no machine: error %v, sent %v; want it refused and nothing sent", doing, err, wire.last)
		}
	}
}
