package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cloud/cloudtest"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
)

// template is what tools for self-managed clusters deploy: masters and two pools in availability sets, one security group, one route
// table. Machines are numbered from Offset to Count-1.
func template() string {
	pool := func(name, prefix, size string) string {
		index := fmt.Sprintf("copyIndex(parameters('%sOffset'))", name)
		count := fmt.Sprintf("sub(parameters('%[1]sCount'), parameters('%[1]sOffset'))", name)
		vm := fmt.Sprintf("concat(%s, %s)", prefix, index)
		nic := fmt.Sprintf("concat(%s, 'nic-', %s)", prefix, index)
		os := fmt.Sprintf(`{"createOption":"FromImage","name":"[concat(%s, '-os')]","diskSizeGB":64}`, vm)
		return fmt.Sprintf(`
  {"type":"Microsoft.Network/networkInterfaces","name":"[%[2]s]","apiVersion":"2024-05-01","location":"[resourceGroup().location]",
   "copy":{"name":"%[1]sNics","count":"[%[3]s]"},"tags":{"made":"by hand"},
   "dependsOn":["[concat('Microsoft.Network/networkSecurityGroups/', 'nsg')]","[resourceId('Microsoft.Network/routeTables', 'routes')]"],
   "properties":{"ipConfigurations":[{"name":"ipconfig1","properties":{"subnet":{"id":"/subscriptions/x/subnets/agents"}}}]}},
  {"type":"Microsoft.Compute/availabilitySets","name":"%[1]s-set","apiVersion":"2024-07-01","location":"[resourceGroup().location]","properties":{}},
  {"type":"Microsoft.Compute/virtualMachines","name":"[%[4]s]","apiVersion":"2024-07-01","location":"[resourceGroup().location]",
   "copy":{"name":"%[1]sVms","count":"[%[3]s]"},"tags":{"poolName":"%[1]s"},
   "dependsOn":["[concat('Microsoft.Network/networkInterfaces/', %[2]s)]","[resourceId('Microsoft.Compute/availabilitySets', '%[1]s-set')]"],
   "properties":{
     "availabilitySet":{"id":"[resourceId('Microsoft.Compute/availabilitySets', '%[1]s-set')]"},
     "hardwareProfile":{"vmSize":"%[5]s"},
     "osProfile":{"computerName":"[%[4]s]","adminPassword":"[parameters('password')]","customData":"IyEvYmluL3No"},
     "networkProfile":{"networkInterfaces":[{"id":"[resourceId('Microsoft.Network/networkInterfaces', %[2]s)]"}]},
     "storageProfile":{"imageReference":{"id":"/images/linux"},"osDisk":%[6]s,
       "dataDisks":[{"lun":0,"createOption":"Empty","diskSizeGB":32,"name":"[concat(%[4]s, '-data')]"}]}}}`, name, nic, count, vm, size, os)
	}
	return `{"parameters":{
  "masterCount":{"type":"int"},"masterOffset":{"type":"int","defaultValue":0},
  "agentsCount":{"type":"int"},"agentsOffset":{"type":"int","defaultValue":0},
  "renderCount":{"type":"int"},"renderOffset":{"type":"int","defaultValue":0},
  "password":{"type":"secureString"}},
 "variables":{"masterVMNamePrefix":"k8s-master-12345678-"},
 "resources":[
  {"type":"Microsoft.Network/networkSecurityGroups","name":"nsg","apiVersion":"2024-05-01","location":"[resourceGroup().location]","properties":{"securityRules":[]}},
  {"type":"Microsoft.Network/routeTables","name":"routes","apiVersion":"2024-05-01","location":"[resourceGroup().location]","properties":{"routes":[]}},` +
		pool("master", "variables('masterVMNamePrefix')", "Standard_D2s_v5") + "," +
		pool("agents", "'k8s-agents-12345678-'", "Standard_D4s_v5") + "," +
		pool("render", "'k8s-render-12345678-'", "Standard_D4s_v5") + `,
  {"type":"Microsoft.Compute/virtualMachines/extensions","name":"[concat(variables('masterVMNamePrefix'), '0/start')]","apiVersion":"2024-07-01",
   "dependsOn":["[concat('Microsoft.Compute/virtualMachines/', variables('masterVMNamePrefix'), '0')]"],"properties":{"settings":{"run":"once"}}}
 ]}`
}

const clusterParameters = `{"masterCount":{"value":1},"agentsCount":{"value":2},"renderCount":{"value":2},"password":{"value":"s3cret"}}`

// newStandardWorld is an Azure with such a cluster, deployed.
func newStandardWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.call("PUT", "/providers/Microsoft.Resources/deployments/cluster", fmt.Sprintf(`{"properties":{"mode":"Incremental","template":%s,"parameters":%s}}`, template(), clusterParameters))
	w.now = w.now.Add(5 * time.Minute)
	if n := len(w.sim.Machines()); n != 6 {
		t.Fatalf("%d machines were deployed, want 5 beside the server", n)
	}
	return w
}

// call is a request of a person to the resource group.
func (w *world) call(method, path, body string) string {
	w.t.Helper()
	r, err := http.NewRequest(method, "https://management.azure.com/subscriptions/"+subscription+"/resourceGroups/"+resourceGroup+path+"?api-version=2024-07-01", strings.NewReader(body))
	w.must(err)
	r.Header.Set("Authorization", "Bearer any")
	resp, err := w.sim.Client("").Do(r)
	w.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	w.must(err)
	if resp.StatusCode >= 400 {
		w.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	return string(raw)
}

func (w *world) standard(groups ...string) azure.Options {
	o := w.options(groups...)
	o.Kind, o.Deployment = config.Standard, "cluster"
	w.must(json.Unmarshal([]byte(clusterParameters), &o.DeploymentParameters))
	return o
}

// holds says which machines there must be.
func (w *world) holds(machines ...string) {
	w.t.Helper()
	if d := cmp.Diff(machines, w.names("Microsoft.Compute/virtualMachines")); d != "" {
		w.t.Errorf("machines (-want +got):\n%s", d)
	}
}

// names of the resources of a type, without those of the server and of masters.
func (w *world) names(kind string) []string {
	w.t.Helper()
	var list struct {
		Value []struct {
			Name string
			Tags map[string]string
		}
	}
	w.must(json.Unmarshal([]byte(w.call("GET", "/providers/"+kind, "")), &list))
	var names []string
	for _, r := range list.Value {
		if strings.HasPrefix(r.Name, "server") || strings.Contains(r.Name, "master") {
			continue
		}
		name := strings.Replace(r.Name, "-12345678-", "-", 1)
		if _, doomed := r.Tags["sluice.dev_delete-with"]; doomed {
			name += "!"
		}
		names = append(names, strings.TrimPrefix(name, "k8s-"))
	}
	slices.Sort(names)
	return names
}

// everything of the pools, a line for each type.
func (w *world) everything() []string {
	return []string{
		strings.Join(w.names("Microsoft.Compute/virtualMachines"), " "),
		strings.Join(w.names("Microsoft.Network/networkInterfaces"), " "),
		strings.Join(w.names("Microsoft.Compute/disks"), " "),
	}
}

func TestAPoolOfAnAvailabilitySetIsRead(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render"))
	before := w.sim.Counters()
	g := w.groups()["agents"]
	want := &cluster.Instance{
		ID: "k8s-agents-12345678-0", Group: "agents", ComputerName: "k8s-agents-12345678-0", Size: "Standard_D4s_v5", Zone: "0", State: cluster.StateRunning,
		ProviderID: "azure:///subscriptions/" + subscription + "/resourceGroups/farm/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-0",
	}
	if len(g.Instances) != 2 {
		t.Fatalf("machines %+v, want two", g.Instances)
	}
	got := *g.Instances[0]
	if got.UID == "" || got.Created.IsZero() {
		t.Errorf("machine %+v lacks its vmId or its age", got)
	}
	got.UID, got.Created = "", time.Time{}
	if d := cmp.Diff(want, &got); d != "" {
		t.Errorf("machine (-want +got):\n%s", d)
	}
	if !g.Usable() || g.Capacity != 2 || g.Size != "Standard_D4s_v5" || g.Template == nil || g.Read.Version == "" {
		t.Errorf("group %+v, want it usable with capacity 2, size, template and version", g)
	}
	spent := diff(before, w.sim.Counters())
	if spent["LIST virtualMachines"] != 2 || spent["LIST deployments"] != 1 || spent["LIST networkInterfaces"] != 1 || spent["LIST disks"] != 1 {
		t.Errorf("the first look cost %v, want the machines listed for both pools and for the sweeper, and each other list once", spent)
	}
	before = w.sim.Counters()
	w.pass(5 * time.Minute)
	if spent := diff(before, w.sim.Counters()); spent["LIST virtualMachines"] > 6 || len(nonzero(spent)) != 1 {
		t.Errorf("five quiet minutes cost %v, want at most six lists of machines and nothing else", nonzero(spent))
	}
}

func nonzero(spent map[string]int) map[string]int {
	out := map[string]int{}
	for k, n := range spent {
		if n != 0 && !strings.Contains(k, "token") && !strings.Contains(k, "metadata") {
			out[k] = n
		}
	}
	return out
}

func TestAPoolGrowsByReplayingItsDeployment(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents", "1:9:render"))
	// A gap in the one pool, a machine gone from the other: neither comes back.
	w.call("DELETE", "/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-0", "")
	w.call("DELETE", "/providers/Microsoft.Compute/virtualMachines/k8s-render-12345678-1", "")
	w.call("PATCH", "/providers/Microsoft.Network/networkSecurityGroups/nsg", `{"properties":{"securityRules":["of a service"]}}`)
	w.pass(3 * time.Minute)
	before := w.sim.Counters()
	w.grow("agents", 2)
	want := map[string]int{
		"LIST virtualMachines":            2, // the evidence, and once more right before the write
		"POST deployments/exporttemplate": 1, "PUT deployments": 1,
	}
	if d := cmp.Diff(want, nonzero(diff(before, w.sim.Counters()))); d != "" {
		t.Errorf("the growth cost (-want +got):\n%s", d)
	}
	if g := w.groups()["agents"]; g.Capacity != 3 {
		t.Errorf("capacity %d right after, want 3", g.Capacity)
	}
	w.pass(10 * time.Minute)
	w.holds("agents-1", "agents-2", "agents-3", "render-0")
	g := w.groups()["agents"]
	if !g.Usable() || g.Capacity != 3 || g.Live() != 3 || g.Failure != nil || len(w.Operations()) != 0 {
		t.Errorf("group %+v, want three machines and peace", g)
	}
	if rules := w.call("GET", "/providers/Microsoft.Network/networkSecurityGroups/nsg", ""); !strings.Contains(rules, "of a service") {
		t.Errorf("the security group was written: %s", rules)
	}
}

func TestAGrowthInFlightCountsInTheProcessThatCameAfter(t *testing.T) {
	for name, saved := range map[string]bool{"with its record": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			w := newStandardWorld(t)
			w.open(w.standard("1:9:agents"))
			w.sim.Inject(azuresim.Fault{Kind: "PUT virtualMachines", MachineError: "AllocationFailed", After: 3 * time.Minute, Times: 1})
			w.grow("agents", 1)
			if saved {
				w.restart(w.standard("1:9:agents"))
			} else {
				w.open(w.standard("1:9:agents"))
			}
			if g := w.groups()["agents"]; g.Capacity != 3 {
				t.Errorf("capacity %d, want 3 with the machine that comes", g.Capacity)
			}
			w.pass(10 * time.Minute)
			g := w.groups()["agents"]
			if !g.Usable() || g.Capacity != 3 || g.Live() != 2 {
				t.Errorf("capacity %d, %d live, want the failed machine listed beside two", g.Capacity, g.Live())
			}
			if saved && (g.Failure == nil || g.Failure.Code != "AllocationFailed") {
				t.Errorf("failure %+v, want the operation's", g.Failure)
			}
		})
	}
}

func TestAnEarlierDeploymentCountsUntilItEnds(t *testing.T) {
	w := newStandardWorld(t)
	// A deployment that makes something else first, for as long as that boots, and no machine of the pool.
	w.call("PUT", "/providers/Microsoft.Resources/deployments/cluster-autoscaler-earlier", `{"properties":{"mode":"Incremental",
		"template":{"parameters":{"agentsCount":{"type":"int"},"agentsOffset":{"type":"int"}},"resources":[
			{"type":"Microsoft.Compute/virtualMachineScaleSets","name":"slow","apiVersion":"2024-07-01","location":"westeurope","sku":{"name":"Standard_D2s_v5","capacity":1},"properties":{}}]},
		"parameters":{"agentsCount":{"value":4},"agentsOffset":{"value":2}}}}`)
	w.open(w.standard("1:9:agents", "1:9:render"))
	if g := w.groups()["agents"]; g.Capacity != 4 || g.Usable() {
		t.Errorf("capacity %d, usable %t; want 4 with two that are not there yet", g.Capacity, g.Usable())
	}
	if g := w.groups()["render"]; g.Capacity != 2 || !g.Usable() {
		t.Errorf("render has capacity %d, usable %t; want 2: the deployment is none of its", g.Capacity, g.Usable())
	}
	w.pass(6 * time.Minute)
	if g := w.groups()["agents"]; g.Capacity != 4 {
		t.Errorf("capacity %d, want 4 as long as lists may be older than the deployment's end", g.Capacity)
	}
	w.pass(10 * time.Minute)
	if g := w.groups()["agents"]; g.Capacity != 2 || !g.Usable() {
		t.Errorf("capacity %d, usable %t; want 2 again: the deployment has ended, and made none", g.Capacity, g.Usable())
	}
}

func TestANumberIsFreeOnlyWhenNothingBearsIt(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: "DELETE disks", Status: http.StatusConflict, Code: "ScopeLocked", Message: "The disk is locked."})
	w.remove("agents", "k8s-agents-12345678-1")
	w.pass(3 * time.Minute)
	w.grow("agents", 1)
	w.pass(5 * time.Minute)
	w.holds("agents-0", "agents-2", "render-0", "render-1")
}

func TestARefusedDeploymentSaysWhatIsLeft(t *testing.T) {
	w := newStandardWorld(t)
	w.sim.Quota = map[string]int{"standardDSv5Family": 18 + 6}
	w.open(w.standard("1:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	e := errorOf(t, w.SetCapacity(context.Background(), g, 6))
	if e.Kind != cloud.Quota || e.Quota == nil || e.Quota.Left != 1 {
		t.Errorf("error %+v with quota %+v, want a quota with room for one machine", e, e.Quota)
	}
	if g := w.groups()["agents"]; g.Capacity != 2 {
		t.Errorf("capacity %d, want 2: nothing was begun", g.Capacity)
	}
}

func TestAPoolThatMovedIsNotWritten(t *testing.T) {
	w := newStandardWorld(t)
	w.open(w.standard("1:9:agents"))
	g, err := w.Group(context.Background(), "agents")
	w.must(err)
	w.call("DELETE", "/providers/Microsoft.Compute/virtualMachines/k8s-agents-12345678-1", "")
	before := w.sim.Counters()
	for doing, err := range map[string]error{
		"grow":   w.SetCapacity(context.Background(), g, 3),
		"remove": w.DeleteInstances(context.Background(), g, []cluster.Machine{g.Instances[0].Machine()}),
	} {
		if e := errorOf(t, err); e.Kind != cloud.Conflict || e.Code != "PoolMoved" {
			t.Errorf("%s: %+v, want a conflict", doing, e)
		}
	}
	if _, writes := spent(before, w.sim.Counters()); writes != 0 {
		t.Errorf("%d writes were sent", writes)
	}
}

func TestOldDeploymentsArePruned(t *testing.T) {
	w := newStandardWorld(t)
	for n := range 15 {
		w.now = w.now.Add(time.Minute)
		name := fmt.Sprintf("cluster-autoscaler-%02d", n)
		w.call("PUT", "/providers/Microsoft.Resources/deployments/"+name, `{"properties":{"mode":"Incremental","template":{"resources":[]}}}`)
	}
	w.now = w.now.Add(time.Minute)
	w.open(w.standard("1:9:agents"))
	w.grow("agents", 1)
	before := w.sim.Counters()
	w.now = w.now.Add(time.Second)
	w.groups()
	if n := diff(before, w.sim.Counters())["DELETE deployments"]; n != 3 {
		t.Errorf("one cycle deleted %d deployments, want three", n)
	}
	w.pass(10 * time.Minute)
	left := w.names("Microsoft.Resources/deployments")
	if len(left) != 11 || !slices.Contains(left, "cluster") || slices.Contains(left, "cluster-autoscaler-04") {
		t.Errorf("left %v, want the cluster's own and the newest ten", left)
	}
}

// builders are the other writers of a world with pools: they grow one as sluice does, by its deployment.
type builders struct{ actors }

// Writes leaves out the export of a template, which is a POST and changes nothing.
func (b builders) Writes() int {
	return b.actors.Writes() - b.sim.Counters()["POST deployments/exporttemplate"]
}

func (b builders) Resize(id cluster.GroupID, n int) {
	b.t.Helper()
	have := 0
	for _, m := range b.sim.Machines() {
		if strings.Contains(m.Name, "-"+string(id)+"-") {
			have++
		}
	}
	if n < have {
		b.t.Fatalf("resize %s from %d to %d: nobody makes a pool smaller by a number", id, have, n)
	}
	parameters := strings.NewReplacer(fmt.Sprintf(`"%sCount":{"value":2}`, id), fmt.Sprintf(`"%[1]sCount":{"value":%[2]d},"%[1]sOffset":{"value":2}`, id, n)).Replace(clusterParameters)
	b.call("PUT", "/providers/Microsoft.Resources/deployments/by-hand", fmt.Sprintf(`{"properties":{"mode":"Incremental","template":%s,"parameters":%s}}`, template(), parameters))
}

func TestPoolsKeepTheContractOverHTTP(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) (cloud.Provider, cloudtest.Actors) {
		w := newStandardWorld(t)
		for _, pool := range []cluster.GroupID{"agents", "render"} {
			builders{actors{w}}.Resize(pool, 3)
			w.now = w.now.Add(5 * time.Minute)
		}
		arm, metadata := httptest.NewServer(w.sim), httptest.NewServer(w.sim.Metadata("server-0"))
		t.Cleanup(arm.Close)
		t.Cleanup(metadata.Close)
		o := w.standard("1:10:agents", "1:10:render")
		o.Transport, o.ResourceManagerEndpoint, o.MetadataEndpoint = nil, arm.URL, metadata.URL
		w.open(o)
		return w.Provider, builders{actors{w}}
	})
}

func TestStatesAreKnownWhereListsTellNone(t *testing.T) {
	w := newStandardWorld(t)
	w.must(w.sim.Deallocate("k8s-agents-12345678-1"))
	w.now = w.now.Add(5 * time.Minute)
	refused := 0
	o := w.standard("1:9:agents")
	o.Transport = transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/virtualMachines") && r.URL.Query().Get("$expand") != "" {
			refused++
			return &http.Response{
				StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(strings.NewReader(`{"error":{"code":"InvalidParameter","message":"The expand expression needs a filter."}}`)),
			}, nil
		}
		resp, err := (&azuresim.Transport{Server: w.sim, Machine: "server-0"}).RoundTrip(r)
		if err == nil && strings.HasSuffix(r.URL.Path, "/virtualMachines") && r.URL.Query().Get("statusOnly") == "" {
			resp.Body = io.NopCloser(withoutViews(t, resp.Body))
		}
		return resp, err
	})
	w.open(o)
	w.pass(3 * time.Minute)
	w.want("agents", 2, firstAgent+"=running k8s-agents-12345678-1=stopped")
	w.must(w.sim.Deallocate(firstAgent)) // which the list does not tell either
	w.pass(5 * time.Minute)
	w.want("agents", 2, firstAgent+"=stopped k8s-agents-12345678-1=stopped")
	if refused != 1 {
		t.Errorf("asked %d times for what was refused, want once", refused)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// withoutViews is a list of machines without their instance views, which says the same whatever becomes of them.
func withoutViews(t *testing.T, body io.Reader) io.Reader {
	t.Helper()
	var list struct {
		Value    []map[string]any `json:"value"`
		NextLink string           `json:"nextLink,omitempty"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for _, vm := range list.Value {
		delete(vm, "etag")
		properties := vm["properties"].(map[string]any)
		delete(properties, "instanceView")
		properties["provisioningState"] = "Succeeded"
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReader(string(raw))
}
