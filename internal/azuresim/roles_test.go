package azuresim_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	groupScope = "/subscriptions/" + subscription + "/resourceGroups/" + group
	subnetID   = groupScope + "/providers/Microsoft.Network/virtualNetworks/farm/subnets/agents"
	scaleActs  = "Microsoft.Compute/virtualMachineScaleSets/"
	joinSubnet = "Microsoft.Network/virtualNetworks/subnets/join/action"
	worker     = "worker"
)

// worker signs in as a second application, which has no role yet.
func (a *azure) worker() (ask func(method, path, body string) (*http.Response, string)) {
	a.t.Helper()
	a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: worker, ObjectID: "worker-object", Secret: "w"}))
	_, body := a.wireFrom("", "POST", "https://login.azure.test/"+tenant+"/oauth2/v2.0/token",
		"grant_type=client_credentials&scope=https://management.azure.test/.default&client_id="+worker+"&client_secret=w")
	bearer, _ := field(a.t, body, "access_token").(string)
	return func(method, path, body string) (*http.Response, string) {
		a.t.Helper()
		return a.wireFrom("", method, "https://management.azure.test"+path, body, "Authorization", "Bearer "+bearer)
	}
}

// role gives the worker a role of these actions at a scope.
func (a *azure) role(scope string, actions ...string) {
	a.t.Helper()
	a.must(a.AddRole(azuresim.Role{Name: "scaler", Actions: actions}))
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "scaler", Principal: worker, Scope: scope}))
}

// withSubnet puts the agents into a subnet and gives them an identity.
func (a *azure) withSubnet() {
	a.t.Helper()
	a.agents(1)
	resp, body := a.wire("PATCH", setPath+version, `{"identity":{"type":"UserAssigned","userAssignedIdentities":{"`+identityID+`node":{}}},
		"properties":{"virtualMachineProfile":{"networkProfile":{"networkInterfaceConfigurations":[{"name":"nic","properties":{"ipConfigurations":[
		{"name":"ip","properties":{"subnet":{"id":"`+subnetID+`"},"loadBalancerBackendAddressPools":[{"id":"`+groupScope+`/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/p"}]}}]}}]}}}}`)
	if resp.StatusCode != http.StatusOK {
		a.t.Fatal(body)
	}
}

func TestARoleOpensExactlyWhatItGrants(t *testing.T) {
	read, write := scaleActs+"read", scaleActs+"write"
	for name, tc := range map[string]struct {
		scope        string
		actions      []string
		method, path string
		missing      string // the action that the refusal names; "": there is none
	}{
		"the set itself":             {setPath, []string{read}, "GET", setPath, ""},
		"in any letter case":         {strings.ToUpper(groupScope), []string{strings.ToUpper(read)}, "GET", setPath, ""},
		"another action":             {groupScope, []string{read}, "PATCH", setPath, write},
		"a wildcard":                 {groupScope, []string{"Microsoft.Compute/*/read"}, "GET", setPath, ""},
		"a wildcard of another verb": {groupScope, []string{"*/read"}, "DELETE", setPath + "/virtualMachines/0", scaleActs + "virtualMachines/delete"},
		"a set of a similar name":    {setPath[:len(setPath)-1], []string{read}, "GET", setPath, read},
		"above the assignment":       {setPath, []string{read}, "GET", groupScope + "/providers/Microsoft.Compute/virtualMachineScaleSets", read},
		"below the assignment":       {"/subscriptions/" + subscription, []string{scaleActs + "virtualMachines/read"}, "GET", setPath + "/virtualMachines/0", ""},
		"an action by name":          {groupScope, []string{read}, "POST", setPath + "/delete", scaleActs + "delete/action"},
		"the quota":                  {"/subscriptions/" + subscription, []string{read}, "GET", "/subscriptions/" + subscription + "/providers/Microsoft.Compute/locations/westeurope/usages", "Microsoft.Compute/locations/usages/read"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			ask := a.worker()
			a.role(tc.scope, tc.actions...)
			resp, body := ask(tc.method, tc.path+version, "{}")
			if tc.missing == "" {
				if resp.StatusCode != http.StatusOK {
					t.Error(body)
				}
				return
			}
			if resp.Header.Get("X-Ms-Error-Code") != "AuthorizationFailed" || !strings.Contains(body, "'"+tc.missing+"' over scope '") {
				t.Errorf("the refusal does not name %s: %s", tc.missing, body)
			}
			requests := a.Requests()
			if got := requests[len(requests)-1].Action; got != tc.missing {
				t.Errorf("the log says %q", got)
			}
		})
	}
}

func TestNotActionsTakeAwayWhatARoleGrants(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	ask := a.worker()
	a.must(a.AddRoleAssignment(azuresim.RoleAssignment{Role: "Contributor", Principal: worker, Scope: groupScope}))
	if resp, body := ask("GET", setPath+version, ""); resp.StatusCode != http.StatusOK {
		t.Error(body)
	}
	at := groupScope + "/providers/Microsoft.Authorization/roleAssignments/99999999-0000-0000-0000-000000000001?api-version=2022-04-01"
	if resp, body := ask("PUT", at, "{}"); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "roleAssignments/write' over scope '"+groupScope+"'") {
		t.Error(body)
	}
}

func TestAnAssignmentActsAfterItsDelay(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.RoleDelay = 5 * time.Minute })
	a.agents(1)
	ask := a.worker()
	var got []int
	try := func() {
		resp, _ := ask("GET", setPath+version, "")
		got = append(got, resp.StatusCode)
	}
	try()
	a.role(groupScope, "*")
	try()
	a.advance(5*time.Minute - time.Second)
	try()
	a.advance(time.Second)
	try()
	a.must(a.RemoveRoleAssignments(worker))
	try()
	if want := []int{200, 403, 403, 200, 403}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAGrowthNeedsWhatTheModelLinksTo(t *testing.T) {
	const grow = `{"sku":{"capacity":2}}`
	needed := []string{
		"Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
		"Microsoft.Network/loadBalancers/backendAddressPools/join/action",
		joinSubnet,
	}
	for _, missing := range append(needed, "") {
		t.Run("without "+missing, func(t *testing.T) {
			a := newAzure(t)
			a.withSubnet()
			ask := a.worker()
			a.role(groupScope, slices.DeleteFunc(append(slices.Clone(needed), scaleActs+"write"), func(s string) bool { return s == missing })...)
			resp, body := ask("PATCH", setPath+version, grow)
			if missing == "" {
				var got []string
				for _, l := range a.Requests()[len(a.Requests())-1].Linked {
					got = append(got, l.Action)
				}
				if d := cmp.Diff(needed, got); resp.StatusCode != http.StatusOK || d != "" {
					t.Errorf("%d, logged (-want +got):\n%s", resp.StatusCode, d)
				}
				return
			}
			if resp.Header.Get("X-Ms-Error-Code") != "LinkedAuthorizationFailed" || !strings.Contains(body, "perform action(s) '"+missing+"' on the linked scope(s) '") {
				t.Error(body)
			}
			if n := a.capacity(); n != 1 {
				t.Errorf("the refused growth left a capacity of %d", n)
			}
		})
	}
}

func TestRolesAreAssignedOnTheWire(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	ask := a.worker()
	const v = "?api-version=2022-04-01"
	at := groupScope + "/providers/Microsoft.Authorization/"
	definition := "/subscriptions/" + subscription + "/providers/Microsoft.Authorization/roleDefinitions/"
	const reader = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	const first, second, custom = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-00000000000c"
	assign := func(role, principal, kind string) string {
		return `{"properties":{"roleDefinitionId":"` + definition + role + `","principalId":"` + principal + `"` + kind + `}}`
	}
	for _, step := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"a name that is no GUID", "PUT", "roleAssignments/one", assign(reader, "worker-object", ""), 400, "InvalidRoleAssignmentId"},
		{"nobody", "PUT", "roleAssignments/" + first, assign(reader, "nobody", ""), 400, "PrincipalNotFound"},
		{"no such role", "PUT", "roleAssignments/" + first, assign(second, "worker-object", ""), 404, "RoleDefinitionDoesNotExist"},
		{"a reader", "PUT", "roleAssignments/" + first, assign(reader, "worker-object", ""), 201, `"principalType":"ServicePrincipal"`},
		{"the same again", "PUT", "roleAssignments/" + first, assign(reader, "worker-object", ""), 200, first},
		{"under another name", "PUT", "roleAssignments/" + second, assign(reader, "worker-object", ""), 409, "RoleAssignmentExists"},
		{"for another principal", "PUT", "roleAssignments/" + first, assign(reader, "x", `,"principalType":"ServicePrincipal"`), 400, "RoleAssignmentUpdateNotPermitted"},
		{"one whose principal is still unknown", "PUT", "roleAssignments/" + second, assign(reader, "x", `,"principalType":"ServicePrincipal"`), 201, `"x"`},
		{"a role of our own", "PUT", "roleDefinitions/" + custom, `{"properties":{"roleName":"tuner","assignableScopes":["` + groupScope + `"],"permissions":[{"actions":["` + scaleActs + `*"],"notActions":["` + scaleActs + `delete"]}]}}`, 201, "CustomRole"},
		{"found by its name", "GET", "roleDefinitions" + v + "&$filter=roleName%20eq%20'tuner'", "", 200, custom},
		{"the assignments of one", "GET", "roleAssignments" + v + "&$filter=principalId%20eq%20'worker-object'", "", 200, first},
		{"one assignment", "GET", "roleAssignments/" + second, "", 200, second},
		{"taken away", "DELETE", "roleAssignments/" + second, "", 200, second},
		{"taken away twice", "DELETE", "roleAssignments/" + second, "", 204, ""},
		{"not found", "GET", "roleAssignments/" + second, "", 404, "RoleAssignmentNotFound"},
		{"a role in use", "DELETE", "roleDefinitions/" + reader, "", 403, "RoleDefinitionIsBuiltIn"},
	} {
		path := at + step.path
		if !strings.Contains(path, "?") {
			path += v
		}
		resp, body := a.wire(step.method, path, step.body)
		if resp.StatusCode != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: got %d %s, want %d %s", step.name, resp.StatusCode, body, step.status, step.want)
		}
	}
	if resp, body := ask("PATCH", setPath+version, "{}"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a reader writes: %s", body)
	}
	_, body := ask("GET", setPath+"/providers/Microsoft.Authorization/permissions"+v, "")
	var permissions struct {
		Value []struct{ Actions, NotActions []string }
	}
	a.must(json.Unmarshal([]byte(body), &permissions))
	if len(permissions.Value) != 1 || !slices.Equal(permissions.Value[0].Actions, []string{"*/read"}) {
		t.Errorf("a reader's permissions are %s", body)
	}
}

func TestALockStopsWhatItForbids(t *testing.T) {
	for name, tc := range map[string]struct {
		level        azuresim.LockLevel
		scope        string
		method, path string
		body         string
		locked       bool
	}{
		"a delete by id":                     {azuresim.CanNotDelete, groupScope, "POST", setPath + "/delete", `{"instanceIds":["0"]}`, true},
		"a growth is no delete":              {azuresim.CanNotDelete, groupScope, "PATCH", setPath, `{"sku":{"capacity":3}}`, false},
		"a growth of what is read-only":      {azuresim.ReadOnly, setPath, "PATCH", setPath, `{"sku":{"capacity":3}}`, true},
		"a read of what is read-only":        {azuresim.ReadOnly, setPath, "GET", setPath, "", false},
		"a lock beside it":                   {azuresim.ReadOnly, setPath + "-2", "PATCH", setPath, `{"sku":{"capacity":3}}`, false},
		"an instance of a locked collection": {azuresim.CanNotDelete, setPath + "/virtualMachines/0", "DELETE", setPath + "/virtualMachines/0", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(2)
			a.must(a.Lock("keep", tc.scope, tc.level))
			resp, body := a.wire(tc.method, tc.path+version, tc.body)
			if got := resp.Header.Get("X-Ms-Error-Code") == "ScopeLocked"; got != tc.locked {
				t.Fatalf("locked is %v: %s", got, body)
			}
			if !tc.locked {
				return
			}
			if !strings.Contains(body, "locked: '"+tc.scope+"'") {
				t.Errorf("the refusal does not name the lock's scope: %s", body)
			}
			if resp, body := a.wire("DELETE", tc.scope+"/providers/Microsoft.Authorization/locks/KEEP?api-version=2016-09-01", ""); resp.StatusCode != http.StatusOK {
				t.Errorf("unlock: %s", body)
			}
			if resp, body := a.wire(tc.method, tc.path+version, tc.body); resp.StatusCode >= 300 {
				t.Errorf("unlocked: %s", body)
			}
		})
	}
}
