package azuresim_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// founding is what founds a cluster, in small: a machine whose own identity reads a secret, and may read the machines of the group.
const founding = `{
  "resources": [
    {"type": "Microsoft.KeyVault/vaults", "name": "vault1", "apiVersion": "2023-07-01", "location": "westeurope",
     "properties": {"tenantId": "[subscription().tenantId]", "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": true}},
    {"type": "Microsoft.KeyVault/vaults/secrets", "name": "vault1/door", "apiVersion": "2023-07-01", "dependsOn": ["vault1"], "properties": {"value": "hush"}},
    {"type": "Microsoft.Network/networkInterfaces", "name": "server-nic", "apiVersion": "2024-05-01", "location": "westeurope",
     "properties": {"ipConfigurations": [{"name": "one", "properties": {"subnet": {"id": "/subnets/one"}}}]}},
    {"type": "Microsoft.Compute/virtualMachines", "name": "server", "apiVersion": "2024-07-01", "location": "westeurope", "dependsOn": ["server-nic"],
     "identity": {"type": "SystemAssigned"}, "properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v5"},
       "storageProfile": {"osDisk": {"createOption": "FromImage", "deleteOption": "Delete"}},
       "networkProfile": {"networkInterfaces": [{"id": "[resourceId('Microsoft.Network/networkInterfaces', 'server-nic')]"}]}}},
    {"type": "Microsoft.Authorization/roleAssignments", "name": "[guid('vault')]", "apiVersion": "2022-04-01", "scope": "[resourceId('Microsoft.KeyVault/vaults', 'vault1')]",
     "dependsOn": ["vault1", "server"], "properties": {"principalId": "[reference('server', '2024-07-01', 'Full').identity.principalId]", "principalType": "ServicePrincipal",
       "roleDefinitionId": "[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '4633458b-17de-408a-b874-0445c86b69e6')]"}},
    {"type": "Microsoft.Authorization/roleAssignments", "name": "[guid('group')]", "apiVersion": "2022-04-01",
     "dependsOn": ["server"], "properties": {"principalId": "[reference('server', '2024-07-01', 'Full').identity.principalId]", "principalType": "ServicePrincipal",
       "roleDefinitionId": "[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'acdd72a7-3385-48ef-bd42-f606fba81ae7')]"}}
  ]}`

// found deploys a template under a name, to the end, and is what its operation says then.
func (a *azure) found(name, source, parameters string) string {
	a.t.Helper()
	resp, body := a.wire("PUT", deploymentPath+name+armVersion, deploymentBody(source, parameters))
	if resp.StatusCode >= http.StatusBadRequest {
		return body
	}
	a.advance(10 * time.Minute)
	return a.status(resp)
}

// asMachine asks with a token of the server's own identity.
func (a *azure) asMachine(audience, url string) (int, string) {
	a.t.Helper()
	_, body := a.wireFrom("server", "GET", "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="+audience, "", "Metadata", "true")
	token, _ := field(a.t, body, "access_token").(string)
	resp, body := a.wireFrom("", "GET", url, "", "Authorization", "Bearer "+token)
	return resp.StatusCode, body
}

// A machine that is up early has no right yet, neither at Resource Manager nor at the vault, and has it later without anybody doing more.
func TestRolesOfATemplateActWithDelay(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.RoleDelay = 5 * time.Minute })
	a.group()
	resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(founding, `{}`))
	if resp.StatusCode != http.StatusCreated {
		t.Fatal(body)
	}
	door, machines := "https://vault1.vault.azure.net/secrets/door?api-version=7.4", "https://management.azure.test"+groupPath+"/providers/Microsoft.Compute/virtualMachines"+version
	want := func(status int) {
		t.Helper()
		for url, audience := range map[string]string{door: "https://vault.azure.net", machines: "https://management.azure.test"} {
			if got, body := a.asMachine(audience, url); got != status {
				t.Errorf("%s: %d %s, want %d", url, got, body, status)
			}
		}
	}
	a.advance(time.Minute) // the machine boots already, and no assignment is made before it is there
	want(http.StatusForbidden)
	a.advance(time.Minute)
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Fatal(got)
	}
	want(http.StatusForbidden)
	a.advance(5*time.Minute - time.Second)
	want(http.StatusForbidden)
	a.advance(time.Second)
	want(http.StatusOK)
}

// Without a principal type the directory is asked, which does not know an identity that was made a moment ago.
func TestARoleForANewIdentityNeedsItsType(t *testing.T) {
	for _, who := range []string{"its type", "patience"} {
		a := newAzure(t)
		a.group()
		source := founding
		if who == "patience" {
			source = strings.ReplaceAll(founding, `, "principalType": "ServicePrincipal"`, "")
		}
		source = strings.ReplaceAll(source, "/subnets/one", "/subnets/"+who)
		a.Boot = azuresim.Fixed(time.Second)
		got := a.found("first", source, `{}`)
		if refused := strings.Contains(got, "PrincipalNotFound"); refused != (who == "patience") {
			t.Errorf("%s: %s", who, got)
		}
		if got = a.found("first", source, `{}`); got != `{"status":"Succeeded"}` {
			t.Errorf("%s, the second time: %s", who, got)
		}
	}
}

const vaultPath = groupPath + "/providers/Microsoft.KeyVault/vaults/vault1?api-version=2023-07-01"

// deletedVault is the path of what can be done with the vault that was deleted.
func deletedVault(verb string) string {
	return "/subscriptions/" + subscription + "/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/vault1" + verb + "?api-version=2023-07-01"
}

const justVault = `{"resources": [
  {"type": "Microsoft.KeyVault/vaults", "name": "vault1", "apiVersion": "2023-07-01", "location": "westeurope", "tags": {"a": "b"},
   "properties": {"tenantId": "[subscription().tenantId]", "sku": {"family": "A", "name": "standard"}, "softDeleteRetentionInDays": 7, MORE}},
  {"type": "Microsoft.KeyVault/vaults/secrets", "name": "vault1/door", "apiVersion": "2023-07-01", "dependsOn": ["vault1"], "properties": {"value": "hush"}}]}`

func (a *azure) vaultNamed(want string) {
	a.t.Helper()
	_, body := a.wire("POST", "/subscriptions/"+subscription+"/providers/Microsoft.KeyVault/checkNameAvailability?api-version=2023-07-01",
		`{"name":"vault1","type":"Microsoft.KeyVault/vaults"}`)
	got, _ := field(a.t, body, "reason").(string)
	if got != want {
		a.t.Errorf("the name of the vault: %s, want %q", body, want)
	}
}

// A vault that is deleted keeps its name, and comes back with its secrets, until it is purged.
func TestADeletedVaultKeepsItsName(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	source := strings.Replace(justVault, ", MORE", "", 1)
	succeeded := `{"status":"Succeeded"}`
	a.vaultNamed("")
	if got := a.found("first", source, `{}`); got != succeeded {
		t.Fatal(got)
	}
	a.vaultNamed("AlreadyExists")
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Key Vault Secrets User", Principal: clientID, Scope: strings.TrimSuffix(vaultPath, "?api-version=2023-07-01")}))
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Owner", Principal: clientID, Scope: "/subscriptions/" + subscription}))
	if resp, body := a.wire("DELETE", vaultPath, ""); resp.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	if resp, _ := a.wire("GET", vaultPath, ""); resp.StatusCode != http.StatusNotFound {
		t.Error("the deleted vault is still there:", resp.StatusCode)
	}
	_, body := a.wire("GET", "/subscriptions/"+subscription+"/providers/Microsoft.KeyVault/deletedVaults?api-version=2023-07-01", "")
	if !strings.Contains(body, `"name":"vault1"`) || !strings.Contains(body, `"deletionDate":"2026-05-01T22:10:00.`) || !strings.Contains(body, `"scheduledPurgeDate":"2026-05-08T22:10:00.`) {
		t.Error(body)
	}
	a.vaultNamed("AlreadyExists")
	if got := a.found("again", source, `{}`); !strings.Contains(got, "ConflictError") {
		t.Error("the same vault anew:", got)
	}
	a.must(a.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "other", Location: "westeurope"}))
	elsewhere := strings.Replace(deploymentPath, group, "other", 1) + "x" + armVersion
	resp, _ := a.wire("PUT", elsewhere, deploymentBody(source, `{}`))
	a.advance(time.Minute)
	if got := a.status(resp); !strings.Contains(got, "VaultAlreadyExists") {
		t.Error("one of that name elsewhere:", got)
	}

	recovery := strings.Replace(justVault, "MORE", `"createMode": "recover"`, 1)
	if got := a.found("recover", recovery, `{}`); got != succeeded {
		t.Error("recovery:", got)
	}
	a.vaultNamed("AlreadyExists")
	if resp, body := a.wire("GET", strings.Replace(vaultPath, "?", "/secrets/door?", 1), ""); resp.StatusCode != http.StatusOK {
		t.Error("the secret of the recovered vault:", body)
	}
	_, body = a.wire("GET", groupPath+"/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01", "")
	if strings.Contains(body, "vaults/vault1") {
		t.Error("the roles about a deleted vault are not gone:", body)
	}
	if resp, body := a.wire("GET", deletedVault(""), ""); resp.StatusCode != http.StatusNotFound {
		t.Error("recovered, it is listed as deleted:", body)
	}

	a.wire("DELETE", vaultPath, "")
	if resp, body := a.wire("GET", deletedVault(""), ""); resp.StatusCode != http.StatusOK {
		t.Error(body)
	}
	resp, body = a.wire("POST", deletedVault("/purge"), "")
	if resp.StatusCode != http.StatusAccepted {
		t.Fatal(body)
	}
	a.vaultNamed("AlreadyExists") // as long as the purge runs
	a.advance(time.Minute)
	if got := a.status(resp); !strings.Contains(got, `"status":"Succeeded"`) {
		t.Error(got)
	}
	a.vaultNamed("")
	if resp, _ := a.wire("POST", deletedVault("/purge"), ""); resp.StatusCode != http.StatusNotFound {
		t.Error("a second purge:", resp.StatusCode)
	}
	if got := a.found("anew", source, `{}`); got != succeeded {
		t.Error("after the purge:", got)
	}
	a.wire("DELETE", vaultPath, "")
	a.advance(7*24*time.Hour - time.Second)
	a.vaultNamed("AlreadyExists")
	a.advance(time.Second)
	a.vaultNamed("")
}

func TestPurgeProtectionIsForGood(t *testing.T) {
	a := newAzure(t)
	a.group()
	with := func(more string) string { return a.found("d", strings.Replace(justVault, "MORE", more, 1), `{}`) }
	if got := with(`"enablePurgeProtection": true`); got != `{"status":"Succeeded"}` {
		t.Fatal(got)
	}
	for _, more := range []string{`"enablePurgeProtection": false`, `"softDeleteRetentionInDays": 30`} {
		if got := with(more); !strings.Contains(got, "BadRequest") {
			t.Errorf("%s: %s", more, got)
		}
	}
	a.wire("DELETE", vaultPath, "")
	if resp, body := a.wire("POST", deletedVault("/purge"), ""); resp.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(body, "DeletedVaultPurge") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Who may do everything in a resource group may not purge: that is a matter of the subscription.
func TestAPurgeNeedsTheSubscription(t *testing.T) {
	a := newAzure(t)
	a.group()
	a.found("first", strings.Replace(justVault, ", MORE", "", 1), `{}`)
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Owner", Principal: clientID, Scope: groupPath}))
	a.wire("DELETE", vaultPath, "")
	resp, body := a.wire("POST", deletedVault("/purge"), "")
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "Microsoft.KeyVault/locations/deletedVaults/purge/action") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestADeletedSecretComesBackOrIsPurged(t *testing.T) {
	a := newAzure(t)
	a.group()
	a.found("first", strings.Replace(justVault, ", MORE", "", 1), `{}`)
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Owner", Principal: clientID, Scope: groupPath}))
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Key Vault Secrets User", Principal: clientID, Scope: groupPath}))
	token := a.tokenFor("https://vault.azure.net")
	ask := func(method, path, body string, want int, says string) {
		t.Helper()
		resp, got := a.wireFrom("", method, "https://vault1.vault.azure.net/"+path+"?api-version=7.4", body, "Authorization", "Bearer "+token)
		if resp.StatusCode != want || !strings.Contains(got, says) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, resp.StatusCode, got, want, says)
		}
	}
	ask("PUT", "secrets/door", `{"value":"new"}`, 403, "setSecret/action")
	ask("DELETE", "secrets/door", "", 403, "Microsoft.KeyVault/vaults/secrets/delete'")
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Key Vault Secrets Officer", Principal: clientID, Scope: groupPath}))
	ask("PUT", "secrets/door", `{"value":"new"}`, 200, `"value":"new"`)
	ask("GET", "secrets", "", 200, "/secrets/door")
	ask("DELETE", "secrets/door", "", 200, "/deletedsecrets/door")
	ask("GET", "secrets/door", "", 404, "SecretNotFound")
	ask("GET", "deletedsecrets", "", 200, `"scheduledPurgeDate"`)
	ask("GET", "deletedsecrets/door", "", 200, `"recoveryId"`)
	ask("PUT", "secrets/door", `{"value":"newer"}`, 409, "deleted but recoverable")
	if got := a.found("again", strings.Replace(justVault, ", MORE", "", 1), `{}`); !strings.Contains(got, "deleted but recoverable") {
		t.Error("the template's secret:", got)
	}
	ask("POST", "deletedsecrets/door/recover", "", 200, "/secrets/door")
	ask("GET", "secrets/door", "", 200, `"value":"new"`)
	ask("DELETE", "secrets/door", "", 200, "")
	ask("DELETE", "deletedsecrets/door", "", 204, "")
	ask("POST", "deletedsecrets/door/recover", "", 404, "SecretNotFound")
	ask("PUT", "secrets/door", `{"value":"newest"}`, 200, "newest")
	ask("GET", "keys", "", 405, "BadParameter")
	if resp, _ := a.wire("DELETE", strings.Replace(vaultPath, "?", "/secrets/door?", 1), ""); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Error("Resource Manager deletes no secrets:", resp.StatusCode)
	}
}
