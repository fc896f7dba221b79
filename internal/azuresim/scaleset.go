package azuresim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ScaleSet describes a scale set as [Server.AddScaleSet] creates it.
type ScaleSet struct {
	Subscription  string
	ResourceGroup string
	Name          string
	Location      string

	Size   string // sku.name, such as "Standard_D4s_v5"; any name is accepted
	VCPUs  int    // of one instance; counts against Server.Quota
	Family string // the quota family of Size, such as "standardDSv5Family"

	Zones    []string // "1", "2"; instances are balanced over them; none: no zone
	Strict   bool     // the balance of zones is kept at any price; else it is best effort, see FillZones
	Capacity int      // instances that are up from the start
	Tags     map[string]string

	ComputerNamePrefix string // "" means Name
	Priority           string // "Regular" (also ""), "Spot" or "Low"
	EvictionPolicy     string // spot only: "Deallocate" (also "") or "Delete"
	OrchestrationMode  string // "Uniform" (also "") or "Flexible", whose instances are virtual machines with an interface and a disk
	Overprovision      bool   // uniform only: a growth starts a fifth more instances, which vanish when the others are up
	ScaleInPolicy      string // "Default" (also ""), "NewestVM" or "OldestVM"

	// What has the platform restart or delete instances by itself: reads show it, and nothing here acts on it.
	UpgradeMode                          string // "Manual" (also ""), "Automatic" or "Rolling"
	OSUpgrades, Repairs, ZoneRebalancing bool   // automatic ones are enabled

	Subnet       string // resource id of the instances' subnet; "" names none
	MaxDataDisks int    // that an instance of Size takes; 0: 64
	FaultDomains int    // instances are balanced over them, within a zone; 0: one

	SystemAssigned bool     // every instance has an identity of its own; not in a flexible scale set
	Identities     []string // resource ids of user-assigned identities, see AddIdentity

	// ReuseIDs gives the lowest free instance id to a new instance, as Azure may
	// do. Otherwise ids only rise.
	ReuseIDs bool
}

// scaleSet is a scale set in the store.
type scaleSet struct {
	resource

	// model is what writers sent, as JSON has it, and what reads give back,
	// without what the set computes: id, etag, capacity, states.
	model   map[string]any
	version int // of the model; an instance keeps the one it was created from
	etag    int

	traits   traits // of the size, as described
	reuseIDs bool
	doomed   bool // it is deleted, and goes with its last instance

	uniqueID string
	created  time.Time
	born     int // instances ever created; the next monotonic id

	instances  []*instance // ascending by number; gone ones are swept away
	operations []*operation
}

var scaleSetName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_])?$`)

// AddScaleSet puts a scale set in the store, its instances already running. It
// refuses a description that Azure would refuse, and a name that is taken.
func (s *Server) AddScaleSet(d ScaleSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	flexible := d.OrchestrationMode == "Flexible"
	switch {
	case d.Subscription == "" || d.ResourceGroup == "" || d.Location == "":
		return fmt.Errorf("add scale set %q: subscription, resource group and location are required", d.Name)
	case !scaleSetName.MatchString(d.Name):
		return fmt.Errorf("add scale set %q: the name must be 1 to 64 letters, digits, '-', '_' or '.'", d.Name)
	case d.Capacity < 0 || d.Capacity > maxCapacity:
		return fmt.Errorf("add scale set %q: capacity %d is not in 0..%d", d.Name, d.Capacity, maxCapacity)
	case flexible && d.SystemAssigned:
		return fmt.Errorf("add scale set %q: flexible orchestration knows user-assigned identities only", d.Name)
	case flexible && d.Overprovision:
		return fmt.Errorf("add scale set %q: flexible orchestration does not overprovision", d.Name)
	case d.OrchestrationMode != "" && d.OrchestrationMode != "Uniform" && !flexible:
		return fmt.Errorf("add scale set %q: unknown orchestration mode %q", d.Name, d.OrchestrationMode)
	}
	now := s.now()
	s.remember(now)
	ss := &scaleSet{
		resource: resource{d.Subscription, d.ResourceGroup, d.Name, d.Location},
		model:    d.model(), etag: 1, version: 1,
		traits:   traits{d.VCPUs, d.Family, d.MaxDataDisks},
		reuseIDs: d.ReuseIDs, created: now,
	}
	if err := s.store.insert(s.Seed, ss); err != nil {
		return err
	}
	for range d.Capacity {
		i := s.compute().birth(ss, now)
		i.provisioning.succeed(now)
	}
	return nil
}

func (st *store) insert(seed uint64, ss *scaleSet) error {
	if !shelve(&st.sets, ss) {
		return fmt.Errorf("add scale set %q: it exists already", ss.id())
	}
	st.openGroup(ss.resource)
	ss.uniqueID = guid(seed, "scale set", ss.id())
	return nil
}

// model is the description as a writer would have PUT it.
func (d ScaleSet) model() map[string]any {
	profile := map[string]any{
		"priority":  either(d.Priority, "Regular"),
		"osProfile": map[string]any{"computerNamePrefix": either(d.ComputerNamePrefix, d.Name)},
		"storageProfile": map[string]any{
			"imageReference": map[string]any{"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"},
			"osDisk":         map[string]any{"createOption": "FromImage", "caching": "ReadWrite", "managedDisk": map[string]any{"storageAccountType": "Premium_LRS"}},
		},
	}
	if d.Priority == "Spot" || d.Priority == "Low" {
		profile["evictionPolicy"] = either(d.EvictionPolicy, "Deallocate")
		profile["billingProfile"] = map[string]any{"maxPrice": -1}
	}
	m := map[string]any{
		"location": d.Location,
		"sku":      map[string]any{"name": d.Size, "tier": "Standard"},
		"properties": map[string]any{
			"orchestrationMode":     either(d.OrchestrationMode, "Uniform"),
			"overprovision":         d.Overprovision,
			"singlePlacementGroup":  false,
			"upgradePolicy":         map[string]any{"mode": either(d.UpgradeMode, "Manual")},
			"scaleInPolicy":         map[string]any{"rules": []any{either(d.ScaleInPolicy, "Default")}},
			"virtualMachineProfile": profile,
		},
	}
	if len(d.Tags) > 0 {
		m["tags"] = anyMap(d.Tags)
	}
	if len(d.Zones) > 0 {
		m["zones"] = list(d.Zones)
		asMap(m["properties"])["zoneBalance"] = d.Strict
	}
	properties := asMap(m["properties"])
	if d.OSUpgrades {
		asMap(properties["upgradePolicy"])["automaticOSUpgradePolicy"] = map[string]any{"enableAutomaticOSUpgrade": true}
	}
	if d.Repairs {
		properties["automaticRepairsPolicy"] = map[string]any{"enabled": true, "gracePeriod": "PT10M"}
	}
	if d.ZoneRebalancing {
		properties["resiliencyPolicy"] = map[string]any{"automaticZoneRebalancingPolicy": map[string]any{"enabled": true, "rebalanceStrategy": "Recreate", "rebalanceBehavior": "CreateBeforeDelete"}}
	}
	if d.Subnet != "" {
		profile["networkProfile"] = map[string]any{"networkInterfaceConfigurations": []any{map[string]any{
			"name": "nic", "properties": map[string]any{"primary": true, "ipConfigurations": []any{ipConfiguration(d.Subnet)}},
		}}}
	}
	if d.FaultDomains > 0 {
		asMap(m["properties"])["platformFaultDomainCount"] = float64(d.FaultDomains)
	}
	if identity := identityModel(d.SystemAssigned, d.Identities); identity != nil {
		m["identity"] = identity
	}
	return m
}

// identityModel is the identity of a resource as a writer sends it; nil for none.
func identityModel(system bool, assigned []string) map[string]any {
	kind := identityType(system, len(assigned) > 0)
	if kind == "" {
		return nil
	}
	identity := map[string]any{"type": kind}
	if len(assigned) > 0 {
		users := map[string]any{}
		for _, id := range assigned {
			users[id] = map[string]any{}
		}
		identity["userAssignedIdentities"] = users
	}
	return identity
}

// identities are what an identity model gives a machine: one of its own, and the
// resource ids of assigned ones, sorted.
func identities(identity any) (system bool, assigned []string) {
	kind := strings.ToLower(text(identity, "type"))
	if strings.Contains(kind, "userassigned") {
		assigned = slices.Sorted(maps.Keys(asMap(dig(identity, "userAssignedIdentities"))))
	}
	return strings.Contains(kind, "systemassigned"), assigned
}

func identityType(system, user bool) string {
	switch {
	case system && user:
		return "SystemAssigned, UserAssigned"
	case system:
		return "SystemAssigned"
	case user:
		return "UserAssigned"
	}
	return ""
}
