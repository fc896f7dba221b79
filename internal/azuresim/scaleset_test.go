package azuresim_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

type azurePoller = runtime.Poller[armcompute.VirtualMachineScaleSetsClientUpdateResponse]

func TestGrowIsSeenThroughToRunningMachines(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	etag := a.scaleSet().Etag
	p, err := a.resize(4, etag)
	a.must(err)
	if *a.scaleSet().Etag == *etag {
		t.Error("a write left the etag where it was")
	}
	want := []string{
		"0 1 Succeeded ProvisioningState/succeeded PowerState/running",
		"1 2 Succeeded ProvisioningState/succeeded PowerState/running",
		"2 3 Creating ProvisioningState/creating PowerState/starting",
		"3 1 Creating ProvisioningState/creating PowerState/starting",
	}
	if diff := cmp.Diff(want, a.states()); diff != "" {
		t.Errorf("right after the write (-want +got):\n%s", diff)
	}
	if _, err := p.Poll(context.Background()); err != nil || p.Done() {
		t.Fatalf("poll while machines boot: done %v, error %v", p.Done(), err)
	}
	token, err := p.ResumeToken()
	a.must(err)

	next, ok := a.NextChange()
	if !ok || !next.Equal(a.now.Add(2*time.Minute)) {
		t.Fatalf("next change %v %v, want in two minutes", next, ok)
	}
	a.now = next
	patches := a.Counters()["PATCH virtualMachineScaleSets"]
	resumed, err := a.sets.BeginUpdate(context.Background(), group, "agents", armcompute.VirtualMachineScaleSetUpdate{},
		&armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{ResumeToken: token})
	a.must(err)
	if got := a.Counters()["PATCH virtualMachineScaleSets"]; got != patches {
		t.Errorf("resuming sent a PATCH: %d, was %d", got, patches)
	}
	if _, err := resumed.Poll(context.Background()); err != nil || !resumed.Done() {
		t.Fatalf("poll after a restart: done %v, error %v", resumed.Done(), err)
	}
	result, err := resumed.Result(context.Background())
	a.must(err)
	if got := *result.SKU.Capacity; got != 4 {
		t.Errorf("capacity %d, want 4", got)
	}
	if got := *result.Properties.ProvisioningState; got != "Succeeded" {
		t.Errorf("provisioning state %s", got)
	}
	if _, ok := a.NextChange(); ok {
		t.Error("something is still under way")
	}
}

func TestAStaleETagIsRefused(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	etag := a.scaleSet().Etag
	a.must(a.Touch("agents", time.Minute))
	_, err := a.resize(2, etag)
	if c, status := code(err); c != "PreconditionFailed" || status != 412 {
		t.Fatalf("got %q %d: %v", c, status, err)
	}
	if !strings.Contains(err.Error(), `does not match etag`) {
		t.Errorf("text: %v", err)
	}
	if got := a.capacity(); got != 1 {
		t.Errorf("a refused write resized to %d", got)
	}
	a.Inject(azuresim.Fault{Kind: "PATCH *", Status: 429, Times: 2})
	for _, tag := range []*string{etag, a.scaleSet().Etag} { // both are refused for something else
		_, _ = a.resize(2, tag)
		if all := a.Requests(); all[len(all)-1].Status != 429 || all[len(all)-1].Outdated != (tag == etag) {
			t.Errorf("logged: %+v", all[len(all)-1])
		}
	}
}

func TestAConditionOnWhatIsNotThereFails(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	for _, path := range []string{
		strings.Replace(setPath, "agents", "others", 1) + version,
		strings.Replace(setPath, "virtualMachineScaleSets/agents", "virtualMachines/vm", 1) + version,
	} {
		if body := a.plain(412, http.MethodPut, path, `{"location":"westeurope"}`, "If-Match", "*"); !strings.Contains(body, "PreconditionFailed") {
			t.Errorf("PUT %s: %s", path, body)
		}
	}
}

func TestAnOlderModelIsReplacedByHand(t *testing.T) {
	a := newAzure(t)
	a.agents(3)
	a.plain(200, http.MethodPatch, setPath+version, `{"properties":{"virtualMachineProfile":{"osProfile":{"adminUsername":"x"}}}}`)
	stale := func() int {
		return strings.Count(a.plain(200, http.MethodGet, setPath+"/virtualMachines"+version, ""), `"latestModelApplied":false`)
	}
	a.plain(400, http.MethodPost, setPath+"/manualupgrade"+version, "{}")
	for _, step := range []struct {
		path, body string
		left       int
	}{{"/manualupgrade", `{"instanceIds":["1"]}`, 2}, {"/virtualMachines/2/reimage", "", 1}, {"/virtualMachines/0/redeploy", "", 1}, {"/reimage", "", 0}} {
		a.plain(202, http.MethodPost, setPath+step.path+version, step.body)
		if got := stale(); got != step.left {
			t.Errorf("after %s %d instances have an older model, want %d", step.path, got, step.left)
		}
	}
}

// TestASecondDeleteWaitsForTheWindow has one delete for each machine, as cloud-provider-azure sends them.
func TestASecondDeleteWaitsForTheWindow(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.DeleteWindow = 2 * time.Second })
	a.agents(4)
	remove := func(id string) (string, int) {
		_, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents",
			armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs(id)}, nil)
		return code(err)
	}
	for _, step := range []struct {
		after  time.Duration
		id     string
		status int
	}{{0, "1", 0}, {time.Second, "2", 409}, {time.Second, "2", 0}, {1999 * time.Millisecond, "3", 409}} {
		a.advance(step.after)
		if c, status := remove(step.id); status != step.status {
			t.Errorf("%s later the delete of %s is answered %d %s, want %d", step.after, step.id, status, c, step.status)
		}
	}
	a.advance(2 * time.Minute)
	if diff := cmp.Diff([]string{"0", "3"}, a.ids()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d, want 2", got)
	}
}

func TestDeleteByIDLowersCapacityAndNothingElse(t *testing.T) {
	a := newAzure(t)
	a.agents(4)
	p, err := a.sets.BeginDeleteInstances(context.Background(), group, "AGENTS",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("1", "2")}, nil)
	a.must(err)
	if got := a.capacity(); got != 2 {
		t.Errorf("capacity %d, want 2", got)
	}
	want := []string{
		"0 1 Succeeded ProvisioningState/succeeded PowerState/running",
		"1 2 Deleting ProvisioningState/deleting PowerState/deallocating",
		"2 3 Deleting ProvisioningState/deleting PowerState/deallocating",
		"3 1 Succeeded ProvisioningState/succeeded PowerState/running",
	}
	if diff := cmp.Diff(want, a.states()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("0")}, nil)
	if c, status := code(err); c != "Conflict" || status != 409 {
		t.Errorf("second delete: %q %d", c, status)
	}
	_, err = p.Poll(context.Background())
	a.must(err)
	if p.Done() {
		t.Error("done before the machines are gone")
	}
	a.advance(time.Minute)
	_, err = p.Poll(context.Background())
	a.must(err)
	_, err = p.Result(context.Background())
	a.must(err)
	if diff := cmp.Diff([]string{"0", "3"}, a.ids()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	_, err = a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("1")}, nil)
	if c, status := code(err); c != "InvalidParameter" || status != 400 {
		t.Errorf("stale id: %q %d", c, status)
	}
	if !strings.Contains(err.Error(), "The provided instanceId 1 is not an active Virtual Machine Scale Set VM instanceId.") {
		t.Errorf("stale id: %v", err)
	}
}

func TestAFailedAllocationIsToldByTheOperation(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{ScaleSet: "agents", MachineError: "AllocationFailed", Times: 2})
	p, err := a.resize(4, nil)
	a.must(err)
	a.advance(10 * time.Second)
	if _, err := p.Poll(context.Background()); err != nil || !p.Done() {
		t.Fatalf("poll: done %v, error %v", p.Done(), err)
	}
	_, err = p.Result(context.Background())
	if c, status := code(err); c != "ResourceOperationFailure" || status != 200 {
		t.Fatalf("got %q %d: %v", c, status, err)
	}
	for _, part := range []string{`"target": "1"`, `"target": "2"`, `"code": "AllocationFailed"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %s in %v", part, err)
		}
	}
	if got := a.capacity(); got != 4 {
		t.Errorf("capacity %d, want it to stay raised at 4", got)
	}
	if got := *a.scaleSet().Properties.ProvisioningState; got != "Failed" {
		t.Errorf("scale set %s", got)
	}
	want := []string{
		"0 1 Succeeded ProvisioningState/succeeded PowerState/running",
		"1 2 Failed ProvisioningState/failed/AllocationFailed",
		"2 3 Failed ProvisioningState/failed/AllocationFailed",
		"3 1 Creating ProvisioningState/creating PowerState/starting",
	}
	if diff := cmp.Diff(want, a.states()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEmptyOrAbsentIDsAreRefusedByDeleteAndMeanAllElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		verb, body string
		status     int
		stopped    int
	}{
		"delete without a body":              {"delete", "", 400, 0},
		"delete with no ids":                 {"delete", `{"instanceIds":[]}`, 400, 0},
		"deallocate without a body":          {"deallocate", "", 202, 3},
		"deallocate with no ids":             {"deallocate", `{"instanceIds":[]}`, 202, 3},
		"deallocate with an id":              {"deallocate", `{"instanceIds":["1"]}`, 202, 1},
		"powerOff in whatever case":          {"PowerOff", `{"instanceIds":["1","2"]}`, 202, 2},
		"delete of everything by a wildcard": {"delete", `{"instanceIds":["*"]}`, 202, 3},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(3)
			resp, body := a.wire(http.MethodPost, setPath+"/"+tc.verb+version, tc.body)
			if resp.StatusCode != tc.status {
				t.Fatalf("status %d, want %d: %s", resp.StatusCode, tc.status, body)
			}
			stopped := 0
			for _, m := range a.Machines() {
				if m.PowerState != "running" {
					stopped++
				}
			}
			if stopped != tc.stopped {
				t.Errorf("%d machines stopped, want %d", stopped, tc.stopped)
			}
		})
	}
}

func TestInstancesAreListedByTheDocumentedFilters(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.plain(200, http.MethodPatch, setPath+version, `{"sku":{"capacity":3},"properties":{"virtualMachineProfile":{"licenseType":"x"}}}`)
	for filter, want := range map[string]int{
		"properties/latestModelApplied eq true":                        1,
		"properties/latestModelApplied eq false":                       2,
		"startswith(instanceView/statuses/code, 'PowerState') eq true": 3,
	} {
		body := a.plain(200, http.MethodGet, setPath+"/virtualMachines"+version+"&$filter="+url.QueryEscape(filter), "")
		if got := strings.Count(body, `"instanceId"`); got != want {
			t.Errorf("%s: %d instances, want %d", filter, got, want)
		}
	}
	a.plain(400, http.MethodGet, setPath+"/virtualMachines"+version+"&$filter=name", "")
}
