package azuresim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	Capacity int      // instances that are up from the start
	Tags     map[string]string

	ComputerNamePrefix string // "" means Name
	Priority           string // "Regular" (also ""), "Spot" or "Low"
	EvictionPolicy     string // spot only: "Deallocate" (also "") or "Delete"
	OrchestrationMode  string // "Uniform" (also "") or "Flexible", whose instances are not simulated
	Overprovision      bool   // reported, not performed
	ScaleInPolicy      string // "Default" (also ""), "NewestVM" or "OldestVM"

	SystemAssigned bool     // every instance has an identity of its own
	Identities     []string // resource ids of user-assigned identities, see AddIdentity

	// ReuseIDs gives the lowest free instance id to a new instance, as Azure may
	// do. Otherwise ids only rise.
	ReuseIDs bool
}

// scaleSet is a scale set in the store.
type scaleSet struct {
	subscription, group, name, location string

	// model is what writers sent, as JSON has it, and what reads give back,
	// without what the set computes: id, etag, capacity, states.
	model   map[string]any
	version int // of the model; an instance keeps the one it was created from
	etag    int

	vcpus          int
	family         string
	systemAssigned bool
	identities     []string
	reuseIDs       bool

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
	case flexible && d.Capacity > 0:
		return fmt.Errorf("add scale set %q: instances of flexible scale sets are not simulated", d.Name)
	case d.OrchestrationMode != "" && d.OrchestrationMode != "Uniform" && !flexible:
		return fmt.Errorf("add scale set %q: unknown orchestration mode %q", d.Name, d.OrchestrationMode)
	}
	now := s.now()
	ss := &scaleSet{
		subscription: d.Subscription, group: d.ResourceGroup, name: d.Name, location: d.Location,
		model: d.model(), etag: 1, version: 1,
		vcpus: d.VCPUs, family: d.Family,
		systemAssigned: d.SystemAssigned, identities: slices.Clone(d.Identities),
		reuseIDs: d.ReuseIDs, created: now,
	}
	if err := s.insert(ss); err != nil {
		return err
	}
	for range d.Capacity {
		i := s.birth(ss, now)
		i.upAt = now
	}
	return nil
}

func (s *Server) insert(ss *scaleSet) error {
	at, taken := slices.BinarySearchFunc(s.sets, ss, byID)
	if taken {
		return fmt.Errorf("add scale set %q: it exists already", ss.id())
	}
	ss.uniqueID = s.guid("scale set", ss.id())
	s.sets = slices.Insert(s.sets, at, ss)
	return nil
}

// model is the description as a writer would have PUT it.
func (d ScaleSet) model() map[string]any {
	or := func(v, other string) string {
		if v == "" {
			return other
		}
		return v
	}
	profile := map[string]any{
		"priority":  or(d.Priority, "Regular"),
		"osProfile": map[string]any{"computerNamePrefix": or(d.ComputerNamePrefix, d.Name)},
	}
	if d.Priority == "Spot" || d.Priority == "Low" {
		profile["evictionPolicy"] = or(d.EvictionPolicy, "Deallocate")
		profile["billingProfile"] = map[string]any{"maxPrice": -1}
	}
	m := map[string]any{
		"location": d.Location,
		"sku":      map[string]any{"name": d.Size, "tier": "Standard"},
		"properties": map[string]any{
			"orchestrationMode":     or(d.OrchestrationMode, "Uniform"),
			"overprovision":         d.Overprovision,
			"singlePlacementGroup":  false,
			"upgradePolicy":         map[string]any{"mode": "Manual"},
			"scaleInPolicy":         map[string]any{"rules": []any{or(d.ScaleInPolicy, "Default")}},
			"virtualMachineProfile": profile,
		},
	}
	if len(d.Tags) > 0 {
		m["tags"] = anyMap(d.Tags)
	}
	if len(d.Zones) > 0 {
		var zones []any
		for _, z := range d.Zones {
			zones = append(zones, z)
		}
		m["zones"] = zones
	}
	if kind := identityType(d.SystemAssigned, len(d.Identities) > 0); kind != "" {
		identity := map[string]any{"type": kind}
		if len(d.Identities) > 0 {
			users := map[string]any{}
			for _, id := range d.Identities {
				users[id] = map[string]any{}
			}
			identity["userAssignedIdentities"] = users
		}
		m["identity"] = identity
	}
	return m
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

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (ss *scaleSet) id() string {
	return "/subscriptions/" + ss.subscription + "/resourceGroups/" + ss.group +
		"/providers/Microsoft.Compute/virtualMachineScaleSets/" + ss.name
}

// text reads a string in the model; "" when a step of the path is missing.
func (ss *scaleSet) text(path ...string) string {
	v, _ := dig(ss.model, path...).(string)
	return v
}

func dig(v any, path ...string) any {
	for _, step := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[step]
	}
	return v
}

func (ss *scaleSet) size() string   { return ss.text("sku", "name") }
func (ss *scaleSet) flexible() bool { return ss.text("properties", "orchestrationMode") == "Flexible" }

func (ss *scaleSet) spot() bool {
	p := ss.text("properties", "virtualMachineProfile", "priority")
	return p == "Spot" || p == "Low"
}

func (ss *scaleSet) computerNamePrefix() string {
	if p := ss.text("properties", "virtualMachineProfile", "osProfile", "computerNamePrefix"); p != "" {
		return p
	}
	return ss.name
}

func (ss *scaleSet) zones() []string {
	list, _ := ss.model["zones"].([]any)
	var zones []string
	for _, z := range list {
		if z, ok := z.(string); ok {
			zones = append(zones, z)
		}
	}
	return zones
}

func (ss *scaleSet) tags() map[string]string {
	tags := map[string]string{}
	raw, _ := ss.model["tags"].(map[string]any)
	for k, v := range raw {
		tags[k], _ = v.(string)
	}
	return tags
}

// live are the instances that count toward capacity: all that are listed and not
// being deleted, failed and deallocated ones included.
func (ss *scaleSet) live(now time.Time) []*instance {
	var live []*instance
	for _, i := range ss.instances {
		if !i.gone(now) && !i.deleting(now) {
			live = append(live, i)
		}
	}
	return live
}

// listed are the instances that reads show.
func (ss *scaleSet) listed(now time.Time) []*instance {
	return slices.DeleteFunc(slices.Clone(ss.instances), func(i *instance) bool { return i.gone(now) })
}

func (ss *scaleSet) instance(id string, now time.Time) *instance {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	for _, i := range ss.instances {
		if i.number == n && !i.gone(now) {
			return i
		}
	}
	return nil
}

func (ss *scaleSet) provisioningState(now time.Time) string {
	for _, o := range ss.operations {
		if !o.ended(now) {
			return "Updating"
		}
	}
	if n := len(ss.operations); n > 0 && ss.operations[n-1].failure(now) != nil {
		return "Failed"
	}
	return "Succeeded"
}

func (ss *scaleSet) etagText() string { return strconv.Quote(strconv.Itoa(ss.etag)) }

// wire is the scale set as a read shows it. A null capacity is one of the faults.
func (ss *scaleSet) wire(now time.Time, nullCapacity bool) map[string]any {
	out := maps.Clone(ss.model)
	sku := maps.Clone(asMap(ss.model["sku"]))
	sku["capacity"] = len(ss.live(now))
	if nullCapacity {
		sku["capacity"] = nil
	}
	properties := withoutSecrets(asMap(ss.model["properties"])).(map[string]any)
	properties["provisioningState"] = ss.provisioningState(now)
	properties["uniqueId"] = ss.uniqueID
	properties["timeCreated"] = timestamp(ss.created)
	out["sku"], out["properties"] = sku, properties
	out["id"], out["name"], out["type"] = ss.id(), ss.name, "Microsoft.Compute/virtualMachineScaleSets"
	out["etag"] = ss.etagText()
	return out
}

// asMap is v, or an empty map when v is not one.
func asMap(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

// withoutSecrets is a deep copy of v without what Azure stores and never returns.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			if k != "customData" && k != "adminPassword" && k != "userData" && k != "protectedSettings" {
				out[k] = withoutSecrets(item)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, item := range v {
			out[n] = withoutSecrets(item)
		}
		return out
	}
	return v
}

// timestamp is Azure's rendering of a time in a body.
func timestamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.0000000-07:00") }
