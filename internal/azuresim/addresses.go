package azuresim

import (
	"net/netip"
	"strings"
	"time"
)

// Private addresses. In a subnet that is known by its prefix a machine has the lowest that is free, as Azure gives them; elsewhere the next of
// 10.0.0.0/8.

// reserved are how many addresses of a subnet Azure keeps at its start; it keeps the last one, too.
const reserved = 4

// subnetPrefix is a subnet's first prefix; false: nothing is known of the subnet.
func (g *generic) subnetPrefix(loopback bool, id string) (netip.Prefix, bool) {
	above, name := cutLast(id, "/subnets/")
	var model any
	if network := find(g.list, above); network != nil {
		for _, subnet := range asList(dig(network.model, "properties", "subnets")) {
			if strings.EqualFold(text(subnet, "name"), name) {
				model = subnet
			}
		}
	} else if subnet := find(g.list, id); subnet != nil {
		model = subnet.model
	}
	prefix := text(model, "properties", "addressPrefix")
	if several := texts(dig(model, "properties", "addressPrefixes")); prefix == "" && len(several) > 0 {
		prefix = several[0]
	}
	p, err := netip.ParsePrefix(prefix)
	return p.Masked(), err == nil && p.Addr().Is4() && !loopback
}

// span are the first and the last address of a prefix.
func span(p netip.Prefix) (first, last netip.Addr) {
	a := p.Addr().As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	n |= uint32(1<<(32-p.Bits()) - 1)
	return p.Addr(), netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// room is how many machines a subnet holds by its prefix.
func room(p netip.Prefix) int { return max(0, 1<<(32-p.Bits())-reserved-1) }

// isReserved reports whether Azure keeps an address of a subnet for itself.
func isReserved(p netip.Prefix, a netip.Addr) bool {
	first, last := span(p)
	for range reserved {
		if a == first {
			return true
		}
		first = first.Next()
	}
	return a == last
}

// takenIn are the addresses of a subnet that somebody has, with who has them.
func (st *store) takenIn(subnet string, now time.Time) map[string]string {
	taken := map[string]string{}
	for _, n := range st.interfaces {
		for at, c := range n.configurations() {
			if at < len(n.ips) && strings.EqualFold(subnetOfConfiguration(c), subnet) {
				taken[n.ips[at]] = n.id() + "/ipConfigurations/" + text(c, "name")
			}
		}
	}
	for _, ss := range st.sets {
		if ss.flexible() || !strings.EqualFold(ss.subnet(), subnet) {
			continue
		}
		for _, i := range ss.instances {
			if !i.gone(now) {
				taken[i.ip] = i.interfaceID()
			}
		}
	}
	for _, o := range st.generic.list { // frontends of internal load balancers
		for _, f := range asList(dig(o.model, "properties", "frontendIPConfigurations")) {
			if ip := text(f, "properties", "privateIPAddress"); ip != "" && strings.EqualFold(text(f, "properties", "subnet", "id"), subnet) {
				taken[ip] = o.path + "/frontendIPConfigurations/" + text(f, "name")
			}
		}
	}
	return taken
}

// addressIn is an address for a machine in a subnet; "" when the subnet is full.
func (nw network) addressIn(subnet string, now time.Time) string {
	p, known := nw.store.generic.subnetPrefix(nw.loopback, subnet)
	if !known {
		return nw.nextAddress()
	}
	taken := nw.store.takenIn(subnet, now)
	_, last := span(p)
	for a := p.Addr(); a.Less(last); a = a.Next() {
		if taken[a.String()] == "" && !isReserved(p, a) {
			return a.String()
		}
	}
	return ""
}

// subnet is where the machine's first interface is; "" where nothing says so.
func (i *instance) subnet() string {
	switch {
	case i.uniform():
		return i.set.subnet()
	case len(i.nics) == 0:
		return ""
	}
	return subnetOfConfiguration(asMap(first(dig(i.nics[0].nic.model, "properties", "ipConfigurations"))))
}

// publicAddressOf is the public address of the machine's first interface, as metadata has it; "" without one. Those of standard addresses are not
// there in Azure.
func (g *generic) publicAddressOf(i *instance) string {
	if len(i.nics) == 0 {
		return ""
	}
	public := find(g.list, text(first(dig(i.nics[0].nic.model, "properties", "ipConfigurations")), "properties", "publicIPAddress", "id"))
	if public == nil || strings.EqualFold(text(public.model, "sku", "name"), "Standard") {
		return ""
	}
	return public.address
}

// checkAddress refuses a static address that is not in its subnet, or that Azure or somebody else has. The owner is an interface.
func (nw network) checkAddress(configuration map[string]any, owner string, now time.Time) *problem {
	ip, subnet := text(configuration, "properties", "privateIPAddress"), subnetOfConfiguration(configuration)
	p, known := nw.store.generic.subnetPrefix(nw.loopback, subnet)
	if !known || ip == "" || !strings.EqualFold(text(configuration, "properties", "privateIPAllocationMethod"), "Static") {
		return nil
	}
	a, err := netip.ParseAddr(ip)
	switch by := nw.store.takenIn(subnet, now)[ip]; {
	case err != nil:
		return bad("InvalidIPAddressFormat", "IP address %s is not valid.", ip)
	case !p.Contains(a):
		return bad("PrivateIPAddressNotInSubnet", "Private static IP address %s does not belong to the range of subnet prefix %s.", ip, p)
	case isReserved(p, a):
		return bad("PrivateIPAddressInReservedRange", "Private static IP address %s falls within reserved IP range of subnet prefix %s.", ip, p)
	case by != "" && !within(by, owner):
		return bad("PrivateIPAddressIsAllocated", "IP configuration %s/ipConfigurations/%s is using the private IP address %s which is already allocated to resource %s.",
			owner, text(configuration, "name"), ip, by)
	}
	return nil
}
