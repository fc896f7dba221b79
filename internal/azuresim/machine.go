package azuresim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Machine describes a virtual machine outside scale sets, such as a control-plane
// node, as [Server.AddMachine] creates it: with one interface, "<name>VMNic", and
// an OS disk, which stay behind when it is deleted.
type Machine struct {
	Subscription    string
	ResourceGroup   string
	Name            string
	Location        string
	Zone            string
	Size            string
	VCPUs           int    // counts against Server.Quota
	Family          string // the quota family of Size
	ComputerName    string // "" means Name
	Priority        string // "Regular" (also ""), "Spot" or "Low"
	EvictionPolicy  string // spot only: "Deallocate" (also "") or "Delete"
	AvailabilitySet string // the name of one in the resource group; "": in none
	Subnet          string // resource id; "" names none
	MaxDataDisks    int    // that it takes; 0: 64
	Tags            map[string]string
	SystemAssigned  bool     // it has an identity of its own
	Identities      []string // resource ids of user-assigned identities, see AddIdentity
}

// AddMachine puts a running machine in the store.
func (s *Server) AddMachine(d Machine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subscription == "" || d.ResourceGroup == "" || d.Name == "" || d.Location == "" {
		return fmt.Errorf("add machine %q: subscription, resource group, name and location are required", d.Name)
	}
	now := s.now()
	r := resource{d.Subscription, d.ResourceGroup, d.Name, d.Location}
	s.remember(now)
	i := &instance{
		resource: r, model: map[string]any{}, called: either(d.ComputerName, d.Name), vmID: guid(s.Seed, "vm", r.path(machineKind)),
		placement: placement{size: d.Size, traits: traits{d.VCPUs, d.Family, d.MaxDataDisks}, zone: d.Zone}, etag: 1,
		created: now, provisioning: provisioning{upAt: now}, deletion: deletion{takes: s.compute().delays.ofDelete(r.path(machineKind))},
	}
	properties := map[string]any{"osProfile": map[string]any{"adminUsername": "azureuser"}}
	if d.Priority != "" {
		properties["priority"] = d.Priority
	}
	if i.model["properties"] = properties; i.spot() {
		properties["evictionPolicy"] = either(d.EvictionPolicy, "Deallocate")
	}
	if d.AvailabilitySet != "" {
		a := find(s.store.available, resource{d.Subscription, d.ResourceGroup, d.AvailabilitySet, d.Location}.path(availabilityKind))
		if a == nil {
			return fmt.Errorf("add machine %q: there is no availability set %q", d.Name, d.AvailabilitySet)
		}
		fault, _ := a.domains()
		i.placement.faultDomain = len(s.store.availableIn(a, now)) % fault
		properties["availabilitySet"] = map[string]any{"id": a.id()}
	}
	if len(d.Tags) > 0 {
		i.model["tags"] = anyMap(d.Tags)
	}
	if identity := identityModel(d.SystemAssigned, d.Identities); identity != nil {
		i.model["identity"] = identity
	}
	if s.store.virtualMachine(i.id(), now) != nil {
		return fmt.Errorf("add machine %q: it exists already", i.id())
	}
	shelve(&s.store.machines, i)
	i.ip = s.compute().network.addressIn(d.Subnet, now)
	s.compute().network.plugNew(i, d.Name+"VMNic", d.Subnet, "Detach")
	s.compute().disks.addOS(i, diskWrite{}, now)
	return nil
}

// MachineState is a machine as an observer outside Azure's interfaces sees it.
type MachineState struct {
	ID           string // resource id
	ScaleSet     string // its name or, of a machine outside scale sets, that of its pool, as its tag poolName says; "" in neither
	InstanceID   string // "" for a machine in neither; the name in a flexible scale set and in a pool
	Name         string
	ComputerName string
	VMID         string
	Size         string
	Location     string
	Zone         string // "1"; "" without zones
	Spot         bool
	PrivateIP    string
	TimeCreated  time.Time

	ProvisioningState string    // Creating, Updating, Succeeded, Failed, Deleting
	PowerState        string    // starting, running, deallocating, deallocated, stopping, stopped; "": never allocated
	BootedAt          time.Time // when it came up; zero while it is not up
	NeverJoins        bool      // its kubelet must not start
	Error             string    // the code it failed with
	Protected         bool      // from scale-in or from what is done to its scale set
}

// Machines is a snapshot of all machines: those outside scale sets first, then
// by scale set and instance id or, in a flexible one, age.
func (s *Server) Machines() []MachineState {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	return slices.Clone(s.still(now).list(&s.store, now))
}

// MachinesSince is what [Server.Machines] answers, and a number for it; nil when nothing can have changed since the look whose number is
// given. The first number is 1.
func (s *Server) MachinesSince(look int) (all []MachineState, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	if number = s.still(now).serial; number == look {
		return nil, number
	}
	return slices.Clone(s.still(now).list(&s.store, now)), number
}

func (st *store) lookAtMachines(now time.Time) []MachineState {
	var all []MachineState
	for i := range st.everyInstance() {
		if i.gone(now) {
			continue
		}
		state := MachineState{
			ID: i.id(), ScaleSet: i.groupName(), Name: i.name(), ComputerName: i.computerName(),
			VMID: i.vmID, Size: i.placement.size, Location: i.location, Zone: i.placement.zone, Spot: i.spot(), PrivateIP: i.ip,
			TimeCreated:       i.created,
			ProvisioningState: i.provisioningState(now), PowerState: i.powerState(now), BootedAt: i.bootedAt(now),
			NeverJoins: i.flaws.neverJoins,
			Protected:  i.protection != (protection{}),
		}
		if state.ScaleSet != "" {
			state.InstanceID = i.instanceID()
		}
		if e := i.failed(now); e != nil {
			state.Error = e.Code
		}
		all = append(all, state)
	}
	return all
}

// computer is what the metadata service says about a machine, whichever kind it
// is.
type computer struct {
	id, name, vmID, computerName  string
	subscription, group, location string
	size, zone, ip                string
	priority, evictionPolicy      string // "" for a regular machine
	set, setID                    string // "" outside scale sets
	tags                          map[string]string
	systemAssigned                bool
	identities                    []string
	instance                      *instance
}

// computer finds a machine by resource id or name; false when there is none, or
// several.
func (st *store) computer(ref string, now time.Time) (computer, bool) {
	i := st.findInstance(ref, now)
	if i == nil {
		return computer{}, false
	}
	c := computer{
		id: i.id(), name: i.name(), vmID: i.vmID, computerName: i.computerName(),
		subscription: i.subscription, group: i.group, location: i.location,
		size: i.placement.size, zone: i.placement.zone, ip: i.ip, set: i.setName(), tags: i.tags(), instance: i,
	}
	identity := i.model["identity"]
	if i.set != nil {
		c.setID = i.set.id()
	}
	if i.uniform() {
		identity, c.tags = i.set.model["identity"], i.taken.tags
	}
	c.systemAssigned, c.identities = identities(identity)
	if i.spot() {
		c.priority, c.evictionPolicy = i.profile("priority"), i.profile("evictionPolicy")
	}
	return c, true
}

// findInstance finds a machine by resource id, or by name when only one bears it;
// nil otherwise.
func (st *store) findInstance(ref string, now time.Time) *instance {
	var found *instance
	several := false
	for i := range st.everyInstance() {
		switch {
		case i.gone(now):
		case strings.EqualFold(i.id(), ref):
			return i
		case strings.EqualFold(i.name(), ref):
			found, several = i, found != nil
		}
	}
	if several {
		return nil
	}
	return found
}
