package azuresim

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// World is a whole Azure written down: what exists, how fast it is, and what will
// go wrong. Names that are left out of scale sets, machines, identities and
// principals are those given once for all.
type World struct {
	// For all that do not say otherwise.
	Tenant        string
	Subscription  string
	ResourceGroup string
	Location      string

	// What the fields of [Server] of the same names are.
	Seed       uint64
	PageSize   int
	Boot       Distribution
	Delete     Distribution
	RetryAfter time.Duration
	Quota      map[string]int
	Throttle   bool
	AnyToken   bool
	RoleDelay  time.Duration

	DirectoryDelay time.Duration
	DetachLag      time.Duration
	DeleteWindow   time.Duration
	CloudName      string
	Audiences      []string
	ADFS           bool

	UpperCaseGroups bool

	SpotCapacity    []SpotRoom
	SubnetAddresses map[string]int // by resource id

	ServicePrincipals []ServicePrincipal
	Identities        []Identity // an id that is a plain name is completed
	Roles             []Role
	RoleAssignments   []RoleAssignment // without a scope they are about the subscription
	Locks             []ManagementLock
	ResourceGroups    []ResourceGroup // beyond those that hold something
	SKUs              []SKU
	ScaleSets         []ScaleSet
	AvailabilitySets  []AvailabilitySet
	Machines          []Machine
	AutoscaleSettings []AutoscaleSetting

	Faults []Fault // from and until may be durations from the start
	Acts   []Act   // what others will do, at a time
}

// SpotRoom is the number of spot machines that Azure has room for, of a size in a
// zone.
type SpotRoom struct {
	Size, Zone string
	Machines   int
}

// ManagementLock is a lock on a scope and everything below it.
type ManagementLock struct {
	Name  string
	Scope string // "": the resource group
	Level LockLevel
}

// LoadWorld reads a world from a YAML or JSON file. Times in it that are
// durations are counted from start.
func LoadWorld(path string, start time.Time) (*World, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load world: %w", err)
	}
	w, err := ParseWorld(raw, start)
	if err != nil {
		return nil, fmt.Errorf("load world %s: %w", path, err)
	}
	return w, nil
}

// ParseWorld reads a world from YAML or JSON.
func ParseWorld(document []byte, start time.Time) (*World, error) {
	w := &World{}
	if err := (decoder{start}).decode(document, w); err != nil {
		return nil, err
	}
	w.complete()
	for n := range w.Faults {
		if err := w.Faults[n].Check(); err != nil {
			return nil, fmt.Errorf("faults[%d]: %w", n, err)
		}
	}
	for n := range w.Acts {
		if err := w.Acts[n].Check(); err != nil {
			return nil, fmt.Errorf("acts[%d].%w", n, err)
		}
	}
	return w, nil
}

// complete writes what is given once for all where it was left out.
func (w *World) complete() {
	or := func(v *string, other string) {
		if *v == "" {
			*v = other
		}
	}
	group := func() string { return "/subscriptions/" + w.Subscription + "/resourceGroups/" + w.ResourceGroup }
	identity := func(id *string) {
		if *id != "" && !strings.HasPrefix(*id, "/") {
			*id = group() + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + *id
		}
	}
	for n := range w.ServicePrincipals {
		or(&w.ServicePrincipals[n].TenantID, w.Tenant)
	}
	for n := range w.Identities {
		or(&w.Identities[n].TenantID, w.Tenant)
		identity(&w.Identities[n].ID)
	}
	for n := range w.RoleAssignments {
		or(&w.RoleAssignments[n].Scope, "/subscriptions/"+w.Subscription)
	}
	for n := range w.Locks {
		or(&w.Locks[n].Scope, group())
	}
	for n := range w.ResourceGroups {
		or(&w.ResourceGroups[n].Subscription, w.Subscription)
		or(&w.ResourceGroups[n].Location, w.Location)
	}
	for n := range w.ScaleSets {
		d := &w.ScaleSets[n]
		or(&d.Subscription, w.Subscription)
		or(&d.ResourceGroup, w.ResourceGroup)
		or(&d.Location, w.Location)
		for k := range d.Identities {
			identity(&d.Identities[k])
		}
	}
	for n := range w.AvailabilitySets {
		d := &w.AvailabilitySets[n]
		or(&d.Subscription, w.Subscription)
		or(&d.ResourceGroup, w.ResourceGroup)
		or(&d.Location, w.Location)
	}
	for n := range w.Machines {
		d := &w.Machines[n]
		or(&d.Subscription, w.Subscription)
		or(&d.ResourceGroup, w.ResourceGroup)
		or(&d.Location, w.Location)
		for k := range d.Identities {
			identity(&d.Identities[k])
		}
	}
}

// Populate puts the world into a server that has not answered a request yet.
func (w *World) Populate(s *Server) error {
	s.Seed, s.PageSize, s.Boot, s.Delete, s.RetryAfter = w.Seed, w.PageSize, w.Boot, w.Delete, w.RetryAfter
	s.Quota, s.Throttle, s.AnyToken, s.TenantID, s.RoleDelay = w.Quota, w.Throttle, w.AnyToken, w.Tenant, w.RoleDelay
	s.DetachLag, s.CloudName, s.Audiences, s.ADFS = w.DetachLag, w.CloudName, w.Audiences, w.ADFS
	s.UpperCaseGroups, s.DeleteWindow, s.DirectoryDelay = w.UpperCaseGroups, w.DeleteWindow, w.DirectoryDelay
	if w.Subscription != "" {
		s.store.empty = append(s.store.empty, w.Subscription)
	}
	for _, room := range w.SpotCapacity {
		if s.SpotCapacity == nil {
			s.SpotCapacity = map[SpotPlace]int{}
		}
		s.SpotCapacity[SpotPlace{room.Size, room.Zone}] = room.Machines
	}
	for subnet, n := range w.SubnetAddresses {
		if s.SubnetAddresses == nil {
			s.SubnetAddresses = map[string]int{}
		}
		s.SubnetAddresses[strings.ToLower(subnet)] = n
	}
	if err := all("servicePrincipals", w.ServicePrincipals, s.AddServicePrincipal); err != nil {
		return err
	}
	if err := all("identities", w.Identities, s.AddIdentity); err != nil {
		return err
	}
	if err := all("resourceGroups", w.ResourceGroups, s.AddResourceGroup); err != nil {
		return err
	}
	if err := all("skus", w.SKUs, s.AddSKU); err != nil {
		return err
	}
	if err := all("scaleSets", w.ScaleSets, s.AddScaleSet); err != nil {
		return err
	}
	if err := all("availabilitySets", w.AvailabilitySets, s.AddAvailabilitySet); err != nil {
		return err
	}
	if err := all("machines", w.Machines, s.AddMachine); err != nil {
		return err
	}
	if err := all("autoscaleSettings", w.AutoscaleSettings, s.AddAutoscaleSetting); err != nil {
		return err
	}
	if err := all("roles", w.Roles, s.AddRole); err != nil {
		return err
	}
	if err := all("roleAssignments", w.RoleAssignments, s.AddRoleAssignment); err != nil {
		return err
	}
	lock := func(l ManagementLock) error { return s.Lock(l.Name, l.Scope, l.Level) }
	if err := all("locks", w.Locks, lock); err != nil {
		return err
	}
	for _, f := range w.Faults {
		s.Inject(f)
	}
	return all("acts", w.Acts, s.Perform)
}

// all adds the items of a list, and says which one was refused.
func all[T any](field string, items []T, add func(T) error) error {
	for n, item := range items {
		if err := add(item); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, n, err)
		}
	}
	return nil
}
