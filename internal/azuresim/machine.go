package azuresim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Machine describes a machine outside scale sets, such as a control-plane node.
// Resource Manager does not show it; its metadata service does.
type Machine struct {
	Subscription   string
	ResourceGroup  string
	Name           string
	Location       string
	Zone           string
	Size           string
	ComputerName   string // "" means Name
	Tags           map[string]string
	SystemAssigned bool     // it has an identity of its own
	Identities     []string // resource ids of user-assigned identities, see AddIdentity
}

// machine is a standalone machine in the store.
type machine struct {
	subscription, group, name string

	d       Machine
	vmID    string
	ip      string
	created time.Time
}

func (m *machine) id() string {
	return "/subscriptions/" + m.subscription + "/resourceGroups/" + m.group +
		"/providers/Microsoft.Compute/virtualMachines/" + m.name
}

// AddMachine puts a running machine in the store.
func (s *Server) AddMachine(d Machine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subscription == "" || d.ResourceGroup == "" || d.Name == "" || d.Location == "" {
		return fmt.Errorf("add machine %q: subscription, resource group, name and location are required", d.Name)
	}
	if d.ComputerName == "" {
		d.ComputerName = d.Name
	}
	m := &machine{subscription: d.Subscription, group: d.ResourceGroup, name: d.Name, d: d, created: s.now()}
	at, taken := slices.BinarySearchFunc(s.machines, m, byID)
	if taken {
		return fmt.Errorf("add machine %q: it exists already", m.id())
	}
	m.vmID, m.ip = s.guid("vm", m.id()), s.address()
	s.machines = slices.Insert(s.machines, at, m)
	return nil
}

// MachineState is a machine as an observer outside Azure's interfaces sees it.
type MachineState struct {
	ID           string // resource id
	ScaleSet     string // its name; "" for a machine outside scale sets
	InstanceID   string // "" for a machine outside scale sets
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
}

// Machines is a snapshot of all machines: those outside scale sets first, then
// by scale set and instance id.
func (s *Server) Machines() []MachineState {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	var all []MachineState
	for _, m := range s.machines {
		all = append(all, MachineState{
			ID: m.id(), Name: m.name, ComputerName: m.d.ComputerName, VMID: m.vmID, Size: m.d.Size, Location: m.d.Location,
			Zone: m.d.Zone, PrivateIP: m.ip, TimeCreated: m.created,
			ProvisioningState: "Succeeded", PowerState: "running", BootedAt: m.created,
		})
	}
	for _, ss := range s.sets {
		for _, i := range ss.listed(now) {
			state := MachineState{
				ID: i.id(), ScaleSet: ss.name, InstanceID: i.instanceID(), Name: i.name(), ComputerName: i.computerName(),
				VMID: i.vmID, Size: i.size, Location: ss.location, Zone: i.zone, Spot: ss.spot(), PrivateIP: i.ip,
				TimeCreated:       i.created,
				ProvisioningState: i.provisioningState(now), PowerState: i.powerState(now), BootedAt: i.bootedAt(now),
				NeverJoins: i.neverJoins,
			}
			if e := i.failed(now); e != nil {
				state.Error = e.Code
			}
			all = append(all, state)
		}
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
	instance                      *instance // nil outside scale sets
}

// computer finds a machine by resource id or name; false when there is none, or
// several.
func (s *Server) computer(ref string, now time.Time) (computer, bool) {
	for _, m := range s.machines {
		if strings.EqualFold(m.id(), ref) || strings.EqualFold(m.name, ref) {
			return computer{
				id: m.id(), name: m.name, vmID: m.vmID, computerName: m.d.ComputerName,
				subscription: m.subscription, group: m.group, location: m.d.Location,
				size: m.d.Size, zone: m.d.Zone, ip: m.ip, tags: m.d.Tags,
				systemAssigned: m.d.SystemAssigned, identities: m.d.Identities,
			}, true
		}
	}
	i := s.findInstance(ref, now)
	if i == nil {
		return computer{}, false
	}
	ss := i.set
	c := computer{
		id: i.id(), name: i.name(), vmID: i.vmID, computerName: i.computerName(),
		subscription: ss.subscription, group: ss.group, location: ss.location,
		size: i.size, zone: i.zone, ip: i.ip, set: ss.name, setID: ss.id(), tags: ss.tags(),
		systemAssigned: ss.systemAssigned, identities: ss.identities, instance: i,
	}
	if ss.spot() {
		c.priority = ss.text("properties", "virtualMachineProfile", "priority")
		c.evictionPolicy = ss.text("properties", "virtualMachineProfile", "evictionPolicy")
	}
	return c, true
}
