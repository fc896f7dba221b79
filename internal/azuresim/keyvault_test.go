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
