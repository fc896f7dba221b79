package azure

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"
)

func decoded(t *testing.T, doc string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAReplayedTemplateAddsMachinesAndWritesNothingElse(t *testing.T) {
	template := decoded(t, `{
	 "parameters":{"agentsCount":{"type":"int"},"agentsOffset":{"type":"int"},"renderCount":{"type":"int","defaultValue":4},"renderOffset":{"type":"int"},
	   "masterCount":{"type":"int"},"masterOffset":{"type":"int"},"skewOffset":{"type":"int"}},
	 "resources":[
	  {"type":"Microsoft.Network/networkSecurityGroups","name":"[variables('nsgName')]"},
	  {"type":"microsoft.network/routetables","name":"routes"},
	  {"type":"Microsoft.Network/virtualNetworks","name":"net","dependsOn":["[concat('Microsoft.Network/networkSecurityGroups/', variables('nsgName'))]","[resourceId('Microsoft.Network/routeTables', 'routes')]","other"]},
	  {"type":"Microsoft.Compute/virtualMachines","name":"[concat(variables('masterVMNamePrefix'), copyIndex())]","properties":{
	    "hardwareProfile":{"vmSize":"s"},"osProfile":{"computerName":"m","customData":"x"},"storageProfile":{"imageReference":{"id":"i"},"osDisk":{"name":"o"}}}},
	  {"type":"Microsoft.Compute/virtualMachines/extensions","name":"[concat(variables('masterVMNamePrefix'), copyIndex(), '/cse')]"},
	  {"type":"Microsoft.Compute/virtualMachines/extensions","name":"[concat(variables('agentsVMNamePrefix'), copyIndex(), '/cse')]","dependsOn":["[concat('Microsoft.Compute/virtualMachines/extensions/', variables('masterVMNamePrefix'), '0/cse')]"]},
	  {"type":"Microsoft.Compute/virtualMachines","name":"[concat(variables('agentsVMNamePrefix'), copyIndex())]","properties":{"hardwareProfile":{"vmSize":"s"},"osProfile":{"customData":"x"}}}
	 ]}`)
	parameters := decoded(t, `{"agentsCount":{"value":2},"masterCount":{"value":3},"undeclared":{"value":1}}`)
	gotTemplate, gotParameters, err := replay(template, parameters, "agents", 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := decoded(t, `{"resources":[
	  {"type":"Microsoft.Network/virtualNetworks","name":"net","dependsOn":["other"]},
	  {"type":"Microsoft.Compute/virtualMachines","name":"[concat(variables('masterVMNamePrefix'), copyIndex())]","properties":{
	    "hardwareProfile":{},"osProfile":{"computerName":"m"},"storageProfile":{"osDisk":{"name":"o"}}}},
	  {"type":"Microsoft.Compute/virtualMachines/extensions","name":"[concat(variables('agentsVMNamePrefix'), copyIndex(), '/cse')]","dependsOn":[]},
	  {"type":"Microsoft.Compute/virtualMachines","name":"[concat(variables('agentsVMNamePrefix'), copyIndex())]","properties":{"hardwareProfile":{"vmSize":"s"},"osProfile":{"customData":"x"}}}]}`)
	if d := cmp.Diff(want["resources"], gotTemplate["resources"]); d != "" {
		t.Errorf("resources (-want +got):\n%s", d)
	}
	raw, _ := json.Marshal(gotParameters)
	wantParameters := `{"agentsCount":{"value":10},"agentsOffset":{"value":7},"masterCount":{"value":3},"renderOffset":{"value":4}}`
	if string(raw) != wantParameters {
		t.Errorf("parameters %s, want %s", raw, wantParameters)
	}
}

func TestATemplateThatCannotBeReplayedIsRefused(t *testing.T) {
	both := `"parameters":{"agentsCount":{},"agentsOffset":{}}`
	for name, tc := range map[string]struct{ template, want string }{
		"without an offset":        {`{"parameters":{"agentsCount":{}},"resources":[]}`, "no parameter agentsOffset"},
		"without parameters":       {`{"resources":[]}`, "no parameter agentsCount"},
		"with two security groups": {`{` + both + `,"resources":[{"type":"Microsoft.Network/networkSecurityGroups"},{"type":"Microsoft.Network/networkSecurityGroups"}]}`, "2 resources of type Microsoft.Network/networkSecurityGroups"},
		"with two route tables":    {`{` + both + `,"resources":[{"type":"Microsoft.Network/routeTables"},{"type":"Microsoft.Network/routeTables"}]}`, "2 resources of type Microsoft.Network/routeTables"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := replay(decoded(t, tc.template), map[string]any{}, "agents", 1, 1); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestOnlyWhatTheMachineUsesIsTagged(t *testing.T) {
	wire := &answering{body: `{}`}
	o := Options{ResourceManagerEndpoint: "https://management.azure.test"}
	s := &standard{arm: newResourceManager(o, runtime.NewPipeline("test", "v0", runtime.PipelineOptions{}, &policy.ClientOptions{Transport: wire}))}
	vm := &armcompute.VirtualMachine{ID: new("/vm/a"), Properties: &armcompute.VirtualMachineProperties{
		VMID:           new("AB-1"),
		StorageProfile: &armcompute.StorageProfile{OSDisk: &armcompute.OSDisk{ManagedDisk: &armcompute.ManagedDiskParameters{ID: new("/disks/a")}}},
	}}
	for user, want := range map[string]bool{"/VM/A": true, "/vm/b": false, "": false} {
		wire.last = nil
		all := map[string]*belonging{"/disks/a": {ID: "/disks/a", ManagedBy: user}}
		if err := s.tag(context.Background(), vm, all); err != nil {
			t.Fatal(err)
		}
		if tagged := wire.last != nil; tagged != want {
			t.Errorf("a disk used by %q is tagged: %t, want %t", user, tagged, want)
		}
	}
}

func TestNamesTellPoolAndNumber(t *testing.T) {
	for name, want := range map[string]struct {
		pool  string
		index int
		ok    bool
	}{
		"k8s-agentpool1-38988164-10": {"agentpool1", 10, true},
		"k8s-gpu-pool-38988164-0":    {"gpu-pool", 0, true},
		"aks-linux-38988164--3":      {"linux", 3, true},
		"3898k8s01012":               {"", 12, true},
		"38988k8s90312":              {"", 12, true},
		"server-0":                   {"", 0, false},
		"k8s-agents-xyz-1":           {"", 0, false},
	} {
		index, ok := indexOf(name)
		if pool := poolOf(name, nil); pool != want.pool || ok != want.ok || ok && index != want.index {
			t.Errorf("%s: pool %q, number %d %t; want %+v", name, pool, index, ok, want)
		}
	}
	tags := map[string]*string{"PoolName": new("by-tag"), "aks-managed-poolName": new("first")}
	if got := poolOf("k8s-agents-12345678-1", tags); got != "first" {
		t.Errorf("pool %q, want that of the first tag, before the name's", got)
	}
}
