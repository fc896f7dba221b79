package azuresim_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	subscription = "11111111-1111-1111-1111-111111111111"
	group        = "rg-Render"
	tenant       = "22222222-2222-2222-2222-222222222222"
	clientID     = "33333333-3333-3333-3333-333333333333"
)

// azure is a simulator on a hand-turned clock, with the real SDK as its client.
type azure struct {
	*azuresim.Server
	t       *testing.T
	now     time.Time
	options *arm.ClientOptions
	cred    azcore.TokenCredential
	sets    *armcompute.VirtualMachineScaleSetsClient
	vms     *armcompute.VirtualMachineScaleSetVMsClient
}

func newAzure(t *testing.T, configure ...func(*azuresim.Server)) *azure {
	t.Helper()
	a := &azure{t: t, now: time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC)}
	a.Server = &azuresim.Server{
		Now:    func() time.Time { return a.now },
		Boot:   azuresim.Fixed(2 * time.Minute),
		Delete: azuresim.Fixed(time.Minute),
	}
	for _, c := range configure {
		c(a.Server)
	}
	a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: clientID, Secret: "s3cret"}))
	a.options = &arm.ClientOptions{DisableRPRegistration: true, ClientOptions: policy.ClientOptions{
		Cloud:     simulatedCloud,
		Transport: a.Client(""),
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
	cred, err := azidentity.NewClientSecretCredential(tenant, clientID, "s3cret",
		&azidentity.ClientSecretCredentialOptions{ClientOptions: a.options.ClientOptions, DisableInstanceDiscovery: true})
	a.must(err)
	a.cred = cred
	a.sets, err = armcompute.NewVirtualMachineScaleSetsClient(subscription, cred, a.options)
	a.must(err)
	a.vms, err = armcompute.NewVirtualMachineScaleSetVMsClient(subscription, cred, a.options)
	a.must(err)
	return a
}

var simulatedCloud = cloud.Configuration{
	ActiveDirectoryAuthorityHost: "https://login.azure.test/",
	Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: "https://management.azure.test", Audience: "https://management.azure.test"},
	},
}

func (a *azure) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// agents adds a scale set of n machines in three zones.
func (a *azure) agents(n int, change ...func(*azuresim.ScaleSet)) {
	a.t.Helper()
	ss := azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: group, Name: "agents", Location: "westeurope",
		Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family",
		Zones: []string{"1", "2", "3"}, Capacity: n, Tags: map[string]string{"min": "0", "max": "10"},
	}
	for _, c := range change {
		c(&ss)
	}
	a.must(a.AddScaleSet(ss))
}

func (a *azure) scaleSet() *armcompute.VirtualMachineScaleSet {
	a.t.Helper()
	got, err := a.sets.Get(context.Background(), group, "agents", nil)
	a.must(err)
	return &got.VirtualMachineScaleSet
}

func (a *azure) capacity() int64 {
	a.t.Helper()
	return *a.scaleSet().SKU.Capacity
}

// resize is a minimal PATCH of the capacity.
func (a *azure) resize(n int64, ifMatch *string) (*azurePoller, error) {
	return a.sets.BeginUpdate(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetUpdate{SKU: &armcompute.SKU{Capacity: to.Ptr(n)}},
		&armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{IfMatch: ifMatch})
}

// states lists the instances as "id computer-name zone state", through the SDK.
func (a *azure) states() []string {
	a.t.Helper()
	var out []string
	p := a.vms.NewListPager(group, "agents", &armcompute.VirtualMachineScaleSetVMsClientListOptions{Expand: to.Ptr("instanceView")})
	for p.More() {
		page, err := p.NextPage(context.Background())
		a.must(err)
		for _, vm := range page.Value {
			zone := "-"
			if len(vm.Zones) > 0 {
				zone = *vm.Zones[0]
			}
			codes := []string{}
			for _, s := range vm.Properties.InstanceView.Statuses {
				codes = append(codes, *s.Code)
			}
			out = append(out, strings.Join([]string{*vm.InstanceID, zone, *vm.Properties.ProvisioningState, strings.Join(codes, " ")}, " "))
		}
	}
	return out
}

// ids lists the instance ids, through the SDK.
func (a *azure) ids() []string {
	a.t.Helper()
	ids := []string{}
	for _, s := range a.states() {
		id, _, _ := strings.Cut(s, " ")
		ids = append(ids, id)
	}
	return ids
}

func (a *azure) advance(d time.Duration) { a.now = a.now.Add(d) }

// code is the error code of an SDK error, with its status.
func code(err error) (string, int) {
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return re.ErrorCode, re.StatusCode
	}
	return "", 0
}

// wire sends one request without the SDK, with a valid token.
func (a *azure) wire(method, path, body string, header ...string) (*http.Response, string) {
	a.t.Helper()
	return a.wireFrom("", method, "https://management.azure.test"+path, body, append([]string{"Authorization", "Bearer " + a.token()}, header...)...)
}

func (a *azure) wireFrom(machine, method, url, body string, header ...string) (*http.Response, string) {
	a.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	a.must(err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.Client(machine).Do(r)
	a.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	a.must(err)
	return resp, string(raw)
}

func (a *azure) token() string { return a.tokenFor("https://management.azure.test") }

func (a *azure) tokenFor(resource string) string {
	a.t.Helper()
	tk, err := a.cred.GetToken(context.Background(), policy.TokenRequestOptions{Scopes: []string{resource + "/.default"}})
	a.must(err)
	return tk.Token
}

// field digs a value out of a JSON document; "" when it is not there.
func field(t *testing.T, doc string, path ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v in %q", err, doc)
	}
	for _, step := range path {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

const (
	setPath = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/virtualMachineScaleSets/agents"
	version = "?api-version=2025-04-01"
)
