package render

import (
	"strings"

	"sluice.dev/sluice/internal/clusterfile"
)

// place is where machines are in the network.
type place struct {
	subnet   string   // the expression of its id
	waits    []string // what must be there before an interface is made in it
	security string   // the expression of the id of the pools' security group
	public   string   // the expression of the id of the server's public address; "" without
	given    bool

	// What the cloud controller is told.
	network, networkGroup, subnetName string
}

// allow is a rule of a security group that lets in.
func allow(name string, priority int, from any, port string) object {
	source := pair{"sourceAddressPrefix", from}
	if _, several := from.([]string); several {
		source.name = "sourceAddressPrefixes"
	}
	return object{{"name", name}, {"properties", object{
		{"priority", priority}, {"direction", "Inbound"}, {"access", "Allow"}, {"protocol", "Tcp"},
		source, {"sourcePortRange", "*"}, {"destinationAddressPrefix", "*"}, {"destinationPortRange", port},
	}}}
}

// network makes the network, unless one is given, and the security group of the pools. That one is made once: the cloud controller writes its rules into
// it, and a second deployment would take them away.
func (m *maker) network() place {
	f := m.f
	nodes := m.add(resource{
		kind: kindSecurity, version: networkVersion, name: m.name("nodes"), condition: isNew(NewNetwork),
		body: m.located(pair{"properties", object{}}),
	})
	p := place{security: nodes.id()}
	if f.Network.SubnetID != "" {
		parts := strings.Split(f.Network.SubnetID, "/")
		const group, network, subnet = 4, 8, 10
		p.subnet, p.given = quote(f.Network.SubnetID), true
		p.networkGroup, p.network, p.subnetName = parts[group], parts[network], parts[subnet]
		return p
	}
	subnet := object{{"addressPrefix", f.Network.Subnet}, {"defaultOutboundAccess", false}}
	var waits []string
	if f.Mirror == "" { // the machines need a way out, which Azure gives a new subnet no more by itself
		address := m.add(resource{
			kind: kindPublic, version: networkVersion, name: m.name("out"),
			body: m.located(pair{"sku", object{{"name", "Standard"}}}, pair{"properties", object{{"publicIPAllocationMethod", "Static"}, {"publicIPAddressVersion", "IPv4"}}}),
		})
		gateway := m.add(resource{
			kind: kindNAT, version: networkVersion, name: m.name("out"), dependsOn: []string{address.id()},
			body: m.located(pair{"sku", object{{"name", "Standard"}}}, pair{"properties", object{
				{"idleTimeoutInMinutes", 4}, {"publicIpAddresses", list{object{{"id", expr(address.id())}}}},
			}}),
		})
		subnet = append(subnet, pair{"natGateway", object{{"id", expr(gateway.id())}}})
		waits = []string{gateway.id()}
	}
	const machines = "machines"
	network := m.add(resource{
		kind: kindNetwork, version: networkVersion, name: f.Name, dependsOn: waits,
		body: m.located(pair{"properties", object{
			{"addressSpace", object{{"addressPrefixes", []string{f.Network.Addresses}}}},
			{"subnets", list{object{{"name", machines}, {"properties", subnet}}}},
		}}),
	})
	p.subnet, p.waits = resourceID(kindSubnet, f.Name, machines), []string{network.id()}
	p.network, p.networkGroup, p.subnetName = f.Name, f.ResourceGroup, machines
	return p
}

// serverSecurity is the server's security group: from outside SSH and the API server only from where the file allows it, and the door from the machines'
// subnet alone.
func (m *maker) serverSecurity() resource {
	f := m.f
	var rules list
	if len(f.Server.AllowFrom) > 0 {
		rules = append(rules, allow("ssh", 100, f.Server.AllowFrom, "22"), allow("api", 110, f.Server.AllowFrom, "6443"))
	}
	deny := allow("join-from-elsewhere", 130, "*", "7443")
	deny[1].value.(object)[2].value = "Deny"
	rules = append(rules, allow("join", 120, f.Network.Subnet, "7443"), deny)
	return m.add(resource{
		kind: kindSecurity, version: networkVersion, name: f.ServerName(),
		body: m.located(pair{"properties", object{{"securityRules", rules}}}),
	})
}

// images of the file as Azure has them.
func imageReference(image, arch string) object {
	if strings.HasPrefix(image, "/") {
		return object{{"id", image}}
	}
	parts := strings.Split(image, ":")
	if image == clusterfile.DefaultImage && arch == "arm64" {
		parts[2] += "-arm64"
	}
	return object{{"publisher", parts[0]}, {"offer", parts[1]}, {"sku", parts[2]}, {"version", parts[3]}}
}
