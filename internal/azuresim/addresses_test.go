package azuresim_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

const machinesSubnet = networkProvider + "virtualNetworks/farm/subnets/machines"

// network makes a network with one subnet for machines.
func (a *azure) network(prefix string) {
	a.do("PUT", networkProvider+"virtualNetworks/farm", fmt.Sprintf(`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.10.0.0/16"]},
		"subnets":[{"name":"machines","properties":{"addressPrefix":%q}}]}}`, prefix), 201, "")
}

// nic writes an interface with an address of its own choice, "" for any.
func (a *azure) nic(name, address string, status int, code string) string {
	how := `"privateIPAllocationMethod":"Dynamic"`
	if address != "" {
		how = fmt.Sprintf(`"privateIPAllocationMethod":"Static","privateIPAddress":%q`, address)
	}
	got := a.do("PUT", networkProvider+"networkInterfaces/"+name, fmt.Sprintf(`{"location":"westeurope","properties":{"ipConfigurations":[{"name":"one","properties":{%s,"subnet":{"id":%q}}}]}}`,
		how, machinesSubnet), status, code)
	return at(a.t, got, "properties", "ipConfigurations", 0, "properties", "privateIPAddress")
}

func TestAddressesAreThoseOfTheSubnet(t *testing.T) {
	a := newAzure(t)
	a.group()
	a.network("10.10.16.0/28")
	for address, code := range map[string]string{
		"10.10.16.0": "PrivateIPAddressInReservedRange", "10.10.16.3": "PrivateIPAddressInReservedRange", "10.10.16.15": "PrivateIPAddressInReservedRange",
		"10.10.16.16": "PrivateIPAddressNotInSubnet", "10.10.15.255": "PrivateIPAddressNotInSubnet", "ten": "InvalidIPAddressFormat",
	} {
		a.nic("refused", address, 400, code)
	}
	a.nic("server", "10.10.16.5", 201, "")
	a.nic("server", "10.10.16.5", 200, "") // its own
	a.nic("thief", "10.10.16.5", 400, "PrivateIPAddressIsAllocated")
	if ip := a.nic("first", "", 201, ""); ip != "10.10.16.4" {
		t.Error("the first dynamic address is", ip)
	}
	a.agents(0, func(ss *azuresim.ScaleSet) { ss.Subnet = machinesSubnet })
	a.must(a.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: group, Name: "flex", Location: "westeurope", Size: "Standard_D2s_v5", OrchestrationMode: "Flexible", Subnet: machinesSubnet,
	}))
	a.must(a.SetCapacity("agents", 3))
	a.must(a.SetCapacity("flex", 2))
	a.advance(10 * time.Minute)
	addresses := func() (all []string) {
		for _, m := range a.Machines() {
			all = append(all, strings.TrimPrefix(m.PrivateIP, "10.10.16."))
		}
		return all
	}
	if got := addresses(); !slices.Equal(got, []string{"6", "7", "8", "9", "10"}) {
		t.Errorf("addresses %q", got)
	}
	a.must(a.DeleteMachine("agents_1"))
	a.nic("early", "10.10.16.7", 400, "PrivateIPAddressIsAllocated") // as long as the machine is there
	a.advance(10 * time.Minute)
	a.must(a.SetCapacity("agents", 3))
	if got := addresses(); !slices.Equal(got, []string{"6", "8", "7", "9", "10"}) {
		t.Errorf("after one has gone and one has come, addresses %q", got)
	}

	// 16 addresses, five of them Azure's: eleven, of which seven are taken.
	a.must(a.SetCapacity("agents", 8))
	a.advance(10 * time.Minute)
	full := 0
	for _, m := range a.Machines() {
		if m.Error == "SubnetIsFull" {
			full++
		}
	}
	if got := addresses(); full != 1 || !slices.Contains(got, "14") || slices.Contains(got, "15") {
		t.Errorf("%d machines without room, addresses %q", full, got)
	}
	a.nic("late", "", 400, "SubnetIsFull")

	_, body := a.wireFrom("agents_0", "GET", "http://169.254.169.254/metadata/instance/network?api-version=2021-02-01", "", "Metadata", "true")
	if at(t, body, "interface", 0, "ipv4", "subnet", 0, "address") != "10.10.16.0" || at(t, body, "interface", 0, "ipv4", "subnet", 0, "prefix") != "28" ||
		at(t, body, "interface", 0, "ipv4", "ipAddress", 0, "privateIpAddress") != "10.10.16.6" {
		t.Error(body)
	}
}

// A network that nobody has made gives addresses as before, and a machine in two of them one of each.
func TestAnInterfaceMovesToAnotherSubnet(t *testing.T) {
	a := newAzure(t)
	a.group()
	if ip := a.nic("server", "", 201, ""); !strings.HasPrefix(ip, "10.0.0.") {
		t.Error(ip)
	}
	a.network("10.10.0.0/24")
	if ip := a.nic("server", "", 200, ""); ip != "10.10.0.4" {
		t.Error("moved into a known subnet it has", ip)
	}
	got := a.do("PUT", networkProvider+"networkInterfaces/two", fmt.Sprintf(`{"location":"westeurope","properties":{"ipConfigurations":[
		{"name":"a","properties":{"subnet":{"id":%[1]q}}},{"name":"b","properties":{"subnet":{"id":%[1]q}}}]}}`, machinesSubnet), 201, "")
	if x, y := at(t, got, "properties", "ipConfigurations", 0, "properties", "privateIPAddress"), at(t, got, "properties", "ipConfigurations", 1, "properties", "privateIPAddress"); x != "10.10.0.5" || y != "10.10.0.6" {
		t.Error(x, y)
	}
}

// What is on a data disk outlives its machine: deleted and made anew, the server has the same disk.
func TestAServerIsMadeAnewWithItsDisk(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.DetachLag = 30 * time.Second })
	a.group()
	a.nic("server", "", 201, "")
	disk := groupPath + "/providers/Microsoft.Compute/disks/"
	for _, name := range []string{"kept", "thrown"} {
		if resp, body := a.wire("PUT", disk+name+version, `{"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":64}}`); resp.StatusCode != http.StatusOK {
			t.Fatal(body)
		}
	}
	server := groupPath + "/providers/Microsoft.Compute/virtualMachines/server" + version
	put := func(disks string) (int, string) {
		resp, body := a.wire("PUT", server, fmt.Sprintf(`{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},
			"storageProfile":{"osDisk":{"createOption":"FromImage","deleteOption":"Delete"},"dataDisks":[%s]},
			"networkProfile":{"networkInterfaces":[{"id":%q}]}}}`, disks, networkProvider+"networkInterfaces/server"))
		return resp.StatusCode, body
	}
	attach := func(lun int, name, option string) string {
		return fmt.Sprintf(`{"lun":%d,"createOption":"Attach","deleteOption":%q,"managedDisk":{"id":%q}}`, lun, option, disk+name)
	}
	if status, body := put(attach(0, "kept", "Detach") + "," + attach(1, "thrown", "Delete")); status != http.StatusCreated {
		t.Fatal(status, body)
	}
	a.advance(10 * time.Minute)
	_, body := a.wireFrom("server", "GET", "http://169.254.169.254/metadata/instance/compute/storageProfile?api-version=2021-02-01", "", "Metadata", "true")
	if at(t, body, "dataDisks", 0, "lun") != "0" || !strings.HasSuffix(at(t, body, "dataDisks", 0, "managedDisk", "id"), "/disks/kept") || at(t, body, "dataDisks", 1, "name") != "thrown" {
		t.Error("the machine does not see its disks:", body)
	}
	if resp, _ := a.wire("DELETE", disk+"kept"+version, ""); resp.StatusCode != http.StatusConflict {
		t.Error("a disk in use is deleted:", resp.StatusCode)
	}
	first := a.Machines()[0].VMID
	a.wire("DELETE", server, "")
	if status, body := put(attach(0, "kept", "Detach")); status != http.StatusConflict {
		t.Error("while the old one goes:", status, body)
	}
	a.advance(time.Minute)
	if status, body := put(attach(0, "kept", "Detach")); status != http.StatusConflict || !strings.Contains(body, "AttachDiskWhileBeingDetached") {
		t.Error("while the disk is being detached:", status, body)
	}
	a.advance(30 * time.Second)
	if resp, _ := a.wire("GET", disk+"thrown"+version, ""); resp.StatusCode != http.StatusNotFound {
		t.Error("the disk that goes with the machine:", resp.StatusCode)
	}
	if status, body := put(attach(0, "kept", "Detach")); status != http.StatusCreated {
		t.Fatal("made anew:", status, body)
	}
	_, body = a.wire("GET", disk+"kept"+version, "")
	if !strings.HasSuffix(at(t, body, "managedBy"), "/virtualMachines/server") || at(t, body, "properties", "diskState") != "Attached" {
		t.Error(body)
	}
	if second := a.Machines()[0]; second.VMID == first {
		t.Error("the machine is the old one")
	}
}
