package azuresim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const machinesType = "virtualMachines"

var machinePatterns = []pattern{
	{"LIST", wholePath + "/virtualMachines", machinesType, listMachines},
	{"LIST", groupPath + "/virtualMachines", machinesType, listMachines},
	{"GET", groupPath + "/virtualMachines/{name}", machinesType, getMachine},
	{"PUT", groupPath + "/virtualMachines/{name}", machinesType, putMachine},
	{"PATCH", groupPath + "/virtualMachines/{name}", machinesType, patchMachine},
	{"DELETE", groupPath + "/virtualMachines/{name}", machinesType, deleteMachine},
	{"GET", groupPath + "/virtualMachines/{name}/instanceView", machinesType + "/instanceView", getMachineView},
	{"POST", groupPath + "/virtualMachines/{name}/runCommand", machinesType + "/runcommand", runCommandOnMachine},
	{"POST", groupPath + "/virtualMachines/{name}/{verb}", machinesType, postMachine},
}

// virtualMachine finds a virtual machine by resource id, in flexible scale sets
// and outside any; nil when there is none.
func (st *store) virtualMachine(id string, now time.Time) *instance {
	if i := find(st.machines, id); i != nil && !i.gone(now) {
		return i
	}
	for _, ss := range st.sets {
		for _, i := range ss.instances {
			if !i.uniform() && !i.gone(now) && strings.EqualFold(i.id(), id) {
				return i
			}
		}
	}
	return nil
}

// machineAt is the virtual machine in the path.
func (st *store) machineAt(at route, now time.Time) (*instance, *problem) {
	if i := st.virtualMachine(at.named().path(machineKind), now); i != nil {
		return i, nil
	}
	return nil, resourceNotFound(machineKind, at.name, at.group)
}

// concerns is the name of the scale set, or of the pool, that a request is about, by its path, its
// filter, the machine, the operation or the deployment it names; "" when it is about none.
func (q *request) concerns() string {
	s := q.server
	switch _, kind, _ := strings.Cut(q.route.kind, " "); {
	case q.route.operation != "" && !strings.HasPrefix(kind, "deployments"):
		if o := s.store.operations.byID[strings.ToLower(q.route.operation)]; o != nil && o.set != nil {
			return o.set.name
		}
	case q.route.kind == "LIST "+machinesType:
		if ss := find(s.store.sets, setFilter(q.query)); ss != nil {
			return ss.name
		}
	case strings.HasPrefix(kind, machinesType) && q.route.name != "":
		if i := s.store.virtualMachine(q.route.named().path(machineKind), q.now); i != nil {
			return i.groupName()
		}
	case q.route.kind == "PUT deployments":
		if q.makes = q.making(); q.makes != nil {
			return q.makes.pool
		}
	case strings.HasPrefix(kind, "deployments") && q.route.name != "":
		if d, p := q.store.deployments.find(q.route); p == nil {
			return d.pool
		}
	}
	return q.route.set
}

// setFilter is the scale set id that a list of virtual machines is filtered by;
// "" without a filter.
func setFilter(query url.Values) string {
	filter := strings.TrimSpace(query.Get("$filter"))
	key, id, found := strings.Cut(filter, " eq ")
	if !found || !strings.EqualFold(strings.Trim(key, "' "), "virtualMachineScaleSet/id") {
		return ""
	}
	return strings.Trim(id, "' ")
}

// listMachines lists virtual machines, those of flexible scale sets too. Of a
// subscription it can tell the states without the models, by statusOnly.
func listMachines(q *request) answer {
	filter := setFilter(q.query)
	if filter == "" && q.query.Get("$filter") != "" {
		return bad("InvalidParameter", "The filter '%s' is not supported: use 'virtualMachineScaleSet/id' eq '<id>'.", q.query.Get("$filter")).target("$filter").answer()
	}
	statusOnly := strings.EqualFold(q.query.Get("statusOnly"), "true")
	list, shown := []map[string]any{}, []*instance{}
	for i := range q.store.everyInstance() {
		if i.uniform() || i.gone(q.now) || !i.in(q.route.subscription, q.route.group) ||
			filter != "" && (i.set == nil || !strings.EqualFold(i.set.id(), filter)) {
			continue
		}
		list, shown = append(list, q.store.showMachine(i, statusOnly || expands(q.query, "instanceView"), q.server.Seed, q.server.TenantID, q.now)), append(shown, i)
	}
	if filter == "" && q.fault.ScaleSet != "" {
		q.fault = q.fault.alike(shown)
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(wireID(a), wireID(b)) })
	return page(q, list, wireID)
}

func getMachine(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	body := q.store.showMachine(i, expands(q.query, "instanceView"), q.server.Seed, q.server.TenantID, q.now)
	if data := i.profile("userData"); data != "" && expands(q.query, "userData") {
		asMap(body["properties"])["userData"] = data
	}
	return answer{status: http.StatusOK, body: body}
}

// showMachine is a virtual machine as a read shows it, with what is known of its
// identities.
func (st *store) showMachine(i *instance, expand bool, seed uint64, tenantID string, now time.Time) map[string]any {
	body := i.machineWire(now, expand)
	st.principals.nameIdentities(body)
	if own := asMap(body["identity"]); strings.Contains(strings.ToLower(text(own, "type")), "systemassigned") {
		own["principalId"], own["tenantId"] = guid(seed, "object", i.vmID), tenantOf(seed, tenantID, i.subscription)
	}
	return body
}

func getMachineView(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: i.view(q.now)}
}

func patchMachine(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	w, p := q.readMachine()
	if p != nil {
		return p.answer()
	}
	return q.updateMachine(i, w)
}

// deleteMachine deletes a virtual machine. One of a flexible scale set lowers
// the set's capacity. A forced delete does not wait for the guest to shut down,
// which halves its time (assumed).
func deleteMachine(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return answer{status: http.StatusNoContent}
	}
	if i.deletion.underWay(q.now) {
		return q.async(answer{status: http.StatusAccepted}, q.store.operations.beginOn(q.server.Seed, i, q.now, operation{doomed: []*instance{i}}))
	}
	if strings.EqualFold(q.query.Get("forceDeletion"), "true") {
		i.deletion.takes /= 2
	}
	var o operation
	q.server.compute().doom(&o, i, q.route.kind, q.now)
	if i.set != nil {
		i.set.etag++
	}
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.beginOn(q.server.Seed, i, q.now, o))
}

// postMachine runs an action on a virtual machine.
func postMachine(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	return q.act(i)
}

// act runs an action on one machine of any kind.
func (q *request) act(i *instance) answer {
	switch _, ok := powerActions[q.route.verb]; {
	case q.route.verb == "simulateeviction":
		if !i.spot() {
			return fail(http.StatusConflict, "OperationNotAllowed", "Simulating an eviction is only allowed for spot virtual machines.").answer()
		}
		q.server.compute().events.evict(i, evictionNotice, q.now)
		return answer{status: http.StatusNoContent}
	case q.route.verb == "attachdetachdatadisks":
		return q.attachDetach(i)
	case q.route.verb == "retrievebootdiagnosticsdata":
		return q.retrieveConsole(i)
	case !ok:
		return fail(http.StatusNotFound, "InvalidResourceType", "The simulator has no action '%s' on a machine.", q.route.verb).answer()
	}
	if p := q.server.compute().capacity.checkStart([]*instance{i}, q.route.verb, q.now); p != nil {
		return p.answer()
	}
	var o operation
	q.server.compute().turn(&o, i, q.route.verb, q.route.kind, q.now)
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.beginOn(q.server.Seed, i, q.now, o))
}
