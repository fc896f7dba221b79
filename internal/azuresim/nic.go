package azuresim

import (
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// networkInterface is a network interface that is a resource of its own.
type networkInterface struct {
	resource
	model map[string]any // as writers sent it
	etag  int
	guid  string
	ips   []string  // of its ip configurations, in their order
	host  *instance // the virtual machine it is plugged into; nil: free

	// After a machine whose creation failed, its interface can be neither
	// deleted nor used by another for three minutes.
	reservedFor   string
	reservedUntil time.Time
}

// plug is a network interface in a virtual machine.
type plug struct {
	nic          *networkInterface
	deleteOption string // "Delete" or "Detach": what becomes of it with the machine
}

// reservation is how long Azure keeps the interface of a machine whose creation
// failed.
const reservation = 180 * time.Second

func (n *networkInterface) id() string { return n.path(interfaceKind) }

func (n *networkInterface) etagText() string {
	return `W/"` + n.guid[:24] + strconv.Itoa(100000000000+n.etag) + `"`
}

// configurations are the ip configurations as writers sent them.
func (n *networkInterface) configurations() []map[string]any {
	items, _ := dig(n.model, "properties", "ipConfigurations").([]any)
	var out []map[string]any
	for _, item := range items {
		out = append(out, asMap(item))
	}
	return out
}

// subnetOf is the subnet of an interface's first ip configuration.
func subnetOf(nic any) string {
	return subnetOfConfiguration(asMap(first(dig(nic, "properties", "ipConfigurations"))))
}

func subnetOfConfiguration(c map[string]any) string { return text(c, "properties", "subnet", "id") }

// ipConfiguration is an ip configuration as a writer sends it.
func ipConfiguration(subnet string) map[string]any {
	p := map[string]any{"primary": true, "privateIPAllocationMethod": "Dynamic"}
	if subnet != "" {
		p["subnet"] = map[string]any{"id": subnet}
	}
	return map[string]any{"name": "ipconfig1", "properties": p}
}

// network gives machines interfaces and addresses.
type network struct {
	store    *store
	seed     uint64
	limits   map[string]int // Server.SubnetAddresses
	loopback bool
}

// addInterface puts an interface in the store and gives it addresses: those in
// ips first, new ones for the rest. Its name must be free.
func (nw network) addInterface(r resource, model map[string]any, now time.Time, ips ...string) *networkInterface {
	n := &networkInterface{resource: r, model: model, etag: 1, guid: guid(nw.seed, "nic", r.path(interfaceKind), nw.store.operations.started), ips: ips}
	shelve(&nw.store.interfaces, n)
	nw.addressInterface(n, now)
	nw.store.openGroup(r)
	return n
}

// addressInterface gives every ip configuration an address: a static one is the
// writer's.
func (nw network) addressInterface(n *networkInterface, now time.Time) {
	for len(n.ips) < len(n.configurations()) {
		n.ips = append(n.ips, nw.addressIn(subnetOfConfiguration(n.configurations()[len(n.ips)]), now))
	}
	n.ips = n.ips[:len(n.configurations())]
	for at, c := range n.configurations() {
		if p, known := nw.store.generic.subnetPrefix(nw.loopback, subnetOfConfiguration(c)); known { // an interface may move to another subnet
			if a, err := netip.ParseAddr(n.ips[at]); err != nil || !p.Contains(a) {
				n.ips[at] = nw.addressIn(subnetOfConfiguration(c), now)
			}
		}
		if ip := text(c, "properties", "privateIPAddress"); ip != "" && strings.EqualFold(text(c, "properties", "privateIPAllocationMethod"), "Static") {
			n.ips[at] = ip
		}
	}
}

// ip is the address of the first configuration; "" without one.
func (n *networkInterface) ip() string {
	if len(n.ips) == 0 {
		return ""
	}
	return n.ips[0]
}

// wire is the interface as a read shows it.
func (n *networkInterface) wire() map[string]any {
	out := maps.Clone(n.model)
	p := maps.Clone(asMap(n.model["properties"]))
	configurations := []any{}
	for at, c := range n.configurations() {
		configurations = append(configurations, configurationWire(n.id(), n.etagText(), n.ips[at], c))
	}
	p["ipConfigurations"] = configurations
	p["provisioningState"], p["resourceGuid"], p["nicType"] = "Succeeded", n.guid, "Standard"
	if n.host != nil {
		p["virtualMachine"] = map[string]any{"id": n.host.id()}
		p["primary"], p["macAddress"] = n.host.nics[0].nic == n, mac(n.ip())
	}
	out["properties"], out["location"] = p, n.location
	out["id"], out["name"], out["type"], out["etag"] = n.id(), n.resource.name, interfaceKind, n.etagText()
	return out
}

// configurationWire is an ip configuration as a read shows it.
func configurationWire(nic, etag, ip string, c map[string]any) map[string]any {
	p := maps.Clone(asMap(c["properties"]))
	p["provisioningState"], p["privateIPAddress"], p["privateIPAddressVersion"] = "Succeeded", ip, "IPv4"
	if p["privateIPAllocationMethod"] == nil {
		p["privateIPAllocationMethod"] = "Dynamic"
	}
	name := text(c, "name")
	return map[string]any{
		"id": nic + "/ipConfigurations/" + name, "name": name, "etag": etag,
		"type": interfaceKind + "/ipConfigurations", "properties": p,
	}
}

// interfaceWire is the interface of a uniform instance, which is no resource of
// its own.
func (i *instance) interfaceWire() map[string]any {
	c := asMap(first(i.taken.network["networkInterfaceConfigurations"]))
	ip := asMap(first(dig(c, "properties", "ipConfigurations")))
	if len(ip) == 0 {
		ip = ipConfiguration("")
	}
	id := i.interfaceID()
	etag := `W/"` + i.vmID + `"`
	return map[string]any{
		"id": id, "name": i.interfaceName(), "etag": etag,
		"properties": map[string]any{
			"provisioningState": "Succeeded", "resourceGuid": i.vmID, "primary": true, "macAddress": mac(i.ip),
			"ipConfigurations": []any{configurationWire(id, etag, i.ip, ip)},
			"virtualMachine":   map[string]any{"id": i.id()},
		},
	}
}

// interfaceName is the name that the set's model gives a uniform instance's
// interface.
func (i *instance) interfaceName() string {
	c := first(i.taken.network["networkInterfaceConfigurations"])
	if name := text(c, "name"); name != "" {
		return name
	}
	return "nic"
}

func (i *instance) interfaceID() string {
	return i.id() + "/networkInterfaces/" + i.interfaceName()
}

// held reports whether an interface is kept for another machine.
func (n *networkInterface) held(by string, now time.Time) *problem {
	if !now.Before(n.reservedUntil) || strings.EqualFold(n.reservedFor, by) {
		return nil
	}
	return bad("NicReservedForAnotherVm",
		"Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after 180 seconds. Reserved VM: %s", n.reservedFor)
}
