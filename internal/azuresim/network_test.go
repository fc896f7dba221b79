package azuresim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
)

const (
	networkProvider = groupPath + "/providers/Microsoft.Network/"
	networkVersion  = "?api-version=2024-05-01"
)

// do sends a write or read of the network, and wants a status and, of a refusal, a code.
func (a *azure) do(method, path, body string, status int, code string, header ...string) string {
	a.t.Helper()
	resp, got := a.wire(method, path+networkVersion, body, header...)
	is, _ := "", any(nil)
	if resp.StatusCode >= http.StatusBadRequest {
		is, _ = field(a.t, got, "error", "code").(string)
	}
	if resp.StatusCode != status || is != code {
		a.t.Errorf("%s %s: %d %s, want %d %s", method, path, resp.StatusCode, got, status, code)
	}
	return got
}

// balancer is a load balancer as the cloud controller makes it for a Service: a frontend with a public address, a pool, a rule with its probe, and a
// rule for what goes out.
func balancer(public, more string) string {
	own := networkProvider + "loadBalancers/kubernetes/"
	return fmt.Sprintf(`{"location":"westeurope","sku":{"name":"Standard"},"properties":{
		"frontendIPConfigurations":[{"name":"service","properties":{"publicIPAddress":{"id":%q}}}],
		"backendAddressPools":[{"name":"kubernetes"}],
		"probes":[{"name":"alive","properties":{"protocol":"Tcp","port":30080,"intervalInSeconds":5,"numberOfProbes":2}}],
		"loadBalancingRules":[{"name":"tcp-80","properties":{"protocol":"Tcp","frontendPort":80,"backendPort":80,"enableFloatingIP":true,
			"frontendIPConfiguration":{"id":"%[2]sfrontendIPConfigurations/service"},"backendAddressPool":{"id":"%[2]sbackendAddressPools/kubernetes"},"probe":{"id":"%[2]sprobes/alive"}}}],
		"outboundRules":[{"name":"out","properties":{"protocol":"All","allocatedOutboundPorts":1024,
			"frontendIPConfigurations":[{"id":"%[2]sfrontendIPConfigurations/service"}],"backendAddressPool":{"id":"%[2]sbackendAddressPools/kubernetes"}}}]%[3]s}}`,
		public, own, more)
}

const address = `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static","dnsSettings":{"domainNameLabel":"farm"}}}`

// at reads a value of a document by names and numbers; "" where there is none.
func at(t *testing.T, doc string, path ...any) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return ""
			}
			v = l[step]
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func TestALoadBalancerAndItsAddress(t *testing.T) {
	a := newAzure(t)
	a.agents(2, func(ss *azuresim.ScaleSet) { ss.Subnet = "/subnets/one" })
	public, lb := networkProvider+"publicIPAddresses/service", networkProvider+"loadBalancers/kubernetes"
	a.do("PUT", lb, balancer(public, ""), 400, "InvalidResourceReference")
	made := a.do("PUT", public, address, 201, "")
	ip := at(t, made, "properties", "ipAddress")
	if !strings.HasPrefix(ip, "203.0.113.") || at(t, made, "properties", "dnsSettings", "fqdn") != "farm.westeurope.cloudapp.azure.com" {
		t.Error(made)
	}
	addresses := map[string]bool{ip: true}
	for n := range 40 {
		addresses[at(t, a.do("PUT", fmt.Sprint(public, n), address, 201, ""), "properties", "ipAddress")] = true
	}
	if len(addresses) != 41 {
		t.Errorf("41 resources have %d public addresses", len(addresses))
	}

	a.do("PUT", lb, strings.Replace(balancer(public, ""), "/probes/alive", "/probes/none", 1), 400, "InvalidResourceReference")
	a.do("PUT", lb, strings.ReplaceAll(balancer(public, ""), `"name":"kubernetes"`, `"name":"other"`), 400, "InvalidResourceReference")
	made = a.do("PUT", lb, balancer(public, ""), 201, "")
	pool := at(t, made, "properties", "backendAddressPools", 0, "id")
	if !strings.EqualFold(pool, lb+"/backendAddressPools/kubernetes") || at(t, made, "properties", "frontendIPConfigurations", 0, "properties", "loadBalancingRules", 0, "id") == "" ||
		at(t, made, "properties", "backendAddressPools", 0, "properties", "outboundRules", 0, "id") == "" || at(t, made, "properties", "provisioningState") != "Succeeded" {
		t.Error(made)
	}
	got := a.do("GET", public, "", 200, "")
	if user := at(t, got, "properties", "ipConfiguration", "id"); !strings.EqualFold(user, lb+"/frontendIPConfigurations/service") {
		t.Error("the address is of", user)
	}
	a.do("PUT", networkProvider+"loadBalancers/second", strings.ReplaceAll(balancer(public, ""), "/kubernetes/", "/second/"), 400, "PublicIPAddressInUse")

	// A write of what was read changes nothing, and one of an older state is refused.
	old := at(t, made, "etag")
	again := a.do("PUT", lb, made, 200, "", "If-Match", old)
	if x, y := strings.ReplaceAll(again, at(t, again, "etag"), ""), strings.ReplaceAll(made, old, ""); strings.ReplaceAll(x, strings.Trim(fmt.Sprintf("%q", at(t, again, "etag")), `"`), "") != strings.ReplaceAll(y, strings.Trim(fmt.Sprintf("%q", old), `"`), "") {
		t.Errorf("written as it was read:\n%s\n%s", x, y)
	}
	a.do("PUT", lb, made, 412, "PreconditionFailed", "If-Match", old)
	a.do("PUT", public, got, 200, "")

	// Pools have paths of their own, as the cloud controller writes them with addresses of nodes.
	members := `{"properties":{"loadBalancerBackendAddresses":[{"name":"agents000000","properties":{"ipAddress":"10.0.0.4","virtualNetwork":{"id":"/networks/one"}}}]}}`
	a.do("PUT", pool, members, 200, "")
	if got := a.do("GET", pool, "", 200, ""); at(t, got, "properties", "loadBalancerBackendAddresses", 0, "properties", "ipAddress") != "10.0.0.4" ||
		at(t, got, "properties", "loadBalancingRules", 0, "id") == "" {
		t.Error(got)
	}
	a.do("PUT", lb+"/backendAddressPools/more", `{}`, 201, "")
	if got := a.do("GET", lb+"/backendAddressPools", "", 200, ""); strings.Count(got, `"name":"more"`) != 1 || strings.Count(got, `"name":"kubernetes"`) != 1 {
		t.Error(got)
	}
	a.do("DELETE", lb+"/backendAddressPools/more", "", 200, "")
	a.do("GET", lb+"/backendAddressPools/more", "", 404, "ResourceNotFound")

	// What is in use stays.
	a.do("DELETE", public, "", 400, "PublicIPAddressCannotBeDeleted")
	configuration := fmt.Sprintf(`"networkInterfaceConfigurations":[{"name":"nic","properties":{"primary":true,
		"ipConfigurations":[{"name":"one","properties":{"subnet":{"id":"/subnets/one"},"loadBalancerBackendAddressPools":[{"id":%q}]}}]}}]`, pool)
	a.wire("PATCH", setPath+version, `{"properties":{"virtualMachineProfile":{"networkProfile":{`+configuration+`}}}}`)
	if got := a.do("GET", pool, "", 200, ""); strings.Contains(got, "backendIPConfigurations") {
		t.Error("machines that keep their model are in the pool:", got)
	}
	a.wire("PUT", setPath+"/virtualMachines/1"+version, `{"properties":{"networkProfileConfiguration":{`+configuration+`}}}`)
	a.must(a.SetCapacity("agents", 3))
	got = a.do("GET", pool, "", 200, "")
	for n, machine := range []string{"1", "2"} {
		if !strings.HasSuffix(at(t, got, "properties", "backendIPConfigurations", n, "id"), "/virtualMachines/"+machine+"/networkInterfaces/nic/ipConfigurations/one") {
			t.Errorf("machine %s is not in the pool: %s", machine, got)
		}
	}
	a.do("DELETE", lb, "", 400, "LoadBalancerInUseByVirtualMachineScaleSet")
	a.wire("PATCH", setPath+version, `{"properties":{"virtualMachineProfile":{"networkProfile":{"networkInterfaceConfigurations":[{"name":"nic","properties":{"primary":true,
		"ipConfigurations":[{"name":"one","properties":{"subnet":{"id":"/subnets/one"}}}]}}]}}}}`)
	a.do("DELETE", lb, "", 200, "")
	a.do("DELETE", public, "", 200, "")
	a.do("DELETE", public, "", 204, "")
}

// What hangs together is deleted from the leaves on.
func TestTheNetworkIsDeletedInItsOrder(t *testing.T) {
	a := newAzure(t)
	a.group()
	in := func(kind, name string) string { return networkProvider + kind + "/" + name }
	id := func(path string) string { return fmt.Sprintf(`{"id":%q}`, path) }
	a.do("PUT", in("networkSecurityGroups", "nodes"), `{"location":"westeurope","properties":{"securityRules":[{"name":"ssh","properties":{"priority":100}}]}}`, 201, "")
	a.do("GET", strings.Replace(in("networkSecurityGroups", "nodes"), "Microsoft.Network/", "Microsoft.Network//", 1), "", 200, "")
	a.do("PUT", in("routeTables", "routes"), `{"location":"westeurope","properties":{}}`, 201, "")
	a.do("PUT", in("publicIPAddresses", "out"), address, 201, "")
	a.do("PUT", in("natGateways", "out"), `{"location":"westeurope","properties":{"publicIpAddresses":[`+id(in("publicIPAddresses", "out"))+`]}}`, 201, "")
	a.do("PUT", in("virtualNetworks", "farm"), `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.10.0.0/16"]},"subnets":[{"name":"machines","properties":{"addressPrefix":"10.10.0.0/20",
		"networkSecurityGroup":`+id(in("networkSecurityGroups", "nodes"))+`,"routeTable":`+id(in("routeTables", "routes"))+`,"natGateway":`+id(in("natGateways", "out"))+`}}]}}`, 201, "")
	subnet := in("virtualNetworks", "farm") + "/subnets/machines"
	a.do("PUT", in("networkInterfaces", "server"), `{"location":"westeurope","properties":{"networkSecurityGroup":`+id(in("networkSecurityGroups", "nodes"))+`,
		"ipConfigurations":[{"name":"one","properties":{"subnet":`+id(subnet)+`}}]}}`, 201, "")
	a.do("PUT", in("networkSecurityGroups", "nodes")+"/securityRules/api", `{"properties":{"priority":110}}`, 201, "")
	if got := a.do("GET", in("networkSecurityGroups", "nodes"), "", 200, ""); at(t, got, "properties", "securityRules", 1, "name") != "api" {
		t.Error(got)
	}
	order := []struct{ path, refusal string }{
		{subnet, "InUseSubnetCannotBeDeleted"},
		{in("virtualNetworks", "farm"), "InUseSubnetCannotBeDeleted"},
		{in("networkSecurityGroups", "nodes"), "InUseNetworkSecurityGroupCannotBeDeleted"},
		{in("routeTables", "routes"), "InUseRouteTableCannotBeDeleted"},
		{in("natGateways", "out"), "InUseNatGatewayCannotBeDeleted"},
		{in("publicIPAddresses", "out"), "PublicIPAddressCannotBeDeleted"},
	}
	for _, o := range order {
		a.do("DELETE", o.path, "", 400, o.refusal)
	}
	a.do("DELETE", in("networkInterfaces", "server"), "", 202, "")
	for _, o := range order[2:] {
		a.do("DELETE", o.path, "", 400, o.refusal)
	}
	for _, o := range order {
		a.do("DELETE", o.path, "", 200, "")
	}
}
