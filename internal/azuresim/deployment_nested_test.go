package azuresim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// vaulted is a template with a vault, a secret of it, an identity that may read it, and a share in another resource group.
const vaulted = `{
  "parameters": {"key": {"type": "securestring", "defaultValue": ""}},
  "resources": [
    {"type": "Microsoft.KeyVault/vaults", "name": "vault1", "apiVersion": "2023-07-01", "location": "westeurope",
     "properties": {"tenantId": "[subscription().tenantId]", "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": true}},
    {"type": "Microsoft.KeyVault/vaults/secrets", "name": "vault1/word", "apiVersion": "2023-07-01", "condition": "[not(empty(parameters('key')))]",
     "dependsOn": ["[resourceId('Microsoft.KeyVault/vaults', 'vault1')]"], "properties": {"value": "[parameters('key')]"}},
    {"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "name": "who", "apiVersion": "2023-01-31", "location": "westeurope"},
    {"type": "Microsoft.Authorization/roleAssignments", "name": "[guid('a')]", "apiVersion": "2022-04-01", "scope": "[resourceId('Microsoft.KeyVault/vaults', 'vault1')]",
     "dependsOn": ["vault1"], "properties": {"principalId": "[reference('who', '2023-01-31').principalId]", "principalType": "ServicePrincipal",
       "roleDefinitionId": "[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '4633458b-17de-408a-b874-0445c86b69e6')]"}},
    {"type": "Microsoft.Resources/deployments", "name": "kept", "apiVersion": "2024-03-01", "resourceGroup": "kept", "properties": {
      "mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
      "parameters": {"who": {"value": "[reference('who', '2023-01-31').principalId]"}},
      "template": {"parameters": {"who": {"type": "string"}}, "resources": [
        {"type": "Microsoft.Storage/storageAccounts", "name": "[concat('st', uniqueString(resourceGroup().id))]", "apiVersion": "2023-05-01", "location": "westeurope",
         "tags": {"for": "[parameters('who')]"}, "properties": {}},
        {"type": "Microsoft.Compute/disks", "name": "disk", "apiVersion": "2024-03-02", "location": "westeurope",
         "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 4}}]}}}
  ]}`

func TestANestedDeploymentGoesIntoItsOwnResourceGroup(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "kept", Location: "westeurope"}))
	resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(vaulted, `{"key":{"value":"hush"}}`))
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	a.advance(time.Hour)
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Fatal(got)
	}
	kept := "/subscriptions/" + subscription + "/resourcegroups/kept/providers/"
	if resp, body := a.wire("GET", kept+"Microsoft.Compute/disks/disk"+version, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("the disk: %d %s", resp.StatusCode, body)
	}
	_, body = a.wire("GET", kept+"Microsoft.Resources/deployments/kept"+armVersion, "")
	if state := field(t, body, "properties", "provisioningState"); state != "Succeeded" {
		t.Errorf("the nested deployment: %v", state)
	}
	_, body = a.wire("GET", groupPath+"/providers/Microsoft.KeyVault/vaults/vault1/secrets/word"+version, "")
	if strings.Contains(body, "hush") || field(t, body, "properties", "secretUri") != "https://vault1.vault.azure.net/secrets/word" {
		t.Errorf("the secret: %s", body)
	}
}

func TestAFailureOfANestedDeploymentFailsTheOuterOne(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "kept", Location: "westeurope"}))
	a.Inject(azuresim.Fault{Kind: "PUT disks", Status: http.StatusConflict, Code: "SkuNotAvailable", Times: 1})
	resp, _ := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(vaulted, `{}`))
	a.advance(time.Hour)
	if got := a.status(resp); !strings.Contains(got, `"status":"Failed"`) || !strings.Contains(got, "SkuNotAvailable") {
		t.Error(got)
	}

	b := newAzure(t, patient) // and one into a resource group that is not there
	b.group()
	resp, _ = b.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(vaulted, `{}`))
	b.advance(time.Hour)
	if got := b.status(resp); !strings.Contains(got, "ResourceGroupNotFound") {
		t.Error(got)
	}
}

func TestAMissingDependsOnIsRefused(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	for what, source := range map[string]string{
		"a reference": strings.Replace(network, `"dependsOn": ["[resourceId('Microsoft.Network/routeTables', 'routes')]"],`,
			`"tags": {"routes": "[resourceId('Microsoft.Network/routeTables', 'routes')]"},`, 1),
		"a parent": strings.Replace(network, `"dependsOn": ["[resourceId('Microsoft.Compute/virtualMachineScaleSets', 'pool')]"],`, "", 1),
	} {
		resp, _ := a.wire("PUT", deploymentPath+strings.ReplaceAll(what, " ", "-")+armVersion, deploymentBody(source, `{"count":{"value":0}}`))
		a.advance(time.Hour)
		if got := a.status(resp); !strings.Contains(got, "InvalidResourceReference") {
			t.Errorf("%s: %s", what, got)
		}
	}
}

func TestASecretIsReadByTheIdentityThatHasTheRole(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "kept", Location: "westeurope"}))
	a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(vaulted, `{"key":{"value":"hush"}}`))
	a.advance(time.Hour)
	ask := func(token string) (int, string) {
		t.Helper()
		resp, body := a.wireFrom("", "GET", "https://vault1.vault.azure.net/secrets/word?api-version=7.4", "", "Authorization", "Bearer "+token)
		return resp.StatusCode, body
	}
	if status, body := ask(a.token()); status != http.StatusUnauthorized || !strings.Contains(body, "AKV10000") {
		t.Errorf("a token for Resource Manager: %d %s", status, body)
	}
	vaultToken := a.tokenFor("https://vault.azure.net")
	if status, body := ask(vaultToken); status != http.StatusForbidden {
		t.Errorf("without a role: %d %s", status, body)
	}
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Key Vault Secrets User", Principal: clientID, Scope: groupPath}))
	if status, body := ask(vaultToken); status != http.StatusOK || field(t, body, "value") != "hush" {
		t.Errorf("with it: %d %s", status, body)
	}
}

func TestAWhatIfSaysWhatWouldChange(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "kept", Location: "westeurope"}))
	whatIf := func(source string) string {
		t.Helper()
		resp, body := a.wire("POST", deploymentPath+"x/whatIf"+armVersion, deploymentBody(source, `{"count":{"value":2}}`))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		var kinds []string
		for _, change := range field(t, body, "properties", "changes").([]any) {
			kinds = append(kinds, change.(map[string]any)["changeType"].(string))
		}
		return strings.Join(kinds, " ")
	}
	if got := whatIf(network); got != "Create Create Create" {
		t.Errorf("before: %s", got)
	}
	a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(network, `{"count":{"value":2}}`))
	a.advance(time.Hour)
	if got := whatIf(network); got != "NoChange NoChange NoChange" {
		t.Errorf("the same: %s", got)
	}
	if got := whatIf(strings.Replace(network, `"a": "b"`, `"a": "c"`, 1)); got != "Modify NoChange NoChange" {
		t.Errorf("another tag: %s", got)
	}
}

// TestADeploymentMayBeWrittenAsAzWritesIt sends a body with a name without quotes, comments and commas too many.
func TestADeploymentMayBeWrittenAsAzWritesIt(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	body := `{"properties": {"parameters": {"count": {"value": 0}, }, "mode": "incremental", template:` +
		strings.Replace(network, `"resources": [`, "// what there is, \"and\" how\n/* much: */ \"resources\": [", 1) + `}, /* end */ }`
	resp, answer := a.wire("PUT", deploymentPath+"first"+armVersion, body)
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, answer)
	}
	for _, broken := range []string{`{"properties"`, `{"a": "`, `{/*`, `{a`, `,`, `"\`, `//`} {
		if resp, _ := a.wire("PUT", deploymentPath+"second"+armVersion, broken); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", broken, resp.StatusCode)
		}
	}
}
