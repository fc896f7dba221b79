package azuresim

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The network around machines: load balancers, public addresses, security groups, route tables, networks and gateways. They are kept as they were
// written, with what Azure adds, and with what hinders a write or a delete. Nothing flows through them.

// networkKind is what is known of a type of Microsoft.Network.
type networkKind struct {
	parts []string // the lists of its properties whose items are resources of their own, as in a path
	inUse func(id string, user string) *problem
}

var networkKinds = map[string]networkKind{
	"microsoft.network/loadbalancers": {
		parts: []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes", "outboundRules", "inboundNatRules", "inboundNatPools"},
		inUse: func(id, user string) *problem {
			return bad("LoadBalancerInUseByVirtualMachineScaleSet",
				"Cannot delete load balancer %s since its child resources are in use by virtual machine scale set %s.", id, user)
		},
	},
	"microsoft.network/publicipaddresses": {inUse: func(id, user string) *problem {
		return bad("PublicIPAddressCannotBeDeleted",
			"Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource. To learn how to do this, see aka.ms/deletepublicip.", id, user)
	}},
	"microsoft.network/networksecuritygroups": {parts: []string{"securityRules"}, inUse: func(id, user string) *problem {
		return bad("InUseNetworkSecurityGroupCannotBeDeleted",
			"Network security group %s cannot be deleted because it is in use by the following resources: %s. In order to delete the Network security group, remove the association with the resource(s). To learn how to do this, see aka.ms/deletensg.", id, user)
	}},
	"microsoft.network/routetables": {parts: []string{"routes"}, inUse: func(id, user string) *problem {
		return bad("InUseRouteTableCannotBeDeleted", "Route table %s is in use and cannot be deleted.", id[strings.LastIndexByte(id, '/')+1:])
	}},
	"microsoft.network/natgateways": {inUse: func(id, user string) *problem {
		return bad("InUseNatGatewayCannotBeDeleted", "Nat Gateway %s cannot be deleted because it is in use by the following resources: %s.", id, user) // (assumed)
	}},
	"microsoft.network/virtualnetworks": {parts: []string{"subnets"}, inUse: subnetInUse},
}

// networkPatterns are the lists of the network's types and of their parts.
var networkPatterns = func() (rows []pattern) {
	for _, kind := range []string{"loadBalancers", "publicIPAddresses", "networkSecurityGroups", "routeTables", "natGateways", "virtualNetworks", "privateLinkServices"} {
		rows = append(rows,
			pattern{"LIST", networkWhole + "/" + kind, kind, listOpaque},
			pattern{"LIST", networkPath + "/" + kind, kind, listOpaque})
		for _, list := range networkKinds[strings.ToLower("Microsoft.Network/"+kind)].parts {
			rows = append(rows, pattern{"LIST", networkPath + "/" + kind + "/{name}/" + list, kind + "/" + list, listParts})
		}
	}
	return rows
}()

func subnetInUse(id, user string) *problem {
	return bad("InUseSubnetCannotBeDeleted",
		"Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", id[strings.LastIndexByte(id, '/')+1:], user)
}

// ofNetwork reports whether a type is known, or is of a part of one that is.
func ofNetwork(kind string) bool {
	kind = strings.ToLower(kind)
	if _, ok := networkKinds[kind]; ok {
		return true
	}
	above, part := cutLast(kind, "/")
	k, ok := networkKinds[above]
	return ok && slices.ContainsFunc(k.parts, func(p string) bool { return strings.EqualFold(p, part) })
}

// part is where something is that was written as a part of another resource, such as a subnet.
type part struct {
	of   *opaque
	list string // the property
	name string
}

// partAt finds the resource that the path's is a part of; false: that is not there, or the path names no part.
func (g *generic) partAt(r route) (part, bool) {
	above, name := cutLast(r.scope, "/")
	above, list := cutLast(above, "/")
	of := find(g.list, above)
	if of == nil {
		return part{}, false
	}
	at := slices.IndexFunc(networkKinds[strings.ToLower(of.kind)].parts, func(p string) bool { return strings.EqualFold(p, list) })
	if at < 0 {
		return part{}, false
	}
	return part{of, networkKinds[strings.ToLower(of.kind)].parts[at], name}, true
}

// items are the parts of the list.
func (p part) items() []any { return asList(dig(p.of.model, "properties", p.list)) }

func (p part) index() int {
	return slices.IndexFunc(p.items(), func(item any) bool { return strings.EqualFold(text(item, "name"), p.name) })
}

// write puts the part in the list, in the place of the one with its name.
func (p part) write(model map[string]any) (created bool) {
	item := maps.Clone(model)
	item["name"], item["properties"] = p.name, maps.Clone(asMap(model["properties"]))
	for _, key := range computedLists {
		delete(asMap(item["properties"]), key)
	}
	items, at := slices.Clone(p.items()), p.index()
	if at < 0 {
		items = append(items, item)
	} else {
		items[at] = item
	}
	p.set(items)
	return at < 0
}

func (p part) set(items []any) {
	properties := maps.Clone(asMap(p.of.model["properties"]))
	properties[p.list] = items
	p.of.model["properties"] = properties
	p.of.version++
}

// wire is the part as a read shows it; nil: it is not there.
func (p part) wire(q *request) map[string]any {
	for _, item := range asList(dig(q.store.show(p.of, q.now), "properties", p.list)) {
		if strings.EqualFold(text(item, "name"), p.name) {
			return asMap(item)
		}
	}
	return nil
}

// putPart writes a part of a resource by its own path.
func (q *request) putPart(p part, model map[string]any) answer {
	candidate := &opaque{path: p.of.path, kind: p.of.kind, name: p.of.name, model: maps.Clone(p.of.model)}
	at := part{candidate, p.list, p.name}
	created := at.write(model)
	if refusal := q.refuseNetwork(candidate.kind, candidate.path, candidate.model); refusal != nil {
		return refusal.answer()
	}
	p.write(model)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return q.written(answer{status: status, body: p.wire(q)}, p.of)
}

func (st *store) deletePart(r route, p part, now time.Time) answer {
	at := p.index()
	if at < 0 {
		return answer{status: http.StatusNoContent}
	}
	if user := st.user(r.scope, now); user != "" && p.list == "subnets" {
		return subnetInUse(r.scope, user).answer()
	}
	p.set(slices.Delete(slices.Clone(p.items()), at, at+1))
	return answer{status: http.StatusOK}
}

// listParts lists the parts of a resource.
func listParts(q *request) answer {
	above, list := cutLast(q.http.URL.Path, "/")
	of := find(q.store.generic.list, above)
	if of == nil {
		return fail(http.StatusNotFound, "ResourceNotFound", "The Resource '%s' was not found.", above).answer()
	}
	items := []map[string]any{}
	for name, v := range asMap(q.store.show(of, q.now)["properties"]) {
		if strings.EqualFold(name, list) {
			for _, item := range asList(v) {
				items = append(items, asMap(item))
			}
		}
	}
	return page(q, items, idOf)
}

// refuseNetwork is what Azure would not write of the network; nil: it would.
func (q *request) refuseNetwork(kind, id string, model map[string]any) *problem {
	if _, known := networkKinds[strings.ToLower(kind)]; !known {
		return nil
	}
	if there := find(q.store.generic.list, id); there != nil {
		if p := q.checkETag(there.etag()); p != nil && strings.EqualFold(q.route.scope, id) {
			return p
		}
	}
	refusal := q.store.refuseRanges(kind, id, model, q.now)
	each := func(key, wanted string) {
		lower := strings.ToLower(wanted)
		switch {
		case refusal != nil:
		case strings.HasPrefix(lower, strings.ToLower(id)+"/"): // a part of itself
			steps := strings.Split(wanted[len(id)+1:], "/")
			inside := part{&opaque{model: model}, partName(kind, steps[0]), steps[len(steps)-1]}
			if len(steps) == 2 && inside.list != "" && inside.index() < 0 {
				refusal = missingReference(wanted, id)
			}
		case strings.EqualFold(key, "publicIPAddress") || strings.EqualFold(key, "publicIpAddresses"):
			refusal = q.store.takePublicAddress(wanted, id, q.now)
		}
	}
	eachReference(model["properties"], "", each)
	return refusal
}

// refuseRanges is what Azure would not write of a network's ranges: a subnet outside of it (MicrosoftDocs/azure-docs, pull request 123869),
// and another range of a subnet that is used (hashicorp/terraform-provider-azurerm, issue 11211).
func (st *store) refuseRanges(kind, id string, model map[string]any, now time.Time) *problem {
	if !strings.EqualFold(kind, "Microsoft.Network/virtualNetworks") {
		return nil
	}
	there := map[string][]string{}
	if o := find(st.generic.list, id); o != nil {
		for _, item := range asList(dig(o.model, "properties", "subnets")) {
			there[strings.ToLower(text(item, "name"))] = subnetPrefixes(item)
		}
	}
	spaces := texts(dig(model, "properties", "addressSpace", "addressPrefixes"))
	for _, item := range asList(dig(model, "properties", "subnets")) {
		name, prefixes := text(item, "name"), subnetPrefixes(item)
		for _, p := range prefixes {
			if len(spaces) > 0 && !slices.ContainsFunc(spaces, func(space string) bool { return rangeHolds(space, p) }) {
				return bad("NetcfgSubnetRangeOutsideVnet", "Subnet '%s' is not valid because its IP address range is outside the IP address range of virtual network '%s'.",
					name, id[strings.LastIndexByte(id, '/')+1:])
			}
		}
		for _, p := range there[strings.ToLower(name)] {
			if !slices.Contains(prefixes, p) && st.user(id+"/subnets/"+name, now) != "" {
				return bad("InUsePrefixCannotBeDeleted", "IpPrefix %s on Subnet %s has active allocations and cannot be deleted.", p, name)
			}
		}
	}
	return nil
}

// subnetPrefixes are the ranges of a subnet as it was written.
func subnetPrefixes(subnet any) []string {
	all := texts(dig(subnet, "properties", "addressPrefixes"))
	if one := text(subnet, "properties", "addressPrefix"); one != "" {
		all = append(all, one)
	}
	return all
}

// rangeHolds says whether a range has another in it; of what is no range it is not known, and true.
func rangeHolds(outer, inner string) bool {
	out, bad := netip.ParsePrefix(outer)
	in, worse := netip.ParsePrefix(inner)
	return bad != nil || worse != nil || out.Bits() <= in.Bits() && out.Contains(in.Addr())
}

// partName is a list of parts as it is spelled; "" for none.
func partName(kind, list string) string {
	parts := networkKinds[strings.ToLower(kind)].parts
	if at := slices.IndexFunc(parts, func(p string) bool { return strings.EqualFold(p, list) }); at >= 0 {
		return parts[at]
	}
	return ""
}

// takePublicAddress refuses a public address that is not there, or that another resource has.
func (st *store) takePublicAddress(wanted, by string, now time.Time) *problem {
	if find(st.generic.list, wanted) == nil {
		return missingReference(wanted, by)
	}
	if user := st.user(wanted, now); user != "" && !within(user, by) {
		return bad("PublicIPAddressInUse", "Resource %s is referencing public IP address %s that is already allocated to resource %s.", by, wanted, user)
	}
	return nil
}

// eachReference calls for every id in a JSON value, with the name of the property that has it.
func eachReference(v any, key string, each func(key, id string)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			eachReference(item, key, each)
		}
	case map[string]any:
		if id, _ := v["id"].(string); strings.HasPrefix(id, "/") {
			each(key, id)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachReference(v[k], k, each)
		}
	}
}

// user is what uses a resource of the network: the interface configuration, machine, or other resource of the network that refers to it; "" for
// none. A scale set uses what its machines do, and the load balancers of its model.
func (st *store) user(id string, now time.Time) (found string) {
	uses := func(model any, by string) {
		eachReference(model, "", func(_, wanted string) {
			if found == "" && (strings.EqualFold(wanted, id) || within(wanted, id)) {
				found = by
			}
		})
	}
	for _, n := range st.interfaces {
		uses(dig(n.model, "properties", "networkSecurityGroup"), n.id())
		for _, c := range n.configurations() {
			if !strings.Contains(strings.ToLower(id), "/loadbalancers/") { // those let go of interfaces
				uses(c["properties"], n.id()+"/ipConfigurations/"+text(c, "name"))
			}
		}
	}
	for _, ss := range st.sets {
		profile := dig(ss.model, "properties", "virtualMachineProfile", "networkProfile")
		if balancer := strings.Contains(strings.ToLower(id), "/loadbalancers/"); balancer || len(ss.live(now)) > 0 {
			uses(profile, ss.id())
		}
	}
	for _, o := range st.generic.list {
		if strings.EqualFold(o.path, id) || within(id, o.path) || !strings.HasPrefix(strings.ToLower(o.kind), "microsoft.network/") {
			continue
		}
		for _, list := range networkKinds[strings.ToLower(o.kind)].parts {
			for _, item := range asList(dig(o.model, "properties", list)) {
				uses(asMap(item)["properties"], o.path+"/"+list+"/"+text(item, "name"))
			}
		}
		uses(o.model["properties"], o.path)
	}
	return found
}

// show is a resource as a read shows it, with what follows from others.
func (st *store) show(o *opaque, now time.Time) map[string]any {
	out := o.wire()
	kind, known := networkKinds[strings.ToLower(o.kind)]
	if !known {
		return out
	}
	properties := asMap(out["properties"])
	out["etag"] = o.etag()
	for _, list := range kind.parts {
		items := []any{}
		for _, item := range asList(properties[list]) {
			if text(item, "name") == "" { // no part: it stays as it was written
				items = append(items, item)
				continue
			}
			item := maps.Clone(asMap(item))
			p := maps.Clone(asMap(item["properties"]))
			p["provisioningState"] = "Succeeded"
			item["id"], item["properties"], item["etag"] = o.path+"/"+list+"/"+text(item, "name"), p, o.etag()
			item["type"] = o.kind + "/" + list
			items = append(items, item)
		}
		properties[list] = items
	}
	switch strings.ToLower(o.kind) {
	case "microsoft.network/publicipaddresses":
		if user := st.user(o.path, now); user != "" {
			key := "ipConfiguration"
			if strings.Contains(strings.ToLower(user), "/natgateways/") {
				key = "natGateway"
			}
			properties[key] = map[string]any{"id": user}
		}
	case "microsoft.network/loadbalancers":
		showRules(properties)
		st.showMembers(properties, now)
	}
	return out
}

// showRules names at frontends, pools and probes of a load balancer the rules that refer to them.
func showRules(properties map[string]any) {
	for _, rules := range []string{"loadBalancingRules", "outboundRules"} {
		for _, rule := range asList(properties[rules]) {
			eachReference(asMap(rule)["properties"], "", func(_, wanted string) {
				for _, list := range []string{"frontendIPConfigurations", "backendAddressPools", "probes"} {
					for _, item := range asList(properties[list]) {
						if strings.EqualFold(text(item, "id"), wanted) {
							p := asMap(asMap(item)["properties"])
							p[rules] = append(asList(p[rules]), map[string]any{"id": text(rule, "id")})
						}
					}
				}
			})
		}
	}
}

// showMembers names the configurations of interfaces in the pools of a load balancer.
func (st *store) showMembers(properties map[string]any, now time.Time) {
	for _, pool := range asList(properties["backendAddressPools"]) {
		id, members := text(pool, "id"), []any{}
		in := func(c map[string]any) bool {
			return slices.ContainsFunc(asList(dig(c, "properties", "loadBalancerBackendAddressPools")), func(p any) bool { return strings.EqualFold(text(p, "id"), id) })
		}
		for _, n := range st.interfaces {
			for _, c := range n.configurations() {
				if in(c) {
					members = append(members, map[string]any{"id": n.id() + "/ipConfigurations/" + text(c, "name")})
				}
			}
		}
		for _, ss := range st.sets {
			for _, i := range ss.listed(now) {
				if ss.flexible() {
					continue
				}
				for _, c := range asList(dig(i.interfaceWire(), "properties", "ipConfigurations")) {
					if in(asMap(c)) {
						members = append(members, map[string]any{"id": text(c, "id")})
					}
				}
			}
		}
		if len(members) > 0 {
			asMap(asMap(pool)["properties"])["backendIPConfigurations"] = members
		}
	}
}

// computedLists are what reads show of others in parts of a load balancer, a network or a group, and writers send back.
var computedLists = []string{"loadBalancingRules", "outboundRules", "inboundNatRules", "inboundNatPools", "backendIPConfigurations", "ipConfigurations"}

// withoutOthers drops from what is written of the network what reads show of other resources.
func withoutOthers(kind string, model map[string]any) map[string]any {
	known, ok := networkKinds[strings.ToLower(kind)]
	if !ok {
		return model
	}
	properties := maps.Clone(asMap(model["properties"]))
	for _, key := range []string{"ipConfiguration", "natGateway", "networkInterfaces"} {
		delete(properties, key)
	}
	if !strings.EqualFold(kind, "Microsoft.Network/virtualNetworks") {
		delete(properties, "subnets") // of security groups and route tables
	}
	for _, list := range known.parts {
		items := []any{}
		for _, item := range asList(properties[list]) {
			if text(item, "name") == "" {
				items = append(items, item)
				continue
			}
			item, p := maps.Clone(asMap(item)), maps.Clone(asMap(asMap(item)["properties"]))
			for _, key := range computedLists {
				delete(p, key)
			}
			item["properties"] = p
			items = append(items, item)
		}
		if properties[list] != nil {
			properties[list] = items
		}
	}
	model = maps.Clone(model)
	model["properties"] = properties
	return model
}

// etag of a resource of the network.
func (o *opaque) etag() string {
	return fmt.Sprintf(`W/"%s-%d"`, fmt.Sprintf("%08x", hash(o.path)), o.version)
}

// publicAddress gives a public address to a resource: of the blocks for documentation, each once as long as there are some.
func (g *generic) publicAddress(path string) string {
	taken := map[string]bool{}
	for _, o := range g.list {
		taken[o.address] = true
	}
	const each = 254
	blocks := []string{"203.0.113", "198.51.100", "192.0.2"}
	start := int(hash(path) % each)
	for _, block := range blocks {
		for n := range each {
			if a := fmt.Sprintf("%s.%d", block, 1+(start+n)%each); !taken[a] {
				return a
			}
		}
	}
	return fmt.Sprintf("%s.%d", blocks[0], 1+start)
}
