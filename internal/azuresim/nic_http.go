package azuresim

import (
	"net/http"
	"slices"
	"strings"
)

const (
	networkPath  = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network"
	networkWhole = "/subscriptions/{subscription}/providers/Microsoft.Network"
	nicsType     = "networkInterfaces"
)

var interfacePatterns = []pattern{
	{"LIST", networkWhole + "/networkInterfaces", nicsType, listInterfaces},
	{"LIST", networkPath + "/networkInterfaces", nicsType, listInterfaces},
	{"GET", networkPath + "/networkInterfaces/{name}", nicsType, getInterface},
	{"PUT", networkPath + "/networkInterfaces/{name}", nicsType, putInterface},
	{"PATCH", networkPath + "/networkInterfaces/{name}", nicsType, patchInterface},
	{"DELETE", networkPath + "/networkInterfaces/{name}", nicsType, deleteInterface},
	{"GET", networkWhole + "/locations/{location}/operations/{operation}", "operations", getOperation},
	{"LIST", groupPath + "/virtualMachineScaleSets/{set}/networkInterfaces", setsType + "/" + nicsType, listSetInterfaces},
	{"LIST", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}/networkInterfaces", vmsType + "/" + nicsType, listInstanceInterfaces},
	{"GET", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}/networkInterfaces/{name}", vmsType + "/" + nicsType, getInstanceInterface},
}

func listInterfaces(q *request) answer {
	list := []map[string]any{}
	for _, n := range q.store.interfaces {
		if n.in(q.route.subscription, q.route.group) {
			list = append(list, n.wire())
		}
	}
	return page(q, list, wireID)
}

// wireID is a key for pages.
func wireID(m map[string]any) string { return strings.ToLower(text(m, "id")) }

// interfaceAt is the interface in the path.
func (st *store) interfaceAt(at route) (*networkInterface, *problem) {
	if n := find(st.interfaces, at.named().path(interfaceKind)); n != nil {
		return n, nil
	}
	return nil, resourceNotFound(interfaceKind, at.name, at.group)
}

func getInterface(q *request) answer {
	n, p := q.store.interfaceAt(q.route)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: n.wire()}
}

// putInterface creates an interface, or replaces what a writer may write of it:
// its addresses and its machine stay.
func putInterface(q *request) answer {
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	n := find(q.store.interfaces, q.route.named().path(interfaceKind))
	location := text(w, "location")
	model := map[string]any{"location": location, "properties": withoutComputed(asMap(w["properties"]))}
	if w["tags"] != nil {
		model["tags"] = asMap(w["tags"])
	}
	configurations, _ := dig(w, "properties", "ipConfigurations").([]any)
	switch {
	case location == "":
		return bad("LocationRequired", "The location property is required for this definition.").answer()
	case len(configurations) == 0:
		return bad("NetworkInterfaceMustHaveOneIpConfiguration", "Network interface %s must have one or more IP configurations.", q.route.named().path(interfaceKind)).answer()
	}
	for _, c := range configurations {
		if p := q.server.compute().network.checkAddress(asMap(c), q.route.named().path(interfaceKind), q.now); p != nil {
			return p.answer()
		}
	}
	status := http.StatusOK
	if n == nil {
		if p := checkFree(q.http.Header); p != nil {
			return p.answer()
		}
		status = http.StatusCreated
		r := q.route.named()
		r.location = location
		if subnet := subnetOf(w); q.server.compute().network.freeAddresses(subnet, q.now) < len(configurations) {
			return subnetIsFull(subnet).answer()
		}
		n = q.server.compute().network.addInterface(r, model, q.now)
	} else {
		if p := q.checkETag(n.etagText()); p != nil {
			return p.answer()
		}
		n.model = model
		n.etag++
		q.server.compute().network.addressInterface(n, q.now)
	}
	o := q.store.operations.launch(q.server.Seed, interfaceKind, n.location, q.now, operation{single: true})
	return q.async(answer{status: status, body: n.wire()}, o)
}

// withoutComputed drops what a writer sends back of a read.
func withoutComputed(properties map[string]any) map[string]any {
	for _, k := range []string{"provisioningState", "resourceGuid", "virtualMachine", "macAddress", "primary"} {
		delete(properties, k)
	}
	return properties
}

// patchInterface replaces tags, which is all that the network provider patches.
func patchInterface(q *request) answer {
	n, p := q.store.interfaceAt(q.route)
	var w struct {
		Tags map[string]any `json:"tags"`
	}
	if p == nil {
		p = q.decode(&w)
	}
	if p == nil {
		p = q.checkETag(n.etagText())
	}
	if p != nil {
		return p.answer()
	}
	if w.Tags != nil {
		n.model["tags"] = w.Tags
	}
	n.etag++
	return answer{status: http.StatusOK, body: n.wire()}
}

// deleteInterface refuses while a machine uses the interface, or Azure keeps it.
func deleteInterface(q *request) answer {
	n := find(q.store.interfaces, q.route.named().path(interfaceKind))
	if n == nil {
		return answer{status: http.StatusNoContent}
	}
	if n.host != nil {
		return bad("NicInUse",
			"Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.",
			n.id(), n.host.id()).answer()
	}
	if p := n.held("", q.now); p != nil {
		return p.answer()
	}
	q.store.interfaces = slices.DeleteFunc(q.store.interfaces, func(other *networkInterface) bool { return other == n })
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.launch(q.server.Seed, interfaceKind, n.location, q.now, operation{single: true}))
}

// listSetInterfaces lists the interfaces of all uniform instances of a set.
func listSetInterfaces(q *request) answer {
	ss, p := q.store.uniformSetAt(q.route, "networkInterfaces.GET")
	if p != nil {
		return p.answer()
	}
	list := []map[string]any{}
	for _, i := range ss.listed(q.now) {
		list = append(list, i.interfaceWire())
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(wireID(a), wireID(b)) })
	return page(q, list, wireID)
}

func listInstanceInterfaces(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	return page(q, []map[string]any{i.interfaceWire()}, wireID)
}

func getInstanceInterface(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	switch {
	case p != nil:
		return p.answer()
	case !strings.EqualFold(i.interfaceName(), q.route.name):
		return resourceNotFound(interfaceKind, q.route.name, q.route.group).answer()
	}
	return answer{status: http.StatusOK, body: i.interfaceWire()}
}
