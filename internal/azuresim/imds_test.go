package azuresim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// ask asks the metadata service of a machine.
func (a *azure) ask(machine, path string) (int, string) {
	a.t.Helper()
	resp, body := a.wireFrom(machine, "GET", "http://169.254.169.254/metadata/"+path, "", "Metadata", "true")
	return resp.StatusCode, body
}

// cloud-init asks for what it makes of a machine: its name, user and keys, and user data, which a person may change. Custom data is on the machine's
// disk alone.
func TestWhatCloudInitAsks(t *testing.T) {
	a := newAzure(t)
	a.group()
	a.nic("server", "", 201, "")
	const custom, user = "Y3VzdG9t", "dXNlcg=="
	server := groupPath + "/providers/Microsoft.Compute/virtualMachines/server" + version
	resp, body := a.wire("PUT", server, fmt.Sprintf(`{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},"userData":%q,
		"osProfile":{"computerName":"farm-server","adminUsername":"sluice","customData":%q,"linuxConfiguration":{"disablePasswordAuthentication":true,
			"ssh":{"publicKeys":[{"path":"/home/sluice/.ssh/authorized_keys","keyData":"ssh-ed25519 AAAA"}]}}},
		"storageProfile":{"osDisk":{"createOption":"FromImage","deleteOption":"Delete"}},"networkProfile":{"networkInterfaces":[{"id":%q}]}}}`,
		user, custom, networkProvider+"networkInterfaces/server"))
	if resp.StatusCode != http.StatusCreated {
		t.Fatal(body)
	}
	for _, asked := range []string{"instance?api-version=2021-08-01&extended=true", "instance?api-version=2019-06-01", "instance?api-version=2025-04-07"} {
		status, body := a.ask("server", asked)
		got := strings.Join([]string{
			at(t, body, "compute", "osProfile", "computerName"), at(t, body, "compute", "osProfile", "adminUsername"), at(t, body, "compute", "osProfile", "disablePasswordAuthentication"),
			at(t, body, "compute", "publicKeys", 0, "keyData"), at(t, body, "compute", "userData"), "<" + at(t, body, "compute", "customData") + ">",
		}, " ")
		if want := "farm-server sluice true ssh-ed25519 AAAA " + user + " <>"; status != http.StatusOK || got != want {
			t.Errorf("%s: %d %q, want %q", asked, status, got, want)
		}
		if strings.Contains(body, custom) || !strings.Contains(body, `"customData":""`) {
			t.Errorf("%s: custom data: %s", asked, body)
		}
	}
	if status, body := a.ask("server", "instance?api-version=2031-01-01"); status != http.StatusBadRequest ||
		!strings.Contains(body, `"newest-versions":["2025-04-07","2024-07-17","2024-03-15"]`) {
		t.Errorf("an unknown version: %d %s", status, body)
	}
	a.wire("PATCH", server, `{"properties":{"userData":"b3RoZXI="}}`)
	if _, body := a.ask("server", "instance/compute/userData?api-version=2021-01-01&format=text"); body != "b3RoZXI=" {
		t.Errorf("user data after a change: %q", body)
	}
}

// A public address of an interface is with its machine when it is basic, and with the load balancers' when it is standard.
func TestWhereAPublicAddressIsTold(t *testing.T) {
	for sku, where := range map[string]string{"Standard": "loadbalancer", "Basic": "instance"} {
		a := newAzure(t)
		a.group()
		public := networkProvider + "publicIPAddresses/server"
		ip := at(t, a.do("PUT", public, strings.Replace(address, "Standard", sku, 1), 201, ""), "properties", "ipAddress")
		a.do("PUT", networkProvider+"networkInterfaces/server", fmt.Sprintf(`{"location":"westeurope","properties":{"ipConfigurations":[{"name":"one","properties":{
			"subnet":{"id":%q},"publicIPAddress":{"id":%q}}}]}}`, machinesSubnet, public), 201, "")
		a.do("DELETE", public, "", 400, "PublicIPAddressCannotBeDeleted")
		a.wire("PUT", groupPath+"/providers/Microsoft.Compute/virtualMachines/server"+version, fmt.Sprintf(`{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},
			"storageProfile":{"osDisk":{"createOption":"FromImage"}},"networkProfile":{"networkInterfaces":[{"id":%q}]}}}`, networkProvider+"networkInterfaces/server"))
		_, instance := a.ask("server", "instance/network?api-version=2021-02-01")
		status, balancer := a.ask("server", "loadbalancer?api-version=2020-10-01")
		own, front := at(t, instance, "interface", 0, "ipv4", "ipAddress", 0, "publicIpAddress"), ""
		if status == http.StatusOK {
			front = at(t, balancer, "loadbalancer", "publicIpAddresses", 0, "frontendIpAddress")
		}
		if got := map[string]string{"instance": own, "loadbalancer": front}; got[where] != ip || own+front != ip {
			t.Errorf("%s: %v, want %s at %s", sku, got, ip, where)
		}
	}
}
