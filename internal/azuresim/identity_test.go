package azuresim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	imds       = "http://169.254.169.254/metadata"
	identityID = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
)

// must2 is must for calls whose first result is of no interest.
func (a *azure) must2(_ any, err error) {
	a.t.Helper()
	a.must(err)
}

func newTLSServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func cloudAt(url string) cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: url + "/",
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: url, Audience: url}},
	}
}

// machine adds a machine outside scale sets with identities a, b, ... and
// returns it.
func (a *azure) machine(system bool, identities ...string) {
	a.t.Helper()
	m := azuresim.Machine{
		Subscription: subscription, ResourceGroup: group, Name: "server-0", Location: "westeurope", Zone: "1",
		Size: "Standard_D2s_v5", Tags: map[string]string{"b": "2", "a": "1"}, SystemAssigned: system,
	}
	for _, name := range identities {
		a.must(a.AddIdentity(azuresim.Identity{ID: identityID + name, TenantID: tenant, ClientID: "client-" + name}))
		m.Identities = append(m.Identities, identityID+name)
	}
	a.must(a.AddMachine(m))
}

func TestAMachineGetsTheTokenOfItsIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		system     bool
		identities []string
		query      string
		want       string // client id, or the error
	}{
		"the only one":            {false, []string{"a"}, "", "client-a"},
		"one by client id":        {false, []string{"a", "b"}, "&client_id=client-b", "client-b"},
		"one by resource id":      {true, []string{"a", "b"}, "&msi_res_id=" + identityID + "A", "client-a"},
		"its own before others":   {true, []string{"a"}, "", "own"},
		"none of several":         {false, []string{"a", "b"}, "", "Multiple user assigned identities exist"},
		"none":                    {false, nil, "", "Identity not found"},
		"not somebody else's":     {true, []string{"a"}, "&client_id=client-z", "Identity not found"},
		"not without a resource":  {true, nil, "&resource=", "'resource' is missing"},
		"not an application's id": {true, nil, "&client_id=" + clientID, "Identity not found"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.machine(tc.system, tc.identities...)
			query := "?api-version=2018-02-01" + tc.query
			if !strings.Contains(query, "resource=") {
				query += "&resource=https://management.azure.test"
			}
			resp, body := a.wireFrom("server-0", "GET", imds+"/identity/oauth2/token"+query, "", "Metadata", "true")
			got, _ := field(t, body, "client_id").(string)
			switch {
			case tc.want == "own":
				if strings.HasPrefix(got, "client-") || got == "" {
					t.Errorf("client id %q", got)
				}
			case resp.StatusCode != http.StatusOK:
				if !strings.Contains(body, tc.want) || field(t, body, "error") != "invalid_request" {
					t.Errorf("got %s, want %s", body, tc.want)
				}
			case got != tc.want:
				t.Errorf("client id %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAMachinesOwnIdentityCanBeNamed(t *testing.T) {
	a := newAzure(t)
	a.machine(true, "a")
	ask := func(selector string) string {
		_, body := a.wireFrom("server-0", "GET", imds+"/identity/oauth2/token?api-version=2018-02-01&resource=x"+selector, "", "Metadata", "true")
		got, _ := field(t, body, "client_id").(string)
		return got
	}
	own := ask("")
	if got := ask("&client_id=" + own); got != own || own == "" {
		t.Errorf("named %q, got %q", own, got)
	}
}

func TestAManagedIdentityWorksThroughTheSDK(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.machine(false, "sluice")
	options := *a.options
	options.Transport = a.Client("server-0")
	cred, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{
		ClientOptions: options.ClientOptions, ID: azidentity.ResourceID(identityID + "sluice")})
	a.must(err)
	sets, err := armcompute.NewVirtualMachineScaleSetsClient(subscription, cred, &options)
	a.must(err)
	a.must2(sets.Get(context.Background(), group, "agents", nil))

	a.must(a.Deny("client-sluice", "Microsoft.Compute/virtualMachineScaleSets/delete/*"))
	_, err = sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{}, nil)
	if c, status := code(err); c != "AuthorizationFailed" || status != 403 {
		t.Fatalf("got %q %d: %v", c, status, err)
	}
	for _, part := range []string{"'client-sluice'", "action 'Microsoft.Compute/virtualMachineScaleSets/delete/action'", "scope '" + setPath + "'"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s does not stand in %v", part, err)
		}
	}
	a.must2(sets.Get(context.Background(), group, "agents", nil))
	a.must(a.Allow("client-sluice"))
	_, err = sets.BeginDeleteInstances(context.Background(), group, "agents", armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{}, nil)
	if c, _ := code(err); c != "InvalidParameter" {
		t.Errorf("allowed again: %v", err)
	}
}

func TestATokenMustBeOursAndFresh(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	fresh := a.token()
	for name, tc := range map[string]struct {
		header string
		after  time.Duration
		code   string
	}{
		"none":         {"", 0, "AuthenticationFailed"},
		"nonsense":     {"Bearer abc", 0, "InvalidAuthenticationToken"},
		"forged":       {"Bearer " + fresh[:len(fresh)-4] + "AAAA", 0, "InvalidAuthenticationToken"},
		"expired":      {"Bearer " + fresh, time.Hour, "ExpiredAuthenticationToken"},
		"ours, fresh":  {"Bearer " + fresh, 59 * time.Minute, ""},
		"not a bearer": {"Basic " + fresh, 0, "AuthenticationFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			start := a.now
			defer func() { a.now = start }()
			a.advance(tc.after)
			resp, body := a.wireFrom("", "GET", "https://management.azure.test"+setPath+version, "", "Authorization", tc.header)
			if got := resp.Header.Get("X-Ms-Error-Code"); got != tc.code {
				t.Errorf("got %q, want %q: %s", got, tc.code, body)
			}
			if challenge := resp.Header.Get("WWW-Authenticate"); (challenge != "") != (tc.code != "") {
				t.Errorf("status %d with challenge %q", resp.StatusCode, challenge)
			}
		})
	}
}

func TestSigningInNeedsTheSecretOrAnAssertion(t *testing.T) {
	a := newAzure(t)
	a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: "workload", Federated: true}))
	const assertion = "&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&client_assertion=x"
	for name, tc := range map[string]struct {
		tenant, form string
		want         string
	}{
		"the secret":         {tenant, "client_id=" + clientID + "&client_secret=s3cret", "access_token"},
		"a wrong secret":     {tenant, "client_id=" + clientID + "&client_secret=x", "AADSTS7000215"},
		"no secret":          {tenant, "client_id=" + clientID, "AADSTS7000218"},
		"an assertion":       {tenant, "client_id=workload" + assertion, "access_token"},
		"a stray assertion":  {tenant, "client_id=" + clientID + assertion, "AADSTS7000218"},
		"an unknown client":  {tenant, "client_id=x&client_secret=s3cret", "AADSTS700016"},
		"the wrong tenant":   {"other", "client_id=" + clientID + "&client_secret=s3cret", "AADSTS700016"},
		"an empty assertion": {tenant, "client_id=workload&client_secret=", "AADSTS7000218"},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := a.wireFrom("", "POST", "https://login.azure.test/"+tc.tenant+"/oauth2/v2.0/token",
				"grant_type=client_credentials&scope=https://management.azure.test/.default&"+tc.form)
			if !strings.Contains(body, tc.want) {
				t.Errorf("got %s, want %s", body, tc.want)
			}
		})
	}
}

func TestTheMetadataServiceIsStrict(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	const good = "/instance?api-version=2021-12-13"
	for name, tc := range map[string]struct {
		method, path string
		header       []string
		status       int
		want         string
	}{
		"no header":                {"GET", good, nil, 400, `Required metadata header not specified`},
		"forwarded":                {"GET", good, []string{"Metadata", "true", "X-Forwarded-For", "10.0.0.9"}, 400, "X-Forwarded-For"},
		"no version":               {"GET", "/instance", []string{"Metadata", "true"}, 400, `"newest-versions":["2025-04-07","2024-07-17","2024-03-15"]`},
		"unknown version":          {"GET", "/instance?api-version=2020-02-30", []string{"Metadata", "true"}, 400, "aka.ms/azureimds"},
		"versions without one":     {"GET", "/versions", []string{"Metadata", "true"}, 200, "2017-03-01"},
		"a repeated parameter":     {"GET", good + "&format=json&format=text", []string{"Metadata", "true"}, 400, "Duplicate query parameter"},
		"a write":                  {"POST", good, []string{"Metadata", "true"}, 405, ""},
		"a leaf as text":           {"GET", "/instance/compute/vmScaleSetName?api-version=2021-12-13&format=text", []string{"Metadata", "true"}, 200, "agents"},
		"a name below a list":      {"GET", "/instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress?api-version=2021-12-13&format=text", []string{"Metadata", "true"}, 200, "10.0.0.4"},
		"what is not there":        {"GET", "/instance/compute/nope?api-version=2021-12-13&format=text", []string{"Metadata", "true"}, 404, ""},
		"no events are a document": {"GET", "/scheduledevents?api-version=2020-07-01", []string{"Metadata", "true"}, 200, `{"DocumentIncarnation":0,"Events":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := a.wireFrom("agents_0", tc.method, imds+tc.path, "", tc.header...)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %s, want %d %s", resp.StatusCode, body, tc.status, tc.want)
			}
		})
	}
}

func TestTheInstanceDocumentDescribesTheMachine(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.machine(false)
	for vm, want := range map[string]map[string]string{
		"agents_0": {
			"name": "agents_0", "vmId": a.Machines()[1].VMID, "vmScaleSetName": "agents", "zone": "1", "vmSize": "Standard_D4s_v5",
			"resourceId": setPath + "/virtualMachines/0", "resourceGroupName": group, "subscriptionId": subscription,
		},
		"server-0": {
			"name": "server-0", "vmId": a.Machines()[0].VMID, "vmScaleSetName": "", "tags": "a:1;b:2", "computerName": "server-0",
		},
	} {
		_, body := a.wireFrom(vm, "GET", imds+"/instance?api-version=2021-12-13", "", "Metadata", "true")
		for key, value := range want {
			if got := field(t, body, "compute", key); got != value {
				t.Errorf("%s: %s is %v, want %s", vm, key, got, value)
			}
		}
	}
}

func TestADeletedMachineHasNoMetadataService(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.must(a.DeleteMachine("agents_0"))
	a.advance(time.Minute)
	for _, from := range []string{"agents_0", ""} {
		if _, err := a.Client(from).Get(imds + "/versions"); err == nil {
			t.Errorf("the service answers on %q", from)
		}
	}
}
