package azuresim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// place is a quota in a location.
type place struct{ location, quota string }

func sortedPlaces(need map[place]int) []place {
	return slices.SortedFunc(maps.Keys(need), func(a, b place) int {
		return cmp.Or(strings.Compare(a.location, b.location), strings.Compare(a.quota, b.quota))
	})
}

// weigh adds what the request would take of the quotas: machines that do not
// exist yet, and what a scale set grows by. It refuses sizes that are not to be
// had. A body that cannot be read weighs nothing, and is refused when its turn
// comes.
func (q *request) weigh(need map[place]int) *problem {
	s := q.server
	var w struct {
		Location string   `json:"location"`
		Zones    []string `json:"zones"`
		SKU      struct {
			Name     string `json:"name"`
			Capacity int    `json:"capacity"`
		} `json:"sku"`
		Properties struct {
			HardwareProfile struct {
				VMSize string `json:"vmSize"`
			} `json:"hardwareProfile"`
			Priority string `json:"priority"`
			Profile  struct {
				Priority string `json:"priority"`
			} `json:"virtualMachineProfile"`
		} `json:"properties"`
	}
	if q.decode(&w) != nil {
		return nil
	}
	size, machines := w.Properties.HardwareProfile.VMSize, 0
	switch q.route.kind {
	case "PUT " + machinesType:
		if s.store.virtualMachine(q.route.named().path(machineKind), q.now) == nil {
			machines = 1
		}
	case "PUT " + setsType:
		size, machines = w.SKU.Name, w.SKU.Capacity
		if ss, p := q.store.scaleSetAt(q.route); p == nil {
			machines -= len(ss.live(q.now))
		}
	}
	if machines <= 0 {
		return nil
	}
	priority := either(w.Properties.Priority, w.Properties.Profile.Priority)
	traits := s.store.traits(size)
	location := strings.ToLower(w.Location)
	need[place{location, instanceQuota}] += machines
	for _, name := range quotasOf(priority == "Spot" || priority == "Low", traits) {
		need[place{location, name}] += machines * traits.vcpus
	}
	return s.store.skus.check(size, either(q.route.set, q.route.name), q.route.subscription, w.Location, w.Zones)
}

// checkNeed refuses more of a quota than is left, as preflight words it.
func (cp capacity) checkNeed(subscription string, of place, required int, now time.Time) *problem {
	d := demand{resource: resource{subscription: subscription, location: of.location}}
	if of.quota == instanceQuota {
		d.machines = required
	} else {
		d.quotas, d.vcpus, d.count = []string{of.quota}, 1, required
	}
	p := cp.checkQuota(d, now)
	if p != nil {
		p.detail.Code = "QuotaExceeded"
	}
	return p
}
