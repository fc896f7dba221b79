package azuresim_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// halfway has a pool that depends on nothing which fails, and a server with an interface.
const halfway = `{"resources": [
  {"type": "Microsoft.Network/networkSecurityGroups", "name": "nodes", "apiVersion": "2024-05-01", "location": "westeurope", "properties": {}},
  {"type": "Microsoft.Network/networkInterfaces", "name": "server-nic", "apiVersion": "2024-05-01", "location": "westeurope", "dependsOn": ["nodes"],
   "properties": {"ipConfigurations": [{"name": "one", "properties": {"subnet": {"id": "/subnets/one"}}}]}},
  {"type": "Microsoft.Compute/virtualMachines", "name": "server", "apiVersion": "2024-07-01", "location": "westeurope", "dependsOn": ["server-nic"],
   "properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v5"}, "storageProfile": {"osDisk": {"createOption": "FromImage", "deleteOption": "Delete"}},
     "networkProfile": {"networkInterfaces": [{"id": "[resourceId('Microsoft.Network/networkInterfaces', 'server-nic')]"}]}}},
  {"type": "Microsoft.Compute/virtualMachineScaleSets", "name": "pool", "apiVersion": "2024-07-01", "location": "westeurope", "dependsOn": ["nodes"],
   "sku": {"name": "Standard_D2s_v5", "capacity": 2}, "properties": {"orchestrationMode": "Uniform", "upgradePolicy": {"mode": "Manual"},
     "virtualMachineProfile": {"osProfile": {"computerNamePrefix": "pool"}, "storageProfile": {}, "networkProfile": {}}}}
]}`

// codes are the codes of an error from the outside in, along the first of its details.
func codes(t *testing.T, status string) (all []string) {
	t.Helper()
	type detail struct {
		Code    string
		Details json.RawMessage
	}
	var got struct{ Error detail }
	if err := json.Unmarshal([]byte(status), &got); err != nil {
		t.Fatal(err)
	}
	next := []detail{got.Error}
	for len(next) > 0 && next[0].Code != "" {
		all = append(all, next[0].Code)
		inner := next[0].Details
		next = nil
		if len(inner) > 0 {
			_ = json.Unmarshal(inner, &next)
		}
	}
	return all
}

// Whatever fails of a deployment: what does not depend on it is made, and the same deployment once more makes the rest and leaves what is there.
func TestADeploymentThatFailedHalfwayGoesOn(t *testing.T) {
	const refused = "DeploymentFailed"
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		codes []string
		there string // of server-nic, server and pool
	}{
		"a quota that others have used up": {
			azuresim.Fault{Kind: "PUT virtualMachines", Status: http.StatusConflict, Code: "OperationNotAllowed", Message: "Operation could not be completed as it results in exceeding approved Cores quota.", Times: 1},
			[]string{refused, "OperationNotAllowed"}, "server-nic pool",
		},
		"a size that is sold out":  {azuresim.Fault{Resource: "*/virtualMachineScaleSets/pool", Status: http.StatusConflict, Code: "SkuNotAvailable", Times: 1}, []string{refused, "SkuNotAvailable"}, "server-nic server"},
		"a conflict":               {azuresim.Fault{Kind: "PUT networkInterfaces", Status: http.StatusConflict, Times: 1}, []string{refused, "Conflict"}, "pool"},
		"a timeout on the way":     {azuresim.Fault{Kind: "PUT networkSecurityGroups", Operation: "Failed", Code: "OperationTimedOut", After: time.Minute, Times: 1}, []string{refused, "ResourceDeploymentFailure", "OperationTimedOut"}, ""},
		"an operation is canceled": {azuresim.Fault{Kind: "PUT networkInterfaces", Operation: "Canceled", After: time.Minute, Times: 1}, []string{refused, "ResourceDeploymentFailure", "OperationPreempted"}, "server-nic pool"},
		"no room for the server": {
			azuresim.Fault{Resource: "*/virtualMachines/server", MachineError: "AllocationFailed", Times: 1},
			[]string{refused, "ResourceDeploymentFailure", "AllocationFailed"}, "server-nic server pool",
		},
		"a server that does not come up": {
			azuresim.Fault{Resource: "*/virtualMachines/server", MachineError: "OSProvisioningTimedOut", Times: 1},
			[]string{refused, "ResourceDeploymentFailure", "OSProvisioningTimedOut"}, "server-nic server pool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t, patient)
			a.group()
			there := func() string {
				var found []string
				for _, path := range []string{"Microsoft.Network/networkInterfaces/server-nic", "Microsoft.Compute/virtualMachines/server", "Microsoft.Compute/virtualMachineScaleSets/pool"} {
					if resp, _ := a.wire("GET", groupPath+"/providers/"+path+version, ""); resp.StatusCode == http.StatusOK {
						found = append(found, path[strings.LastIndexByte(path, '/')+1:])
					}
				}
				return strings.Join(found, " ")
			}
			a.Inject(tc.fault)
			resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(halfway, `{}`))
			if resp.StatusCode != http.StatusCreated {
				t.Fatal(body)
			}
			a.advance(time.Hour)
			if got := codes(t, a.status(resp)); !slices.Equal(got, tc.codes) {
				t.Errorf("codes %q, want %q", got, tc.codes)
			}
			if got := there(); got != tc.there {
				t.Errorf("there is %q, want %q", got, tc.there)
			}
			before := a.Machines()
			if got := a.found("first", halfway, `{}`); got != `{"status":"Succeeded"}` {
				t.Error("once more:", got)
			}
			if got := there(); got != "server-nic server pool" {
				t.Errorf("in the end there is %q", got)
			}
			after := a.Machines()
			if len(after) != 3 {
				t.Errorf("in the end there are %d machines", len(after))
			}
			for _, m := range after {
				if m.ProvisioningState != "Succeeded" || m.PowerState != "running" {
					t.Errorf("%s is %s and %s", m.Name, m.ProvisioningState, m.PowerState)
				}
			}
			for _, m := range before {
				if !slices.ContainsFunc(after, func(o azuresim.MachineState) bool { return o.VMID == m.VMID }) {
					t.Errorf("%s was made anew", m.Name)
				}
			}
		})
	}
}

// What is written again of a machine that has failed does not rewrite what became of the deployment before.
func TestARetryLeavesTheRecordOfTheFailure(t *testing.T) {
	a := newAzure(t, patient, func(s *azuresim.Server) { s.AwaitReports = true })
	a.group()
	source := strings.Replace(halfway, `"capacity": 2`, `"capacity": 0`, 1)
	resp, _ := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(source, `{}`))
	a.advance(20 * time.Minute)
	failed := a.status(resp)
	if got := codes(t, failed); !slices.Equal(got, []string{"DeploymentFailed", "ResourceDeploymentFailure", "OSProvisioningTimedOut"}) {
		t.Fatal(failed)
	}
	server := a.Machines()[0]
	again, _ := a.wire("PUT", deploymentPath+"second"+armVersion, deploymentBody(source, `{}`))
	a.advance(time.Minute)
	if got := a.status(again); got != `{"status":"Running"}` {
		t.Error("it waits once more for the report:", got)
	}
	a.Report(server.VMID, true, "")
	if got := a.status(again); got != `{"status":"Succeeded"}` {
		t.Error(got)
	}
	if got := a.status(resp); got != failed {
		t.Error("the first deployment is now", got)
	}
}

// A deployment that is canceled begins nothing more. What has begun goes on, and the same deployment takes it from there.
func TestACanceledDeploymentIsTakenUpAgain(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	source := strings.Replace(halfway, `"dependsOn": ["nodes"],
   "sku"`, `"dependsOn": ["server"],
   "sku"`, 1)
	resp, _ := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(source, `{}`))
	a.advance(time.Minute)
	if resp, body := a.wire("POST", deploymentPath+"first/cancel"+armVersion, ""); resp.StatusCode != http.StatusNoContent {
		t.Fatal(body)
	}
	if got := field(t, a.status(resp), "status"); got != "Canceled" {
		t.Error(got)
	}
	if resp, body := a.wire("POST", deploymentPath+"first/cancel"+armVersion, ""); resp.StatusCode != http.StatusConflict {
		t.Error("a second cancel:", body)
	}
	a.advance(time.Hour)
	if all := a.Machines(); len(all) != 1 || all[0].ProvisioningState != "Succeeded" {
		t.Errorf("after the cancel there is %+v", all)
	}
	if got := a.found("first", source, `{}`); got != `{"status":"Succeeded"}` || len(a.Machines()) != 3 {
		t.Error(got, len(a.Machines()))
	}
}

// Sizes that are not to be had are refused before anything is made.
func TestPreflightKnowsTheSizes(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	a.must(a.AddSKU(azuresim.SKU{Name: "Standard_D2s_v5", Family: "standardDSv5Family", VCPUs: 2, MemoryGB: 8, Locations: []string{"northeurope"}}))
	resp, body := a.wire("PUT", deploymentPath+"first"+armVersion, deploymentBody(halfway, `{}`))
	if resp.StatusCode != http.StatusBadRequest || field(t, body, "error", "code") != "InvalidTemplateDeployment" || strings.Count(body, `"SkuNotAvailable"`) != 2 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
