package azuresim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// status is one row of an instance view.
type status struct {
	Code          string `json:"code"`
	Level         string `json:"level"`
	DisplayStatus string `json:"displayStatus"`
	Message       string `json:"message,omitempty"`
	Time          string `json:"time,omitempty"`
}

// instanceView is the run-time state of an instance.
type instanceView struct {
	PlatformUpdateDomain int             `json:"platformUpdateDomain"`
	PlatformFaultDomain  int             `json:"platformFaultDomain"`
	ComputerName         string          `json:"computerName,omitempty"`
	Statuses             []status        `json:"statuses"`
	Agent                *agentView      `json:"vmAgent,omitempty"`
	Extensions           []extensionView `json:"extensions,omitempty"`
}

// instanceBody is an instance as a read shows it.
type instanceBody struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Type       string             `json:"type"`
	Location   string             `json:"location"`
	Tags       map[string]string  `json:"tags,omitempty"`
	ETag       string             `json:"etag"`
	InstanceID string             `json:"instanceId"`
	SKU        skuBody            `json:"sku"`
	Zones      []string           `json:"zones,omitempty"`
	Properties instanceProperties `json:"properties"`
}

type skuBody struct {
	Name string `json:"name"`
	Tier string `json:"tier"`
}

type instanceProperties struct {
	VMID                   string        `json:"vmId"`
	LatestModelApplied     bool          `json:"latestModelApplied"`
	ModelDefinitionApplied string        `json:"modelDefinitionApplied"`
	ProvisioningState      string        `json:"provisioningState"`
	TimeCreated            string        `json:"timeCreated"`
	HardwareProfile        struct{}      `json:"hardwareProfile"`
	OSProfile              osProfile     `json:"osProfile"`
	StorageProfile         any           `json:"storageProfile"`
	NetworkProfile         any           `json:"networkProfile"`
	NetworkConfiguration   any           `json:"networkProfileConfiguration"`
	ProtectionPolicy       *protection   `json:"protectionPolicy,omitempty"`
	InstanceView           *instanceView `json:"instanceView,omitempty"`
}

type osProfile struct {
	ComputerName string `json:"computerName"`
}

func (i *instance) wire(now time.Time, expand bool) instanceBody {
	b := instanceBody{
		ID: i.id(), Name: i.name(), Type: setKind + "/virtualMachines",
		Location: i.set.location, Tags: i.set.tags(), InstanceID: i.instanceID(), SKU: skuBody{i.placement.size, "Standard"},
		ETag: i.etagText(),
		Properties: instanceProperties{
			VMID:                   i.vmID,
			LatestModelApplied:     i.taken.version == i.set.version,
			ModelDefinitionApplied: "VirtualMachineScaleSet",
			ProvisioningState:      i.provisioningState(now),
			TimeCreated:            timestamp(i.created),
			OSProfile:              osProfile{i.computerName()},
			StorageProfile:         i.storageWire(dig(i.set.model, "properties", "virtualMachineProfile", "storageProfile", "imageReference")),
			NetworkConfiguration:   map[string]any{"networkInterfaceConfigurations": append([]any{}, asList(i.taken.network["networkInterfaceConfigurations"])...)},
			NetworkProfile: map[string]any{"networkInterfaces": []any{
				map[string]any{"id": i.interfaceID()},
			}},
		},
	}
	if i.placement.zone != "" {
		b.Zones = []string{i.placement.zone}
	}
	if i.protection != (protection{}) {
		b.Properties.ProtectionPolicy = &i.protection
	}
	if expand {
		v := i.view(now)
		b.Properties.InstanceView = &v
	}
	return b
}

func (i *instance) view(now time.Time) instanceView {
	s := provisioningStatus(i.provisioningState(now), i.created)
	if e := i.failed(now); e != nil {
		s.Code += "/" + e.Code
		s.Message = e.Message
	}
	v := instanceView{PlatformFaultDomain: i.placement.faultDomain, ComputerName: i.computerName(), Statuses: []status{s}}
	if p := i.powerState(now); p != "" {
		v.Statuses = append(v.Statuses, status{Code: "PowerState/" + p, Level: "Info", DisplayStatus: "VM " + p})
	}
	if v.Extensions = i.extensions(); v.Extensions != nil {
		v.Agent = &agentView{"2.12.0.2", []status{{Code: "ProvisioningState/succeeded", Level: "Info", DisplayStatus: "Ready", Message: "Guest Agent is running"}}}
	}
	return v
}

// sortable is a key for pages that sorts as the number does.
func (b instanceBody) sortable() string { return fmt.Sprintf("%10s", b.InstanceID) }

// namedInstance is an instance of a flexible scale set as the list of instances shows it: by its name alone.
type namedInstance struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Location   string `json:"location"`
	InstanceID string `json:"instanceId"`
}

func (b namedInstance) sortable() string { return strings.ToLower(b.InstanceID) }

// listNames is the list of the instances of a flexible scale set, whose states stand in the list of virtual machines.
func (q *request) listNames(ss *scaleSet) answer {
	list := []namedInstance{}
	for _, i := range ss.listed(q.now) {
		name := i.name()
		list = append(list, namedInstance{ss.id() + "/virtualMachines/" + name, name, setKind + "/virtualMachines", ss.location, name})
	}
	return page(q, list, namedInstance.sortable)
}

func listInstances(q *request) answer {
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return p.answer()
	}
	if ss.flexible() {
		return q.listNames(ss)
	}
	wanted, p := instanceFilter(q.query, q.now)
	if p != nil {
		return p.answer()
	}
	list := []instanceBody{}
	for _, i := range ss.listed(q.now) {
		if !wanted(i) {
			continue
		}
		list = append(list, i.wire(q.now, expands(q.query, "instanceView")))
	}
	return page(q, list, instanceBody.sortable)
}

// instanceFilter is what the list of instances is filtered by: one of the two
// documented filters, or none.
func instanceFilter(query url.Values, now time.Time) (func(*instance) bool, *problem) {
	filter := query.Get("$filter")
	if filter == "" {
		return func(*instance) bool { return true }, nil
	}
	const latest = "properties/latestModelApplied eq "
	const power = "startswith(instanceView/statuses/code, 'PowerState') eq true"
	tight := strings.ReplaceAll(filter, " ", "")
	switch {
	case strings.EqualFold(tight, strings.ReplaceAll(power, " ", "")):
		return func(i *instance) bool { return i.powerState(now) != "" }, nil
	case strings.EqualFold(filter, latest+"true"):
		return func(i *instance) bool { return i.taken.version == i.set.version }, nil
	case strings.EqualFold(filter, latest+"false"):
		return func(i *instance) bool { return i.taken.version != i.set.version }, nil
	}
	return nil, bad("InvalidParameter", "The filter '%s' is not supported: use %strue or false, or %s.", filter, latest, power).target("$filter")
}

func expands(query url.Values, what string) bool {
	return strings.EqualFold(query.Get("$expand"), what)
}

// instanceAt is the instance in the path.
func (st *store) instanceAt(at route, method string, now time.Time) (*instance, *problem) {
	ss, p := st.uniformSetAt(at, "virtualMachines."+method)
	if p != nil {
		return nil, p
	}
	if i := ss.instance(at.instance, now); i != nil {
		return i, nil
	}
	return nil, instanceNotFound(ss, at.instance)
}

func getInstance(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: i.wire(q.now, expands(q.query, "instanceView"))}
}

func getInstanceView(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: i.view(q.now)}
}

// putInstance takes the protection policy, the data disks and the pools of its
// interfaces out of a model; the rest of an instance does not change.
func putInstance(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	var w struct {
		Properties struct {
			ProtectionPolicy     *protection `json:"protectionPolicy"`
			NetworkConfiguration *struct {
				Interfaces []any `json:"networkInterfaceConfigurations"`
			} `json:"networkProfileConfiguration"`
			StorageProfile struct {
				DataDisks *[]diskWrite `json:"dataDisks"`
			} `json:"storageProfile"`
		} `json:"properties"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if p := q.checkETag(i.etagText()); p != nil {
		return p.answer()
	}
	if disks := w.Properties.StorageProfile.DataDisks; disks != nil {
		if p := q.server.compute().disks.set(i, *disks, q.now); p != nil {
			return p.answer()
		}
		i.taken.tags = i.set.tags()
	}
	if n := w.Properties.NetworkConfiguration; n != nil && len(n.Interfaces) > 0 {
		i.taken.network = map[string]any{"networkInterfaceConfigurations": n.Interfaces}
	}
	if w.Properties.ProtectionPolicy != nil {
		i.protection = *w.Properties.ProtectionPolicy
	}
	i.etag++
	o := q.store.operations.begin(q.server.Seed, i.set, q.now, operation{})
	return q.async(answer{status: http.StatusOK, body: i.wire(q.now, false)}, o)
}

// deleteInstance is the delete of one instance by its own path.
func deleteInstance(q *request) answer {
	ss, p := q.store.uniformSetAt(q.route, "virtualMachines.DELETE")
	if p != nil {
		return p.answer()
	}
	if ss.instance(q.route.instance, q.now) == nil {
		return answer{status: http.StatusNoContent}
	}
	return q.deleteByID(ss, []string{q.route.instance})
}

// ids is the body of an action on a scale set.
type ids struct {
	InstanceIDs []string `json:"instanceIds"`
}

// postScaleSet runs an action on a scale set.
func postScaleSet(q *request) answer {
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return p.answer()
	}
	var w ids
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	verb := q.route.verb
	_, power := powerActions[verb]
	switch {
	case verb == "converttosingleplacementgroup":
		return ss.convert(q.now)
	case verb != "delete" && verb != "manualupgrade" && !power:
		return fail(http.StatusNotFound, "InvalidResourceType", "The simulator has no action '%s' on a scale set.", verb).answer()
	case len(w.InstanceIDs) == 0 && !power:
		return bad("InvalidParameter", "Required parameter 'instanceIds' is missing (null).").target("instanceIds").answer()
	case len(w.InstanceIDs) == 0: // no ids: all instances
		w.InstanceIDs = []string{"*"}
	}
	if verb == "delete" {
		return q.deleteByID(ss, w.InstanceIDs)
	}
	chosen, p := ss.choose(w.InstanceIDs, q.now)
	switch {
	case p != nil:
		return p.answer()
	case verb == "manualupgrade":
		return q.upgrade(ss, chosen)
	}
	return q.actOn(ss, chosen)
}

// postInstance runs an action on one instance.
func postInstance(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	return q.act(i)
}

// choose resolves instance ids; "*" is all of them but those protected from
// actions on the set. An id that is not listed refuses the whole request.
func (ss *scaleSet) choose(ids []string, now time.Time) ([]*instance, *problem) {
	if slices.Contains(ids, "*") {
		return slices.DeleteFunc(ss.live(now), func(i *instance) bool { return i.protection.FromScaleSetActions }), nil
	}
	var chosen []*instance
	for _, id := range ids {
		i := ss.instance(id, now)
		if i == nil {
			return nil, staleInstance(id)
		}
		if !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}

// deleteByID deletes the named instances, and lowers capacity by as many. A
// scale set refuses a second delete while one runs, or in the window after it was
// accepted.
func (q *request) deleteByID(ss *scaleSet, ids []string) answer {
	for _, o := range ss.operations {
		if window := q.server.DeleteWindow; o.removes(q.now) && (window == 0 || q.now.Before(o.start.Add(window))) {
			return concurrentRequest().answer()
		}
	}
	if q.server.Beliefs.DeadAccepted {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			n, err := strconv.Atoi(id)
			return err == nil && n < ss.born && ss.instance(id, q.now) == nil
		})
	}
	chosen, p := ss.choose(ids, q.now)
	if p != nil {
		return p.answer()
	}
	var o operation
	for _, i := range chosen {
		q.server.compute().doom(&o, i, q.route.kind, q.now)
	}
	ss.etag++
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.begin(q.server.Seed, ss, q.now, o))
}
