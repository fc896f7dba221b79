package azuresim

import (
	"slices"
	"strconv"
	"strings"
)

var skuPatterns = []pattern{
	{"LIST", wholePath + "/skus", "skus", listSKUs},
}

// skuWire is one size in one location.
type skuWire struct {
	ResourceType string           `json:"resourceType"`
	Name         string           `json:"name"`
	Tier         string           `json:"tier"`
	Size         string           `json:"size"`
	Family       string           `json:"family"`
	Locations    []string         `json:"locations"`
	LocationInfo []skuLocation    `json:"locationInfo"`
	Capabilities []skuCapability  `json:"capabilities"`
	Restrictions []skuRestriction `json:"restrictions"`
}

type skuLocation struct {
	Location    string   `json:"location"`
	Zones       []string `json:"zones"`
	ZoneDetails []any    `json:"zoneDetails"`
}

type skuCapability struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type skuRestriction struct {
	Type            string             `json:"type"` // Location or Zone
	Values          []string           `json:"values"`
	RestrictionInfo skuRestrictionInfo `json:"restrictionInfo"`
	ReasonCode      string             `json:"reasonCode"`
}

type skuRestrictionInfo struct {
	Locations []string `json:"locations"`
	Zones     []string `json:"zones,omitempty"`
}

func (k *SKU) wire(location string) skuWire {
	tier, size, _ := strings.Cut(k.Name, "_")
	w := skuWire{
		ResourceType: "virtualMachines", Name: k.Name, Tier: tier, Size: size, Family: k.Family,
		Locations:    []string{location},
		LocationInfo: []skuLocation{{Location: location, Zones: k.zones(), ZoneDetails: []any{}}},
		Capabilities: k.capabilities(), Restrictions: []skuRestriction{},
	}
	for _, r := range k.Restrictions {
		if r.Location != "" && !strings.EqualFold(r.Location, location) {
			continue
		}
		body := skuRestriction{
			Type: "Location", Values: []string{location}, ReasonCode: r.Reason,
			RestrictionInfo: skuRestrictionInfo{Locations: []string{location}, Zones: r.Zones},
		}
		if body.ReasonCode == "" {
			body.ReasonCode = "NotAvailableForSubscription"
		}
		if len(r.Zones) > 0 {
			body.Type = "Zone"
		}
		w.Restrictions = append(w.Restrictions, body)
	}
	return w
}

// capabilities are those that clients size machines by. All values are text.
func (k *SKU) capabilities() []skuCapability {
	claim := func(b bool) string {
		if b {
			return "True"
		}
		return "False"
	}
	architecture, generations := "x64", "V1,V2"
	if k.Arm {
		architecture, generations = "Arm64", "V2"
	}
	list := []skuCapability{
		{"MaxResourceVolumeMB", strconv.Itoa(k.ResourceDiskGB * 1024)},
		{"OSVhdSizeMB", "1047552"},
		{"vCPUs", strconv.Itoa(k.VCPUs)},
		{"MemoryGB", strconv.FormatFloat(k.MemoryGB, 'f', -1, 64)},
		{"MaxDataDiskCount", strconv.Itoa(k.MaxDataDisks)},
		{"CpuArchitectureType", architecture},
		{"LowPriorityCapable", claim(!k.NoSpot)},
		{"HyperVGenerations", generations},
		{"PremiumIO", "True"},
		{"vCPUsAvailable", strconv.Itoa(k.VCPUs)},
		{"EphemeralOSDiskSupported", claim(k.ResourceDiskGB > 0)},
		{"AcceleratedNetworkingEnabled", "True"},
	}
	if k.GPUs > 0 {
		list = append(list, skuCapability{"GPUs", strconv.Itoa(k.GPUs)})
	}
	return list
}

// listSKUs knows the filter "location eq 'x'". Without it the list holds the
// locations that have something in them.
func listSKUs(q *request) answer {
	filter := q.query.Get("$filter")
	locations := []string{quoted(filter, "location")}
	switch {
	case filter != "" && locations[0] == "":
		return bad("BadRequest", "The filter '%s' is not supported. Supported: location eq 'value'.", filter).answer()
	case filter == "":
		locations = q.store.locations()
	}
	var list []skuWire
	for _, location := range locations {
		if !hasRegion(q.store.regions(), location) {
			continue // Azure lists nothing then
		}
		for _, k := range q.store.skus.offered(location) {
			list = append(list, k.wire(location))
		}
	}
	key := func(w skuWire) string { return strings.ToLower(w.Locations[0] + "/" + w.Name) }
	slices.SortFunc(list, func(a, b skuWire) int { return strings.Compare(key(a), key(b)) })
	return page(q, list, key)
}

// locations are those that have a scale set or a machine in them.
func (st *store) locations() []string {
	var all []string
	for _, ss := range st.sets {
		all = append(all, strings.ToLower(ss.location))
	}
	for _, m := range st.machines {
		all = append(all, strings.ToLower(m.location))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
