package azuresim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// SKU is a size of machine as the resource SKU list shows it.
type SKU struct {
	Name           string // "Standard_D4s_v5"
	Family         string // of the quota: "standardDSv5Family"
	VCPUs          int
	MemoryGB       float64
	GPUs           int
	MaxDataDisks   int
	ResourceDiskGB int      // the temporary disk; 0: none
	Arm            bool     // Arm64 instead of x64
	NoSpot         bool     // it is not offered as spot
	Locations      []string // where it is offered; none: everywhere
	Zones          []string // none: 1, 2 and 3

	Restrictions []Restriction
}

// Restriction says where a subscription may not use a size.
type Restriction struct {
	Reason   string   // "NotAvailableForSubscription" (also "") or "QuotaId"
	Location string   // "": everywhere
	Zones    []string // none: the whole location
}

// catalogue is a list of sizes that stands before the built-in one.
type catalogue []*SKU

// AddSKU adds a size to the list, or replaces the one of its name. Scale sets and
// machines may be of sizes that are not listed; nothing restricts those.
func (s *Server) AddSKU(d SKU) error {
	if d.Name == "" || d.VCPUs <= 0 {
		return fmt.Errorf("add SKU %q: a name and at least one vCPU are required", d.Name)
	}
	for _, r := range d.Restrictions {
		if r.Reason != "" && r.Reason != "QuotaId" && r.Reason != "NotAvailableForSubscription" {
			return fmt.Errorf("add SKU %q: unknown restriction %q", d.Name, r.Reason)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.skus = slices.DeleteFunc(s.store.skus, func(other *SKU) bool { return strings.EqualFold(other.Name, d.Name) })
	s.store.skus = append(s.store.skus, &d)
	return nil
}

// find finds a size by name: one that was added, or a built-in one; nil for none.
func (c catalogue) find(name string) *SKU {
	for _, k := range slices.Concat(c, builtInSKUs) {
		if strings.EqualFold(k.Name, name) {
			return k
		}
	}
	return nil
}

// offered are the sizes that a location has, sorted by name.
func (c catalogue) offered(location string) []*SKU {
	var offered []*SKU
	for _, k := range slices.Concat(c, builtInSKUs) {
		if c.find(k.Name) == k && k.in(location) {
			offered = append(offered, k)
		}
	}
	slices.SortFunc(offered, func(a, b *SKU) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return offered
}

func (k *SKU) in(location string) bool {
	return len(k.Locations) == 0 || slices.ContainsFunc(k.Locations, func(l string) bool { return strings.EqualFold(l, location) })
}

func (k *SKU) zones() []string {
	if len(k.Zones) > 0 {
		return k.Zones
	}
	return []string{"1", "2", "3"}
}

// check refuses new machines of a size that the location does not offer, or
// that is restricted there or in one of their zones. The resource is named in the
// refusal.
func (c catalogue) check(size, resource, subscription, location string, zones []string) *problem {
	k := c.find(size)
	if k == nil {
		return nil
	}
	refused := !k.in(location)
	var closed []string
	for _, r := range k.Restrictions {
		if r.Location != "" && !strings.EqualFold(r.Location, location) {
			continue
		}
		refused = refused || len(r.Zones) == 0
		for _, z := range zones {
			if slices.Contains(r.Zones, z) && !slices.Contains(closed, z) {
				closed = append(closed, z)
			}
		}
	}
	for _, z := range zones {
		if !slices.Contains(k.zones(), z) {
			closed = append(closed, z)
		}
	}
	if !refused && len(closed) == 0 {
		return nil
	}
	if refused {
		closed = zones
	}
	return fail(http.StatusConflict, "SkuNotAvailable",
		"The requested size for resource '%s' is currently not available in location '%s' zones '%s' for subscription '%s'. Please try another size or deploy to a different location or zones. See https://aka.ms/azureskunotavailable for details.",
		resource, location, strings.Join(closed, ","), subscription)
}
