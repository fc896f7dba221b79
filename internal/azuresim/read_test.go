package azuresim_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestPagesAddUpToTheWholeList(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.PageSize = 2 })
	a.agents(5)
	a.must(a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: "other", Name: "b", Location: "westeurope"}))
	a.must(a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: "other", Name: "c", Location: "northeurope"}))
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, a.ids()); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if got := a.Counters()["LIST virtualMachineScaleSets/virtualMachines"]; got != 3 {
		t.Errorf("%d pages, want 3", got)
	}
	var names []string
	for p := a.sets.NewListAllPager(nil); p.More(); {
		page, err := p.NextPage(context.Background())
		a.must(err)
		for _, ss := range page.Value {
			names = append(names, *ss.Name)
		}
	}
	if diff := cmp.Diff([]string{"b", "c", "agents"}, names); diff != "" {
		t.Errorf("scale sets by id (-want +got):\n%s", diff)
	}
}

// TestTheLogTellsWhoseMachinesAListHas names the scale sets that each page of a list is about, and no page of which nothing, or half, arrives.
func TestTheLogTellsWhoseMachinesAListHas(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.PageSize = 2 })
	a.agents(3)
	for _, name := range []string{"Loose", "other"} {
		a.must(a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: group, Name: name, Location: "westeurope", OrchestrationMode: "Flexible"}))
	}
	a.must(a.AddScaleSet(azuresim.ScaleSet{Subscription: subscription, ResourceGroup: "elsewhere", Name: "far", Location: "westeurope", OrchestrationMode: "Flexible"}))
	var heard []string
	a.Observe = func(r azuresim.Request, _ []azuresim.MachineState) {
		if strings.HasPrefix(r.Kind, "LIST ") {
			heard = append(heard, fmt.Sprintln(r.Kind, r.Lists, r.First, r.Last))
		}
	}
	a.ids()
	a.Inject(azuresim.Fault{Kind: "LIST *", Truncate: true, Times: 1})
	_, err := a.vms.NewListPager(group, "agents", nil).NextPage(t.Context())
	if err == nil {
		t.Error("half a list was taken for a whole one")
	}
	_, err = a.machines().NewListPager(group, nil).NextPage(t.Context())
	a.must(err)
	if diff := cmp.Diff([]string{
		"LIST virtualMachineScaleSets/virtualMachines [agents] true false\n",
		"LIST virtualMachineScaleSets/virtualMachines [agents] false true\n",
		"LIST virtualMachineScaleSets/virtualMachines [] false false\n",
		"LIST virtualMachines [loose other] true true\n",
	}, heard); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

func TestAPageSurvivesTheDeletionOfItsLastItem(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.PageSize = 2 })
	a.agents(5)
	p := a.vms.NewListPager(group, "agents", nil)
	_, err := p.NextPage(context.Background())
	a.must(err)
	a.must(a.DeleteMachine("agents_1"))
	a.advance(time.Minute)
	page, err := p.NextPage(context.Background())
	a.must(err)
	if got := *page.Value[0].InstanceID; got != "2" {
		t.Errorf("the second page starts with %s, want 2", got)
	}
}

func TestErrorsAreAzures(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		code, text         string
	}{
		"no api-version":         {"GET", setPath, "", 400, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests."},
		"nonsense api-version":   {"GET", setPath + "?api-version=now", "", 400, "InvalidApiVersionParameter", "'now'"},
		"unknown subscription":   {"GET", "/subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/virtualMachineScaleSets/z" + version, "", 404, "SubscriptionNotFound", "'x'"},
		"unknown resource group": {"GET", strings.Replace(setPath, group, "nope", 1) + version, "", 404, "ResourceGroupNotFound", "'nope'"},
		"unknown scale set":      {"GET", setPath + "x" + version, "", 404, "ResourceNotFound", "agentsx' under resource group 'rg-Render' was not found"},
		"unknown instance":       {"GET", setPath + "/virtualMachines/9" + version, "", 404, "NotFound", "'9'"},
		"unknown type":           {"GET", strings.Replace(setPath, "Sets", "Lists", 1) + version, "", 404, "InvalidResourceType", ""},
		"foreign method":         {"DELETE", setPath + "/instanceView" + version, "", 405, "HttpMethodNotAllowed", "DELETE"},
		"negative capacity":      {"PATCH", setPath + version, `{"sku":{"capacity":-1}}`, 400, "InvalidParameter", "-1 is not in the range 0 to 1000"},
		"body that is not JSON":  {"PATCH", setPath + version, `{"sku":`, 400, "InvalidRequestContent", "deserialized"},
		"too many machines":      {"PATCH", setPath + version, `{"sku":{"capacity":1001}}`, 400, "InvalidParameter", "1001"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			resp, body := a.wire(tc.method, tc.path, tc.body)
			got := fmt.Sprint(resp.StatusCode, " ", field(t, body, "error", "code"), " ", resp.Header.Get("X-Ms-Error-Code"))
			if want := fmt.Sprint(tc.status, " ", tc.code, " ", tc.code); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if !strings.Contains(body, tc.text) {
				t.Errorf("%q does not stand in %s", tc.text, body)
			}
		})
	}
}

func TestPathsMatchInAnyCaseAndIdsKeepTheirs(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	resp, body := a.wire("GET", strings.ToUpper(setPath)+version, "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	if got := field(t, body, "id"); got != setPath {
		t.Errorf("id %v, want %s", got, setPath)
	}
}

func TestGroupsComeBackInCapitalsWhenToldSo(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.UpperCaseGroups = true })
	a.agents(1)
	want := strings.Replace(setPath, group, strings.ToUpper(group), 1)
	if got := *a.scaleSet().ID; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	for _, m := range a.ids() {
		if body := a.plain(200, "GET", want+"/virtualMachines/"+m+version, ""); !strings.Contains(body, want+"/virtualMachines/"+m) {
			t.Errorf("instance %s: %s", m, body)
		}
	}
}

func TestIdentitiesAreNamedExceptByAFlexibleSet(t *testing.T) {
	for mode, want := range map[string]bool{"Uniform": true, "Flexible": false} {
		a := newAzure(t)
		a.must(a.AddIdentity(azuresim.Identity{ID: identityID + "node", ClientID: "node-client", TenantID: tenant}))
		a.agents(1, func(ss *azuresim.ScaleSet) {
			ss.OrchestrationMode, ss.Identities = mode, []string{identityID + "node"}
		})
		if body := a.plain(200, "GET", setPath+version, ""); strings.Contains(body, `"clientId":"node-client"`) != want {
			t.Errorf("%s: %s", mode, body)
		}
	}
}

func TestUserDataIsShownWhenAskedFor(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.plain(200, "PATCH", setPath+version, `{"properties":{"virtualMachineProfile":{"userData":"aGk=","osProfile":{"customData":"c2VjcmV0"}}}}`)
	for query, want := range map[string]bool{"": false, "&$expand=userData": true} {
		body := a.plain(200, "GET", setPath+version+query, "")
		if strings.Contains(body, "aGk=") != want || strings.Contains(body, "c2VjcmV0") {
			t.Errorf("%q: %s", query, body)
		}
	}
}

func TestTheModelIsWhatWasWritten(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	_, _ = a.wire("PATCH", setPath+version, `{"tags":{"team":"render"},"properties":{"virtualMachineProfile":{"osProfile":{"customData":"c2VjcmV0"},"licenseType":"None"}}}`)
	_, body := a.wire("GET", setPath+version, "")
	for _, absent := range []string{"customData", "c2VjcmV0", `"min"`} {
		if strings.Contains(body, absent) {
			t.Errorf("%s was read back: %s", absent, body)
		}
	}
	for _, present := range []string{`"team":"render"`, `"licenseType":"None"`, `"computerNamePrefix":"agents"`, `"capacity":1`} {
		if !strings.Contains(body, present) {
			t.Errorf("%s is gone: %s", present, body)
		}
	}
	_, vm := a.wire("GET", setPath+"/virtualMachines/0"+version, "")
	if !strings.Contains(vm, `"latestModelApplied":false`) {
		t.Errorf("an old machine claims the new model: %s", vm)
	}
	if strings.Contains(vm, "instanceView") {
		t.Errorf("instance view without $expand: %s", vm)
	}
}

func TestComputerNamesAreBase36(t *testing.T) {
	a := newAzure(t)
	a.agents(37, func(ss *azuresim.ScaleSet) { ss.ComputerNamePrefix = "w" })
	got := map[string]string{}
	for _, m := range a.Machines() {
		got[m.InstanceID] = m.ComputerName
	}
	for id, want := range map[string]string{"0": "w000000", "9": "w000009", "10": "w00000a", "36": "w000010"} {
		if got[id] != want {
			t.Errorf("instance %s is %s, want %s", id, got[id], want)
		}
	}
}

func TestTheSDKWorksOverRealConnectionsToo(t *testing.T) {
	a := newAzure(t)
	a.agents(3)
	a.PageSize = 2
	srv := newTLSServer(t, a.Server)
	options := *a.options
	options.Cloud = cloudAt(srv.URL)
	options.Transport = srv.Client()
	cred, err := azidentity.NewClientSecretCredential(tenant, clientID, "s3cret",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options.ClientOptions, DisableInstanceDiscovery: true})
	a.must(err)
	vms, err := armcompute.NewVirtualMachineScaleSetVMsClient(subscription, cred, &options)
	a.must(err)
	n := 0
	for p := vms.NewListPager(group, "agents", nil); p.More(); {
		page, err := p.NextPage(context.Background())
		a.must(err)
		n += len(page.Value)
	}
	if n != 3 {
		t.Errorf("%d instances, want 3", n)
	}
	_, err = cred.GetToken(context.Background(), policy.TokenRequestOptions{Scopes: []string{srv.URL + "/.default"}})
	a.must(err)
}

// story is a fixed sequence of requests; it returns every answer.
func story(t *testing.T, seed uint64) string {
	t.Helper()
	a := newAzure(t, func(s *azuresim.Server) {
		s.Seed, s.Boot, s.Delete = seed, azuresim.Distribution{}, azuresim.Distribution{}
	})
	a.agents(3)
	var log strings.Builder
	step := func(method, path, body string) {
		resp, got := a.wire(method, path, body)
		fmt.Fprintln(&log, a.now, method, path, resp.StatusCode, resp.Header, got)
	}
	step("PATCH", setPath+version, `{"sku":{"capacity":6}}`)
	for range 8 {
		if next, ok := a.NextChange(); ok {
			a.now = next
		}
		step("GET", setPath+"/virtualMachines"+version+"&$expand=instanceView", "")
		step("GET", setPath+version, "")
	}
	step("POST", setPath+"/delete"+version, `{"instanceIds":["4"]}`)
	step("GET", setPath+"/virtualMachines"+version, "")
	fmt.Fprintln(&log, a.Machines(), a.Counters())
	return log.String()
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	if diff := cmp.Diff(story(t, 7), story(t, 7)); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if story(t, 7) == story(t, 8) {
		t.Error("the seed decides nothing")
	}
}
