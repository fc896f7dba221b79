package azuresim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	groupPath      = "/subscriptions/" + subscription + "/resourcegroups/" + group
	deploymentPath = groupPath + "/providers/Microsoft.Resources/deployments/"
	armVersion     = "?api-version=2021-04-01"
)

// network is a template with a route table, a scale set behind it, and an
// extension that waits for the machines.
const network = `{
  "parameters": {"count": {"type": "int"}, "key": {"type": "secureString", "defaultValue": "hush"}},
  "resources": [
    {"type": "Microsoft.Compute/virtualMachineScaleSets/extensions", "name": "pool/agent", "apiVersion": "2024-07-01",
     "dependsOn": ["[resourceId('Microsoft.Compute/virtualMachineScaleSets', 'pool')]"],
     "properties": {"protectedSettings": {"key": "[parameters('key')]"}}},
    {"type": "Microsoft.Compute/virtualMachineScaleSets", "name": "pool", "apiVersion": "2024-07-01", "location": "[resourceGroup().location]",
     "dependsOn": ["[resourceId('Microsoft.Network/routeTables', 'routes')]"],
     "sku": {"name": "Standard_D4s_v5", "capacity": "[parameters('count')]"}, "properties": {"orchestrationMode": "Uniform"}},
    {"type": "Microsoft.Network/routeTables", "name": "routes", "apiVersion": "2024-05-01", "tags": {"a": "b"}, "properties": {"routes": []}}
  ],
  "outputs": {"routes": {"type": "string", "value": "[reference('routes').provisioningState]"}}
}`

func deploymentBody(source, parameters string) string {
	return fmt.Sprintf(`{"properties":{"mode":"Incremental","template":%s,"parameters":%s}}`, source, parameters)
}

// patient takes tokens that have expired: the simulated hours pass faster than
// the client's.
func patient(s *azuresim.Server) { s.AnyToken = true }

// group adds a resource group that holds nothing.
func (a *azure) group() {
	a.t.Helper()
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: group, Location: "westeurope", Tags: map[string]string{"team": "render"}}))
}

// status polls an operation by the URL that a deployment was answered with.
func (a *azure) status(resp *http.Response) string {
	a.t.Helper()
	_, body := a.wireFrom("", "GET", resp.Header.Get("Azure-AsyncOperation"), "", "Authorization", "Bearer "+a.token())
	return body
}

func TestADeploymentMakesItsResourcesInTheirOrder(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":2}}`))
	if resp.StatusCode != http.StatusCreated || field(t, body, "properties", "provisioningState") != "Accepted" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if got := a.status(resp); got != `{"status":"Running"}` {
		t.Errorf("status %s", got)
	}
	look := func() string {
		var seen []string
		for _, path := range []string{
			"Microsoft.Network/routeTables/routes", "Microsoft.Compute/virtualMachineScaleSets/pool",
			"Microsoft.Compute/virtualMachineScaleSets/pool/extensions/agent",
		} {
			resp, _ := a.wire("GET", groupPath+"/providers/"+path+version, "")
			seen = append(seen, fmt.Sprint(resp.StatusCode))
		}
		_, body := a.wire("GET", deploymentPath+"FIRST"+armVersion, "")
		return strings.Join(seen, " ") + " " + field(t, body, "properties", "provisioningState").(string)
	}
	if got := look(); got != "200 200 404 Accepted" {
		t.Errorf("at once: %s", got)
	}
	a.advance(time.Minute)
	if got := look(); got != "200 200 404 Running" {
		t.Errorf("while the machines boot: %s", got)
	}
	next, _ := a.NextChange()
	if want := a.now.Add(time.Minute); !next.Equal(want) {
		t.Errorf("next change %v, want %v", next, want)
	}
	a.advance(time.Hour)
	if got := look(); got != "200 200 200 Succeeded" {
		t.Errorf("at the end: %s", got)
	}
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Errorf("status %s", got)
	}
	_, body = a.wire("GET", deploymentPath+"first"+armVersion, "")
	if got := field(t, body, "properties", "outputs", "routes", "value"); got != "Succeeded" {
		t.Errorf("output %v", got)
	}
	if got := field(t, body, "properties", "duration"); got != "PT2M0S" {
		t.Errorf("duration %v: somebody looked late, which must not matter", got)
	}
	if got := len(a.Machines()); got != 2 {
		t.Errorf("%d machines, want 2", got)
	}
	if _, ok := a.NextChange(); ok {
		t.Error("something is still under way")
	}
}

func TestSecretsOfADeploymentAreNeverShown(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":0},"key":{"value":"s3same"}}`))
	a.advance(time.Hour)
	for _, path := range []string{
		deploymentPath + "first", strings.TrimSuffix(deploymentPath, "/"), deploymentPath + "first/operations",
		groupPath + "/providers/Microsoft.Compute/virtualMachineScaleSets/pool/extensions/agent",
	} {
		resp, body := a.wire("GET", path+armVersion, "")
		if resp.StatusCode != http.StatusOK || strings.Contains(body, "s3same") || strings.Contains(body, `"key"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

func TestAFailedMachineFailsItsDeployment(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.Inject(azuresim.Fault{Kind: "PUT virtualMachineScaleSets", MachineError: "AllocationFailed", Times: 1})
	resp, _ := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":2}}`))
	a.advance(6 * time.Second)
	var got struct {
		Status string
		Error  struct {
			Code, Target string
			Details      []struct {
				Code, Target string
				Details      []struct {
					Code    string
					Details []struct{ Code string }
				}
			}
		}
	}
	a.must(json.Unmarshal([]byte(a.status(resp)), &got))
	if got.Status != "Failed" || got.Error.Code != "DeploymentFailed" || len(got.Error.Details) != 1 {
		t.Fatalf("got %+v", got)
	}
	d := got.Error.Details[0]
	if d.Code != "ResourceDeploymentFailure" || !strings.HasSuffix(d.Target, "/virtualMachineScaleSets/pool") || d.Details[0].Details[0].Code != "AllocationFailed" {
		t.Errorf("details %+v", d)
	}
	if resp, _ := a.wire("GET", groupPath+"/providers/Microsoft.Compute/virtualMachineScaleSets/pool/extensions/agent"+version, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("what waits for a failed resource was made: %d", resp.StatusCode)
	}
	_, body := a.wire("GET", deploymentPath+"first/operations"+armVersion, "")
	if n := strings.Count(body, `"provisioningState":"Failed"`); n != 1 {
		t.Errorf("%d failed operations in %s", n, body)
	}
}

func TestARefusedResourceFailsItsDeploymentAndNotTheRequest(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.Inject(azuresim.Fault{Kind: "PUT virtualMachineScaleSets", Status: http.StatusConflict, Code: "SkuNotAvailable", Times: 1})
	resp, _ := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":2}}`))
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("status %d", resp.StatusCode)
	}
	a.advance(time.Minute)
	if got := a.status(resp); !strings.Contains(got, `"code":"SkuNotAvailable"`) {
		t.Errorf("got %s", got)
	}
}

func TestADeploymentThatCannotGoWellIsRefusedBeforehand(t *testing.T) {
	for name, tc := range map[string]struct {
		body   string
		deny   string
		status int
		want   []string
	}{
		"a broken template":     {deploymentBody(`{"resources":[{"type":"A.B/c","name":"[x]","apiVersion":"1"}]}`, `{}`), "", 400, []string{`"InvalidTemplate"`, "resources[0].name"}},
		"a missing parameter":   {deploymentBody(network, `{}`), "", 400, []string{`"InvalidTemplate"`, "'count' is not provided"}},
		"mode Complete":         {strings.Replace(deploymentBody(network, `{"count":{"value":1}}`), "Incremental", "Complete", 1), "", 400, []string{"mode 'Complete'"}},
		"a link":                {`{"properties":{"mode":"Incremental","templateLink":{"uri":"https://x"}}}`, "", 400, []string{"follows no links"}},
		"no right to one of it": {deploymentBody(network, `{"count":{"value":1}}`), "Microsoft.Network/routeTables/write", 403, []string{`"InvalidTemplateDeployment"`, "template resource 'routes'", "Microsoft.Network/routeTables/write"}},
		"a bad api-version":     {deploymentBody(strings.Replace(network, "2024-05-01", "soon", 1), `{"count":{"value":1}}`), "", 400, []string{`"InvalidTemplateDeployment"`, "'soon' is invalid"}},
		"no right to deploy":    {deploymentBody(network, `{"count":{"value":1}}`), "Microsoft.Resources/deployments/*", 403, []string{`"AuthorizationFailed"`, "Microsoft.Resources/deployments/"}},
	} {
		t.Run(name, func(t *testing.T) {
			for verb, method := range map[string]string{"": "PUT", "/validate": "POST"} {
				a := newAzure(t, patient)
				a.group()
				if tc.deny != "" {
					a.must(a.Deny(clientID, tc.deny))
				}
				resp, body := a.wire(method, deploymentPath+"first"+verb+armVersion, tc.body)
				if resp.StatusCode != tc.status {
					t.Errorf("%s: status %d, want %d", method, resp.StatusCode, tc.status)
				}
				for _, part := range tc.want {
					if !strings.Contains(body, part) {
						t.Errorf("%s: no %q in %s", method, part, body)
					}
				}
				if resp, _ := a.wire("HEAD", deploymentPath+"first"+armVersion, ""); resp.StatusCode != http.StatusNotFound && tc.deny != "Microsoft.Resources/deployments/*" {
					t.Errorf("%s: a refused deployment is remembered: %d", method, resp.StatusCode)
				}
			}
		})
	}
}

func TestDeploymentsAreListedExportedCanceledAndForgotten(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	parameters := `{"count":{"value":1}}`
	if resp, _ := a.wire("POST", deploymentPath+"x/validate"+armVersion, deploymentBody(network, parameters)); resp.StatusCode != http.StatusOK {
		t.Errorf("validate: %d", resp.StatusCode)
	}
	if _, body := a.wire("POST", deploymentPath+"x/whatIf"+armVersion, deploymentBody(network, parameters)); strings.Count(body, `"Create"`) != 3 {
		t.Errorf("what if: %s", body)
	}
	a.wire("PUT", deploymentPath+"one"+armVersion, deploymentBody(network, parameters))
	resp, body := a.wire("PUT", deploymentPath+"One"+armVersion, deploymentBody(network, parameters))
	if resp.StatusCode != http.StatusConflict || !strings.Contains(body, "DeploymentActiveAndUneditable") {
		t.Errorf("again while it runs: %d %s", resp.StatusCode, body)
	}
	if resp, _ := a.wire("DELETE", deploymentPath+"one"+armVersion, ""); resp.StatusCode != http.StatusConflict {
		t.Errorf("delete while it runs: %d", resp.StatusCode)
	}
	a.advance(time.Minute)
	if resp, _ := a.wire("POST", deploymentPath+"one/cancel"+armVersion, ""); resp.StatusCode != http.StatusNoContent {
		t.Errorf("cancel: %d", resp.StatusCode)
	}
	a.advance(time.Hour)
	if resp, _ := a.wire("GET", groupPath+"/providers/Microsoft.Compute/virtualMachineScaleSets/pool/extensions/agent"+version, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a canceled deployment went on: %d", resp.StatusCode)
	}
	if resp, _ := a.wire("PUT", deploymentPath+"one"+armVersion, deploymentBody(network, parameters)); resp.StatusCode != http.StatusOK {
		t.Errorf("again after it ended: %d", resp.StatusCode)
	}
	a.advance(time.Hour)
	a.wire("PUT", deploymentPath+"two"+armVersion, deploymentBody(network, parameters))
	_, body = a.wire("GET", strings.TrimSuffix(deploymentPath, "/")+armVersion+"&$filter=provisioningState%20eq%20'Succeeded'", "")
	if !strings.Contains(body, `"name":"one"`) || strings.Contains(body, `"name":"two"`) {
		t.Errorf("those that succeeded: %s", body)
	}
	_, body = a.wire("POST", deploymentPath+"one/exportTemplate"+armVersion, "")
	var exported struct{ Template any }
	var sent any
	a.must(json.Unmarshal([]byte(body), &exported))
	a.must(json.Unmarshal([]byte(network), &sent))
	if diff := cmp.Diff(sent, exported.Template); diff != "" {
		t.Errorf("exported (-want +got):\n%s", diff)
	}
	resp, _ = a.wire("DELETE", deploymentPath+"one"+armVersion, "")
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("delete: %d", resp.StatusCode)
	}
	if resp, _ := a.wireFrom("", "GET", resp.Header.Get("Location"), "", "Authorization", "Bearer "+a.token()); resp.StatusCode != http.StatusNoContent {
		t.Errorf("result of the delete: %d", resp.StatusCode)
	}
	if resp, _ := a.wire("DELETE", deploymentPath+"one"+armVersion, ""); resp.StatusCode != http.StatusNoContent {
		t.Errorf("delete of what is gone: %d", resp.StatusCode)
	}
}

func TestAResourceGroupRemembersEightHundredDeployments(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	put := func(name string) (*http.Response, string) {
		return a.wire("PUT", deploymentPath+name+armVersion, deploymentBody(`{"resources":[]}`, `{}`))
	}
	for n := range 800 {
		put(fmt.Sprint("d", n))
	}
	a.advance(time.Minute)
	resp, body := put("one-more")
	if resp.StatusCode != http.StatusConflict || !strings.Contains(body, "DeploymentQuotaExceeded") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := put("d7"); resp.StatusCode != http.StatusOK {
		t.Errorf("a repeated one needs no room: %d", resp.StatusCode)
	}
	a.wire("DELETE", deploymentPath+"d8"+armVersion, "")
	if resp, _ := put("one-more"); resp.StatusCode != http.StatusCreated {
		t.Errorf("after a delete: %d", resp.StatusCode)
	}
}

func TestAnIdentityOfADeploymentCanBeGivenARole(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(`{"resources":[
		{"type":"Microsoft.Authorization/roleAssignments","name":"[guid('a')]","apiVersion":"2022-04-01","properties":{
		  "roleDefinitionId":"[subscriptionResourceId('Microsoft.Authorization/roleDefinitions','b24988ac-6180-42a0-ab88-20f7382dd24c')]",
		  "principalId":"[reference('who','2024-11-30').principalId]","principalType":"ServicePrincipal"}},
		{"type":"Microsoft.ManagedIdentity/userAssignedIdentities","name":"who","apiVersion":"2024-11-30","location":"westeurope"}]}`, `{}`))
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	a.advance(time.Minute)
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Fatalf("status %s", got)
	}
	_, body = a.wire("GET", groupPath+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/who?api-version=2024-11-30", "")
	principal := field(t, body, "properties", "principalId").(string)
	_, body = a.wire("GET", groupPath+"/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01", "")
	if !strings.Contains(body, principal) {
		t.Errorf("no assignment of %s in %s", principal, body)
	}
}

func TestWhatADeploymentMadeCanBeChangedAndDeleted(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	table := groupPath + "/providers/Microsoft.Network/routeTables/routes?api-version=2024-05-01"
	if resp, body := a.wire("PUT", strings.Replace(table, "Microsoft.Network/routeTables", "Microsoft.Web/sites", 1), `{}`); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "InvalidResourceType") {
		t.Errorf("put of an unknown type: %d %s", resp.StatusCode, body)
	}
	a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":0}}`))
	a.wire("PATCH", table, `{"tags":{"c":"d"},"properties":{"more":1}}`)
	_, body := a.wire("GET", table, "")
	if field(t, body, "tags", "c") != "d" || field(t, body, "tags", "a") != nil || field(t, body, "properties", "more") != 1.0 || field(t, body, "properties", "routes") == nil {
		t.Errorf("after a patch: %s", body)
	}
	if resp, _ := a.wire("DELETE", table, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("delete: %d", resp.StatusCode)
	}
	if resp, _ := a.wire("GET", table, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("after the delete: %d", resp.StatusCode)
	}
}

func TestResourceGroupsSubscriptionsTenantsAndProviders(t *testing.T) {
	a := newAzure(t, patient)
	a.agents(1)
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "empty", Location: "northeurope"}))
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"a group that holds something": {"GET", groupPath, "", 200, `"name":"rg-Render"`},
		"whether a group exists":       {"HEAD", groupPath, "", 204, ""},
		"whether none exists":          {"HEAD", groupPath + "x", "", 404, ""},
		"all groups":                   {"GET", "/subscriptions/" + subscription + "/resourcegroups", "", 200, `"name":"empty"`},
		"a new group":                  {"PUT", "/subscriptions/" + subscription + "/resourcegroups/new", `{"location":"westeurope","tags":{"a":"b"}}`, 201, `"a":"b"`},
		"a group put again":            {"PUT", groupPath, `{"location":"westeurope"}`, 200, ""},
		"a group that would move":      {"PUT", groupPath, `{"location":"northeurope"}`, 409, "InvalidResourceGroupLocation"},
		"a group in no subscription":   {"PUT", "/subscriptions/none/resourcegroups/new", `{"location":"westeurope"}`, 404, "SubscriptionNotFound"},
		"nothing in an empty group":    {"GET", "/subscriptions/" + subscription + "/resourcegroups/EMPTY/providers/Microsoft.Compute/virtualMachineScaleSets", "", 200, `{"value":[]}`},
		"all subscriptions":            {"GET", "/subscriptions", "", 200, `"subscriptionId":"` + subscription},
		"a subscription":               {"GET", "/subscriptions/" + subscription, "", 200, `"state":"Enabled"`},
		"tenants":                      {"GET", "/tenants", "", 200, `"tenantId"`},
		"a provider":                   {"GET", "/subscriptions/" + subscription + "/providers/microsoft.compute", "", 200, `"resourceType":"virtualMachineScaleSets"`},
		"a provider without types":     {"POST", "/subscriptions/" + subscription + "/providers/Microsoft.Storage/register", "", 200, `"Registered"`},
		"no provider at all":           {"GET", "/subscriptions/" + subscription + "/providers/compute", "", 404, "InvalidResourceNamespace"},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := a.wire(tc.method, tc.path+armVersion, tc.body)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s, want %d with %s", resp.StatusCode, body, tc.status, tc.want)
			}
		})
	}
	if err := a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "EMPTY", Location: "x"}); err == nil {
		t.Error("a group was added twice")
	}
}
