package azuresim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machineWrite is the body of a PUT or PATCH of a virtual machine.
type machineWrite struct {
	Location   string         `json:"location"`
	Zones      []string       `json:"zones"`
	Tags       map[string]any `json:"tags"`
	Identity   map[string]any `json:"identity"`
	Plan       map[string]any `json:"plan"`
	Properties struct {
		HardwareProfile struct {
			VMSize string `json:"vmSize"`
		} `json:"hardwareProfile"`
		OSProfile struct {
			ComputerName string `json:"computerName"`
		} `json:"osProfile"`
		NetworkProfile struct {
			Interfaces []interfaceWrite `json:"networkInterfaces"`
		} `json:"networkProfile"`
		StorageProfile struct {
			OSDisk    *diskWrite   `json:"osDisk"`
			DataDisks *[]diskWrite `json:"dataDisks"`
		} `json:"storageProfile"`
		AvailabilitySet reference `json:"availabilitySet"`
		ScaleSet        reference `json:"virtualMachineScaleSet"`
		Priority        string    `json:"priority"`
	} `json:"properties"`

	model map[string]any // the whole body
}

// reference is a reference to another resource.
type reference struct {
	ID string `json:"id"`
}

type interfaceWrite struct {
	ID         string `json:"id"`
	Properties struct {
		Primary      bool   `json:"primary"`
		DeleteOption string `json:"deleteOption"`
	} `json:"properties"`
}

func (q *request) readMachine() (machineWrite, *problem) {
	var w machineWrite
	if p := q.decode(&w); p != nil {
		return w, p
	}
	p := q.decode(&w.model)
	return w, p
}

// putMachine creates a virtual machine, or updates one.
func putMachine(q *request) answer {
	w, p := q.readMachine()
	if p != nil {
		return p.answer()
	}
	if i := q.store.virtualMachine(q.route.named().path(machineKind), q.now); i != nil {
		return q.updateMachine(i, w)
	}
	if p := checkFree(q.http.Header); p != nil {
		return p.answer()
	}
	i, p := q.server.compute().draft(q.route, w, q.now)
	if p != nil {
		return p.answer()
	}
	s := q.server
	for _, n := range w.Properties.NetworkProfile.Interfaces {
		i.plug(find(s.store.interfaces, n.ID), n.Properties.DeleteOption)
	}
	s.compute().disks.addOS(i, *w.Properties.StorageProfile.OSDisk, q.now)
	if disks := w.Properties.StorageProfile.DataDisks; disks != nil {
		for _, d := range *disks {
			s.compute().disks.place(i, d, q.now)
		}
	}
	if i.set != nil {
		i.set.instances = append(i.set.instances, i)
		i.set.etag++
	} else {
		shelve(&s.store.machines, i)
	}
	s.store.openGroup(i.resource)
	if system, _ := identities(i.model["identity"]); system {
		s.store.rights.govern(guid(s.Seed, "object", i.vmID))
	}
	s.compute().await(i, q.now)
	s.compute().strikeNewborn(i, q.route.kind, q.now)
	s.compute().allot(i, q.now)
	o := s.store.operations.beginOn(s.Seed, i, q.now, operation{creates: []*instance{i}})
	return q.async(answer{status: http.StatusCreated, body: q.store.showMachine(i, false, q.server.Seed, q.server.TenantID, q.now)}, o)
}

// draft is the machine of a PUT to a name that is free, when nothing
// speaks against it. It is in no list yet.
func (c compute) draft(at route, w machineWrite, now time.Time) (*instance, *problem) {
	v := w.Properties
	r := at.named()
	r.location = w.Location
	switch {
	case r.location == "":
		return nil, bad("LocationRequired", "The location property is required for this definition.")
	case v.HardwareProfile.VMSize == "":
		return nil, bad("InvalidParameter", "Required parameter 'hardwareProfile.vmSize' is missing (null).").target("hardwareProfile.vmSize")
	case len(v.NetworkProfile.Interfaces) == 0:
		return nil, bad("InvalidParameter", "Required parameter 'networkProfile' is missing (null).").target("networkProfile")
	case v.StorageProfile.OSDisk == nil:
		return nil, bad("InvalidParameter", "Required parameter 'storageProfile.osDisk' is missing (null).").target("storageProfile.osDisk")
	}
	key := r.path(machineKind) + "@" + now.String()
	i := &instance{
		resource: r, model: map[string]any{"properties": withoutSketch(asMap(w.model["properties"]))},
		called: either(v.OSProfile.ComputerName, r.name), vmID: guid(c.seed, "vm", key), etag: 1, created: now,
		placement:    placement{size: v.HardwareProfile.VMSize, traits: c.store.traits(v.HardwareProfile.VMSize)},
		provisioning: provisioning{upAt: now.Add(c.delays.ofBoot(key))}, deletion: deletion{takes: c.delays.ofDelete(key)},
	}
	for _, k := range []string{"tags", "identity", "plan"} {
		if w.model[k] != nil {
			i.model[k] = w.model[k]
		}
	}
	if len(w.Zones) > 0 {
		i.placement.zone = w.Zones[0]
	}
	p := c.store.checkInterfaces(i, w, now)
	if p == nil {
		p = c.store.checkSets(i, w, now)
	}
	if p == nil {
		p = c.disks.checkAll(i, w, now)
	}
	if p == nil {
		p = c.store.skus.check(i.placement.size, r.name, i.subscription, i.location, w.Zones)
	}
	if p != nil {
		return nil, p
	}
	return i, c.capacity.checkQuota(i.demand(1), now)
}

// withoutSketch drops from a machine's properties what the store keeps elsewhere,
// and what a writer sends back of a read.
func withoutSketch(properties map[string]any) map[string]any {
	for _, k := range []string{"vmId", "provisioningState", "timeCreated", "instanceView", "networkProfile"} {
		delete(properties, k)
	}
	storage := asMap(properties["storageProfile"])
	delete(storage, "osDisk")
	delete(storage, "dataDisks")
	return properties
}

// checkInterfaces refuses interfaces that are not there, in use, or kept for
// another machine.
func (st *store) checkInterfaces(i *instance, w machineWrite, now time.Time) *problem {
	primary := func(a, b interfaceWrite) int {
		switch {
		case a.Properties.Primary == b.Properties.Primary:
			return 0
		case a.Properties.Primary:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(w.Properties.NetworkProfile.Interfaces, primary)
	for _, v := range w.Properties.NetworkProfile.Interfaces {
		n := find(st.interfaces, v.ID)
		switch {
		case n == nil:
			return missingReference(v.ID, i.id())
		case n.host != nil && n.host != i:
			return bad("NicInUse", "Network Interface %s is used by existing resource %s.", n.id(), n.host.id())
		}
		if p := n.held(i.id(), now); p != nil {
			return p
		}
	}
	return nil
}

func missingReference(wanted, by string) *problem {
	return bad("InvalidResourceReference",
		"Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", wanted, by)
}

// checkSets finds the availability set and the scale set of a new machine.
func (st *store) checkSets(i *instance, w machineWrite, now time.Time) *problem {
	if id := w.Properties.AvailabilitySet.ID; id != "" {
		a := find(st.available, id)
		switch {
		case a == nil:
			return missingReference(id, i.id())
		case i.placement.zone != "":
			return bad("BadRequest", "Virtual Machine %s cannot be in an availability set and in an availability zone.", i.name())
		}
		in := st.availableIn(a, now)
		if len(in) >= maxAvailable {
			return fail(http.StatusConflict, "OperationNotAllowed",
				"The maximum number of Virtual Machines in Availability Set '%s' is %d.", a.name, maxAvailable)
		}
		fault, _ := a.domains()
		i.placement.faultDomain = len(in) % fault
	}
	if id := w.Properties.ScaleSet.ID; id != "" {
		ss := find(st.sets, id)
		switch {
		case ss == nil:
			return missingReference(id, i.id())
		case !ss.flexible():
			return bad("BadRequest", "Virtual Machine %s cannot be added to Virtual Machine Scale Set %s, whose orchestration mode is Uniform.", i.name(), ss.name)
		}
		if p := ss.checkCapacity(len(ss.live(now)) + 1); p != nil {
			return p
		}
		i.set, i.number = ss, ss.born
		ss.born++
	}
	return nil
}

// checkAll refuses disks that cannot be created or attached. It fills in ids
// and names.
func (ds disks) checkAll(i *instance, w machineWrite, now time.Time) *problem {
	os := w.Properties.StorageProfile.OSDisk
	switch {
	case strings.EqualFold(os.CreateOption, "Attach"):
		if p := ds.checkAttach(i, os, now); p != nil {
			return p
		}
	case os.Name != "":
		r := resource{i.subscription, i.group, os.Name, i.location}
		if find(ds.store.disks, r.path(diskKind)) != nil {
			return diskNameTaken(r)
		}
	}
	if w.Properties.StorageProfile.DataDisks == nil {
		return nil
	}
	return ds.check(i, *w.Properties.StorageProfile.DataDisks, now)
}

// updateMachine merges a write into a virtual machine. The compute provider
// leaves alone what a body does not mention, in a PUT too; tags and data disks
// are replaced as a whole.
func (q *request) updateMachine(i *instance, w machineWrite) answer {
	v := w.Properties
	p := q.checkETag(i.etagText())
	switch {
	case p != nil:
		return p.answer()
	case i.deletion.underWay(q.now):
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Operation 'update VM' is not allowed on VM '%s' since the VM is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete).", i.name()).answer()
	}
	if v.StorageProfile.DataDisks != nil {
		if p := q.server.compute().disks.set(i, *v.StorageProfile.DataDisks, q.now); p != nil {
			return p.answer()
		}
	}
	for _, n := range v.NetworkProfile.Interfaces {
		for _, own := range i.nics {
			if strings.EqualFold(own.nic.id(), n.ID) {
				own.deleteOption = either(n.Properties.DeleteOption, own.deleteOption)
			}
		}
	}
	if os := i.osDrive(); os != nil && v.StorageProfile.OSDisk != nil {
		os.deleteOption = either(v.StorageProfile.OSDisk.DeleteOption, os.deleteOption)
		os.caching = either(v.StorageProfile.OSDisk.Caching, os.caching)
	}
	if size := v.HardwareProfile.VMSize; size != "" && size != i.placement.size {
		i.placement.size, i.placement.traits = size, q.store.traits(size)
	}
	for _, k := range []string{"tags", "identity", "plan"} {
		if w.model[k] != nil {
			i.model[k] = w.model[k]
		}
	}
	i.model["properties"] = merge(asMap(i.model["properties"]), withoutSketch(asMap(w.model["properties"])))
	i.etag++
	var o operation
	if q.http.Method == http.MethodPut && reached(i.provisioning.failAt, q.now) {
		q.server.compute().retry(i, q.route.kind, q.now)
		o.creates = []*instance{i}
	}
	return q.async(answer{status: http.StatusOK, body: q.store.showMachine(i, false, q.server.Seed, q.server.TenantID, q.now)}, q.store.operations.beginOn(q.server.Seed, i, q.now, o))
}

// retry has Azure try once more to provision a machine that has failed, as it does when the machine is written again. What was said of its first
// failure stays said.
func (c compute) retry(i *instance, kind string, now time.Time) {
	for _, o := range c.store.operations.byID {
		if slices.Contains(o.creates, i) && o.ended(now) {
			o.fate = fate{at: o.end(), failure: o.failure(now)}
		}
	}
	i.power, i.provisioning.failAt, i.provisioning.failure = power{}, time.Time{}, errorDetail{}
	i.provisioning.upAt = now.Add(c.delays.ofBoot(i.vmID + "@" + strconv.FormatInt(now.UnixNano(), 10)))
	if i.provisioning.reported {
		i.provisioning.upAt = now
	}
	c.await(i, now)
	c.strikeNewborn(i, kind, now)
	c.allot(i, now)
}
