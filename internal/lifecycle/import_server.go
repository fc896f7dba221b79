package lifecycle

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// apiPort is where API servers listen: those of K3s and kubeadm.
const apiPort = "6443"

// find says which machines are servers, and which scale sets are pools. What is known surely goes before what is likely: the API server's word, the tags of
// the tools that make clusters, the way to port 6443, names, and at last that there is no other machine.
func (e *estate) find() {
	var all []thing
	all = append(append(all, e.machines...), e.sets...)
	for _, m := range e.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b thing) int {
		return cmp.Or(cmp.Compare(naturally(a.Name()), naturally(b.Name())), cmp.Compare(a.ID, b.ID))
	})
	for _, by := range []func(thing) string{e.byNode, byTags, e.byBalancer, e.byRule, byName, e.byElimination} {
		for _, t := range all {
			if why := by(t); why != "" {
				e.servers = append(e.servers, t)
				e.why = cmp.Or(e.why, why)
			}
		}
		if len(e.servers) > 0 {
			break
		}
	}
	ids := map[string]bool{}
	for _, t := range e.servers {
		if set := t.text("properties.virtualMachineScaleSet.id"); set != "" { // the machines count, not the set that has them
			e.servers = slices.DeleteFunc(slices.Clone(e.servers), func(t thing) bool { return strings.EqualFold(t.ID, set) })
		}
	}
	for _, t := range e.servers {
		ids[strings.ToLower(t.ID)] = true
		ids[strings.ToLower(t.text("properties.virtualMachineScaleSet.id"))] = true
	}
	for _, set := range e.sets {
		if !ids[strings.ToLower(set.ID)] {
			e.pools = append(e.pools, set)
		}
	}
}

// naturally is a name that sorts by its numbers: node-2 before node-10.
func naturally(name string) string {
	return numbers.ReplaceAllStringFunc(strings.ToLower(name), func(n string) string { return fmt.Sprintf("%012s", n) })
}

var numbers = regexp.MustCompile(`\d+`)

// byNode goes by the nodes that the API server calls its control plane.
func (e *estate) byNode(t thing) string {
	for _, n := range e.known.Nodes {
		if n.Server && e.runs(t, n) {
			return "node " + n.Name + ", which the API server calls its control plane"
		}
	}
	return ""
}

// runs says whether a node is of a machine, or of a machine of a set. Without a provider id of Azure the computer's name says it.
func (e *estate) runs(t thing, n Member) bool {
	id, ofAzure := strings.CutPrefix(strings.ToLower(n.ProviderID), "azure://")
	if ofAzure && t.isSet() {
		member := e.members[id]
		return strings.HasPrefix(id, strings.ToLower(t.ID)+"/") || strings.EqualFold(member.text("properties.virtualMachineScaleSet.id"), t.ID)
	}
	if ofAzure {
		return id == strings.ToLower(t.ID)
	}
	if t.isSet() {
		const random = 6 // characters that Azure puts behind the prefix
		prefix := strings.ToLower(cmp.Or(text(t.profile(), "osProfile.computerNamePrefix"), t.Name()))
		return strings.HasPrefix(strings.ToLower(n.Name), prefix) && len(n.Name) == len(prefix)+random
	}
	return strings.EqualFold(n.Name, cmp.Or(t.text("properties.osProfile.computerName"), t.Name()))
}

// roleTags are the tags by which tools mark machines of the control plane: Cluster API, aks-engine, Kubespray and kOps.
var roleTags = []struct{ name, value, tool string }{
	{"sigs.k8s.io_cluster-api-provider-azure_role", `^control-plane$`, "Cluster API"},
	{"poolName", `^master$`, "aks-engine"},
	{"roles", `(^|,)(kube-master|kube_control_plane)(,|$)`, "Kubespray"},
	{"k8s.io_role_control_plane", `^1$`, "kOps"},
	{"k8s.io_role_master", `^1$`, "kOps"},
}

func byTags(t thing) string {
	for _, r := range roleTags {
		if v, there := t.tags[r.name]; there && regexp.MustCompile(r.value).MatchString(v) {
			return fmt.Sprintf("tag %s=%s, which %s writes", r.name, v, r.tool)
		}
	}
	return ""
}

// byBalancer goes by load balancers that lead to port 6443.
func (e *estate) byBalancer(t thing) string {
	in := map[string]bool{}
	for _, nic := range e.interfacesOf(t) {
		for _, ip := range objects(nic, "properties.ipConfigurations") {
			for _, pool := range objects(ip, "properties.loadBalancerBackendAddressPools") {
				in[strings.ToLower(text(pool, "id"))] = true
			}
			for _, rule := range objects(ip, "properties.loadBalancerInboundNatRules") {
				in[strings.ToLower(text(rule, "id"))] = true
			}
		}
	}
	for _, lb := range e.kind("Microsoft.Network/loadBalancers") {
		for _, rule := range slices.Concat(objects(lb.body, "properties.loadBalancingRules"), objects(lb.body, "properties.inboundNatRules")) {
			id := cmp.Or(text(rule, "properties.backendAddressPool.id"), text(rule, "id"))
			if number(rule, "properties.backendPort") == apiPort && in[strings.ToLower(id)] {
				return "load balancer " + lb.Name() + ", which leads port " + apiPort + " there"
			}
		}
	}
	return ""
}

// byRule goes by security groups of interfaces that let port 6443 in by name. A group that all machines share says nothing.
func (e *estate) byRule(t thing) string {
	for _, nic := range e.interfacesOf(t) {
		group := e.others[strings.ToLower(text(nic, "properties.networkSecurityGroup.id"))]
		for _, rule := range objects(group.body, "properties.securityRules") {
			if allows(rule) && slices.Contains(portsOf(rule), apiPort) && !e.shared(group.ID) {
				return fmt.Sprintf("rule %s of security group %s, which lets port %s in", text(rule, "name"), group.Name(), apiPort)
			}
		}
	}
	return ""
}

// shared says whether a security group is that of the interfaces of a pool too.
func (e *estate) shared(group string) bool {
	return slices.ContainsFunc(e.sets, func(set thing) bool {
		return slices.ContainsFunc(e.interfacesOf(set), func(nic map[string]any) bool {
			return strings.EqualFold(text(nic, "properties.networkSecurityGroup.id"), group)
		})
	}) && len(e.machines) > 0
}

func allows(rule map[string]any) bool {
	return strings.EqualFold(text(rule, "properties.access"), "Allow") && strings.EqualFold(text(rule, "properties.direction"), "Inbound")
}

// portsOf are the ports of a rule as it writes them.
func portsOf(rule map[string]any) []string {
	all := texts(rule, "properties.destinationPortRanges")
	if one := text(rule, "properties.destinationPortRange"); one != "" {
		all = append(all, one)
	}
	return all
}

var serverName = regexp.MustCompile(`(?i)(^|[-_.])(k3s-?server|servers?|masters?|control-?planes?|controllers?|cp)([-_.]?\d+)?([-_.]|$)`)

func byName(t thing) string {
	if serverName.MatchString(t.Name()) {
		return "the name alone"
	}
	return ""
}

func (e *estate) byElimination(t thing) string {
	if len(e.machines) == 1 && len(e.sets) > 0 && !t.isSet() && t.ID == e.machines[0].ID {
		return "being the one machine outside of scale sets"
	}
	return ""
}

// kind are the resources of a kind among those that were read whole, by name.
func (e *estate) kind(kind string) (all []thing) {
	for _, t := range e.others {
		if strings.EqualFold(t.Kind(), kind) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b thing) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// interfacesOf are a machine's interfaces, the primary one first; of a set what its machines' are made from.
func (e *estate) interfacesOf(t thing) (all []map[string]any) {
	if t.isSet() {
		return objects(t.profile(), "networkProfile.networkInterfaceConfigurations")
	}
	for _, ref := range objects(t.body, "properties.networkProfile.networkInterfaces") {
		nic, found := e.interfaces[strings.ToLower(text(ref, "id"))]
		if !found {
			continue
		}
		if primary, _ := dig(ref, "properties.primary").(bool); primary {
			all = slices.Insert(all, 0, nic.body)
		} else {
			all = append(all, nic.body)
		}
	}
	return all
}

// number is a number of an object as text; "" for none.
func number(v any, path string) string {
	if n, ok := dig(v, path).(float64); ok {
		return fmt.Sprint(n)
	}
	return ""
}
