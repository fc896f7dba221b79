package azuresim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

// pool is a template for a pool of machines in an availability set, in the shape
// in which tools for self-managed clusters write them: machines Offset to Count-1.
const pool = `{
  "parameters": {
    "agentpool1Count": {"type": "int", "minValue": 1, "maxValue": 100},
    "agentpool1Offset": {"type": "int", "defaultValue": 0},
    "agentpool1VMSize": {"type": "string", "defaultValue": "Standard_D4s_v5"},
    "customData": {"type": "securestring", "defaultValue": "#!/bin/sh"}
  },
  "variables": {
    "prefix": "k8s-agentpool1-12345678-",
    "count": "[sub(parameters('agentpool1Count'), parameters('agentpool1Offset'))]",
    "set": "[concat('agentpool1-availabilitySet-', '12345678')]",
    "subnet": "[concat(resourceId('Microsoft.Network/virtualNetworks', 'net'), '/subnets/agents')]"
  },
  "resources": [
    {"type": "Microsoft.Network/networkSecurityGroups", "name": "nsg", "apiVersion": "2024-05-01", "location": "[resourceGroup().location]", "properties": {"securityRules": []}},
    {"type": "Microsoft.Network/networkInterfaces", "name": "[concat(variables('prefix'), 'nic-', copyIndex(parameters('agentpool1Offset')))]", "apiVersion": "2024-05-01",
     "location": "[resourceGroup().location]", "dependsOn": ["[concat('Microsoft.Network/networkSecurityGroups/', 'nsg')]"],
     "copy": {"name": "nics", "count": "[variables('count')]"},
     "properties": {"ipConfigurations": [{"name": "ipconfig1", "properties": {"subnet": {"id": "[variables('subnet')]"}}}]}},
    {"type": "Microsoft.Compute/availabilitySets", "name": "[variables('set')]", "apiVersion": "2024-07-01", "location": "[resourceGroup().location]",
     "sku": {"name": "Aligned"}, "properties": {"platformFaultDomainCount": 2, "platformUpdateDomainCount": 3}},
    {"type": "Microsoft.Compute/virtualMachines", "name": "[concat(variables('prefix'), copyIndex(parameters('agentpool1Offset')))]", "apiVersion": "2024-07-01",
     "location": "[resourceGroup().location]", "tags": {"poolName": "agentpool1"},
     "copy": {"name": "vms", "count": "[variables('count')]"},
     "dependsOn": ["[concat('Microsoft.Network/networkInterfaces/', variables('prefix'), 'nic-', copyIndex(parameters('agentpool1Offset')))]", "[concat('Microsoft.Compute/availabilitySets/', variables('set'))]"],
     "properties": {
       "availabilitySet": {"id": "[resourceId('Microsoft.Compute/availabilitySets', variables('set'))]"},
       "hardwareProfile": {"vmSize": "[parameters('agentpool1VMSize')]"},
       "osProfile": {"computerName": "[concat(variables('prefix'), copyIndex(parameters('agentpool1Offset')))]", "customData": "[base64(parameters('customData'))]"},
       "networkProfile": {"networkInterfaces": [{"id": "[resourceId('Microsoft.Network/networkInterfaces', concat(variables('prefix'), 'nic-', copyIndex(parameters('agentpool1Offset'))))]"}]},
       "storageProfile": {"osDisk": {"createOption": "FromImage", "name": "[concat(variables('prefix'), copyIndex(parameters('agentpool1Offset')), '-os')]"}}
     }}
  ]
}`

func poolParameters(count, offset int) string {
	return fmt.Sprintf(`{"agentpool1Count":{"value":%d},"agentpool1Offset":{"value":%d}}`, count, offset)
}

func TestAPoolOfMachinesIsDeployedAndGrown(t *testing.T) {
	a := newAzure(t, patient)
	a.group()
	look := func() []string {
		var seen []string
		for _, m := range a.Machines() {
			seen = append(seen, m.Name+" "+m.ProvisioningState)
		}
		return seen
	}
	resp, body := a.wire("PUT", deploymentPath+"cluster"+armVersion, deploymentBody(pool, poolParameters(2, 0)))
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if diff := cmp.Diff([]string{"k8s-agentpool1-12345678-0 Creating", "k8s-agentpool1-12345678-1 Creating"}, look()); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	a.advance(2 * time.Minute)
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Errorf("status %s", got)
	}
	resp, body = a.wire("PUT", deploymentPath+"grown"+armVersion, deploymentBody(pool, poolParameters(4, 3)))
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	want := []string{"k8s-agentpool1-12345678-0 Succeeded", "k8s-agentpool1-12345678-1 Succeeded", "k8s-agentpool1-12345678-3 Creating"}
	if diff := cmp.Diff(want, look()); diff != "" {
		t.Errorf("grown, with a gap (-want +got):\n%s", diff)
	}
	a.advance(2 * time.Minute)
	if got := a.status(resp); got != `{"status":"Succeeded"}` {
		t.Errorf("status %s", got)
	}
	for _, path := range []string{"Microsoft.Network/networkInterfaces/k8s-agentpool1-12345678-nic-3", "Microsoft.Compute/disks/k8s-agentpool1-12345678-3-os"} {
		if resp, _ := a.wire("GET", groupPath+"/providers/"+path+version, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestPreflightHoldsADeploymentAgainstTheQuota(t *testing.T) {
	a := newAzure(t, patient, func(s *azuresim.Server) {
		s.Quota = map[string]int{"cores": 16, "standardDSv5Family": 10, "virtualMachines": 100}
	})
	a.group()
	if resp, body := a.wire("PUT", deploymentPath+"cluster"+armVersion, deploymentBody(pool, poolParameters(2, 0))); resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	a.advance(time.Hour)
	// Those that exist take nothing: one more is needed, and does not fit.
	resp, body := a.wire("PUT", deploymentPath+"grown"+armVersion, deploymentBody(pool, poolParameters(3, 0)))
	if resp.StatusCode != http.StatusBadRequest || field(t, body, "error", "code") != "InvalidTemplateDeployment" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for _, part := range []string{`"code":"QuotaExceeded"`, "standardDSv5Family Cores quota", "Current Limit: 10, Current Usage: 8, Additional Required: 4"} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q in %s", part, body)
		}
	}
	if strings.Contains(body, "Total Regional") {
		t.Errorf("a quota that is not exceeded: %s", body)
	}
	if got := len(a.Machines()); got != 2 {
		t.Errorf("%d machines, want 2: a refused deployment makes nothing", got)
	}
}
