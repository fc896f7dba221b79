package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/azuresim/template"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

const (
	subscription = "11111111-1111-1111-1111-111111111111"
	tenant       = "22222222-2222-2222-2222-222222222222"
	givenID      = "/subscriptions/" + subscription + "/resourceGroups/shared/providers/Microsoft.ManagedIdentity/userAssignedIdentities/farm"
	fingerprint  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// azure is a simulated Azure with the resource groups that a file needs.
type azure struct {
	*azuresim.Server
	t   *testing.T
	now time.Time
	f   *clusterfile.File
}

func newAzure(t *testing.T, f *clusterfile.File) *azure {
	t.Helper()
	a := &azure{t: t, f: f, now: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
	a.Server = &azuresim.Server{TenantID: tenant, Now: func() time.Time { return a.now }}
	for _, name := range []string{f.ResourceGroup, f.Storage.ResourceGroup, "shared", "images"} {
		if name == "" {
			continue
		}
		if err := a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: name, Location: f.Region}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		a.AddIdentity(azuresim.Identity{ID: givenID, TenantID: tenant, ClientID: "44444444-4444-4444-4444-444444444444"}),
		a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: "owner", Secret: "s"}),
		a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Owner", Principal: "owner", Scope: "/subscriptions/" + subscription}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// call is a request from a machine, or from none.
func (a *azure) call(machine, method, url, token string, body any) (int, map[string]any) {
	a.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, url, bytes.NewReader(raw))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Metadata", "true")
	resp, err := a.Client(machine).Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	var answer map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			a.t.Fatalf("%s %s: %v in %s", method, url, err, text)
		}
	}
	return resp.StatusCode, answer
}

// token is the owner's.
func (a *azure) token() string {
	a.t.Helper()
	form := strings.NewReader("grant_type=client_credentials&client_id=owner&client_secret=s&scope=https://management.azure.com/.default")
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, "https://login.test/"+tenant+"/oauth2/v2.0/token", form)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := a.Client("").Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		a.t.Fatal(err)
	}
	return answer.AccessToken
}

const manager = "https://management.azure.com"

func (a *azure) deploymentURL(verb string) string {
	return manager + "/subscriptions/" + subscription + "/resourceGroups/" + a.f.ResourceGroup + "/providers/Microsoft.Resources/deployments/cluster" + verb + "?api-version=2021-04-01"
}

// content is a deployment of a rendering with parameters of files and of the caller.
func (a *azure) content(r *render.Rendering, files [][]byte, more map[string]any) map[string]any {
	a.t.Helper()
	parameters := map[string]any{}
	for _, text := range files {
		var file struct{ Parameters map[string]any }
		if err := json.Unmarshal(text, &file); err != nil {
			a.t.Fatal(err)
		}
		maps.Copy(parameters, file.Parameters)
	}
	for name, value := range more {
		parameters[name] = map[string]any{"value": value}
	}
	return map[string]any{"properties": map[string]any{"mode": "Incremental", "template": json.RawMessage(r.Template), "parameters": parameters}}
}

// deploy deploys to the end.
func (a *azure) deploy(content map[string]any) {
	a.t.Helper()
	token := a.token()
	status, answer := a.call("", http.MethodPut, a.deploymentURL(""), token, content)
	if status != http.StatusCreated && status != http.StatusOK {
		a.t.Fatalf("deploy: %d %v", status, answer)
	}
	a.now = a.now.Add(30 * time.Minute)
	_, answer = a.call("", http.MethodGet, a.deploymentURL(""), token, nil)
	if p := answer["properties"].(map[string]any); p["provisioningState"] != "Succeeded" {
		text, _ := json.MarshalIndent(p["error"], "", " ")
		a.t.Fatalf("%v: %s", p["provisioningState"], text)
	}
}

// resources are what the deployment, and those in it, made: what a read shows of each, by id.
func (a *azure) resources() map[string]map[string]any {
	a.t.Helper()
	token, all := a.token(), map[string]map[string]any{}
	var follow func(deployment string)
	follow = func(deployment string) {
		_, answer := a.call("", http.MethodGet, deployment, token, nil)
		for _, made := range answer["properties"].(map[string]any)["outputResources"].([]any) {
			id := made.(map[string]any)["id"].(string)
			if strings.Contains(id, "/deployments/") {
				follow(manager + id + "?api-version=2021-04-01")
				continue
			}
			status, body := a.call("", http.MethodGet, manager+id+"?api-version=2025-04-01", token, nil)
			if status != http.StatusOK {
				a.t.Fatalf("%s: %d %v", id, status, body)
			}
			withoutETags(body)
			all[id] = body
		}
	}
	follow(a.deploymentURL(""))
	return all
}

func TestARenderingIsDeployedAndASecondTimeWithoutAnyChange(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			r := rendered(t, f)
			a := newAzure(t, f)
			key := map[string]any{render.ParameterFingerprint: fingerprint, render.ParameterKey: "key and certificate"}
			a.deploy(a.content(r, [][]byte{r.Parameters, r.First}, key))

			want := 1
			for i := range f.Pools {
				want += f.Pools[i].Min
			}
			if machines := a.Machines(); len(machines) != want {
				t.Errorf("%d machines, want the server and every pool's min: %d", len(machines), want)
			}
			a.canScale()
			a.readsItsKey("key and certificate")

			// Again, as somebody does who has changed nothing, and knows no key any more.
			before, machines := a.resources(), a.Machines()
			again := a.content(r, [][]byte{r.Parameters}, map[string]any{render.ParameterFingerprint: fingerprint})
			_, answer := a.call("", http.MethodPost, a.deploymentURL("/whatIf"), a.token(), again)
			for _, change := range answer["properties"].(map[string]any)["changes"].([]any) {
				if c := change.(map[string]any); c["changeType"] != "NoChange" {
					t.Errorf("what-if: %s %v: %v", c["changeType"], c["resourceId"], c["delta"])
				}
			}
			a.deploy(again)
			after := a.resources()
			for id := range after {
				if diff := cmp.Diff(before[id], after[id]); diff != "" {
					t.Errorf("%s changed (-before +after):\n%s", id, diff)
				}
			}
			if diff := cmp.Diff(names2(machines), names2(a.Machines())); diff != "" {
				t.Errorf("machines (-before +after):\n%s", diff)
			}
		})
	}
}

func names2(machines []azuresim.MachineState) (all []string) {
	for _, m := range machines {
		all = append(all, fmt.Sprint(m.ID, " ", m.ProvisioningState))
	}
	slices.Sort(all)
	return all
}

// serverToken is a token of the server's identity, as a program on the server gets it.
func (a *azure) serverToken(resource string) string {
	a.t.Helper()
	status, answer := a.call(a.f.ServerName(), http.MethodGet, "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="+resource, "", nil)
	if status != http.StatusOK {
		a.t.Fatalf("the server's token: %d %v", status, answer)
	}
	return answer["access_token"].(string)
}

// canScale raises every pool by one as the server's identity, as sluice does, and reads the machines.
func (a *azure) canScale() {
	a.t.Helper()
	token := a.serverToken(manager)
	for i := range a.f.Pools {
		set := manager + "/subscriptions/" + subscription + "/resourceGroups/" + a.f.ResourceGroup + "/providers/Microsoft.Compute/virtualMachineScaleSets/" + a.f.ScaleSet(&a.f.Pools[i])
		status, answer := a.call("", http.MethodPatch, set+"?api-version=2025-04-01", token, map[string]any{"sku": map[string]any{"capacity": a.f.Pools[i].Min + 1}})
		if status != http.StatusOK && status != http.StatusAccepted {
			a.t.Errorf("the server's identity cannot grow %s: %d %v", a.f.Pools[i].Name, status, answer)
		}
	}
	a.now = a.now.Add(30 * time.Minute)
}

// readsItsKey reads the secret as the server does at boot.
func (a *azure) readsItsKey(want string) {
	a.t.Helper()
	if a.f.Secrets != clusterfile.KeyVault {
		return
	}
	_, answer := a.call("", http.MethodGet, a.deploymentURL(""), a.token(), nil)
	vault := answer["properties"].(map[string]any)["outputs"].(map[string]any)["keyVault"].(map[string]any)["value"].(string)
	status, answer := a.call("", http.MethodGet, "https://"+vault+".vault.azure.net/secrets/"+render.JoinSecret+"?api-version=7.4", a.serverToken("https://vault.azure.net"), nil)
	if status != http.StatusOK || answer["value"] != want {
		a.t.Errorf("the server reads its key: %d %v", status, answer)
	}
}

// TestNothingIsLeftToFillIn evaluates what machines are told as Azure does.
func TestNothingIsLeftToFillIn(t *testing.T) {
	for _, name := range names {
		f := load(t, name)
		r := rendered(t, f)
		parameters, _ := json.Marshal(map[string]any{
			render.ParameterFingerprint: map[string]any{"value": fingerprint}, render.ParameterNew: map[string]any{"value": []string{"server", "network"}},
		})
		d, err := template.Evaluate(r.Template, parameters, template.Scope{SubscriptionID: subscription, TenantID: tenant, ResourceGroup: f.ResourceGroup, Location: f.Region})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, resource := range d.Resources {
			body, err := resource.Body(func(string, bool) (map[string]any, error) {
				return map[string]any{
					"vaultUri": "https://x.vault.azure.net/", "ipAddress": "203.0.113.9", "clientId": "client", "principalId": "p",
					"identity": map[string]any{"principalId": "p"},
				}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(body)
			for _, after := range strings.Split(string(raw), `"customData":"`)[1:] {
				encoded, _, _ := strings.Cut(after, `"`)
				text, err := base64.StdEncoding.DecodeString(encoded)
				if err != nil {
					t.Fatal(err)
				}
				if seen++; strings.Contains(string(text), "@@") || !strings.HasPrefix(string(text), "#cloud-config\n") {
					at := strings.Index(string(text), "@@")
					t.Errorf("%s, %s: something is left to fill in: %.60q", name, resource.Name, string(text[max(at-20, 0):]))
				}
			}
		}
		if seen != 1+len(f.Pools) {
			t.Errorf("%s: %d machines", name, seen)
		}
	}
}

// withoutETags takes out what every write changes.
func withoutETags(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "etag")
		for _, item := range v {
			withoutETags(item)
		}
	case []any:
		for _, item := range v {
			withoutETags(item)
		}
	}
}
