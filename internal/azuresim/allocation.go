package azuresim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// SpotPlace is where spot capacity is counted. The size is spelled as scale sets
// and machines spell it; the zone is "" for machines without one.
type SpotPlace struct{ Size, Zone string }

// FillZones says in which zones Azure has no room for new machines from now on,
// whatever their size; none: there is room in all. A scale set over several zones
// whose balance is best effort, as it is unless properties.zoneBalance is true,
// has its machines in its other zones then. Where there is no other one, or the
// balance is strict, they are listed in the zone whose turn it is, and fail.
func (s *Server) FillZones(zones ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fullZones = slices.Clone(zones)
}

// capacity is what Azure has room for, and what it grants a subscription.
type capacity struct {
	store     *store
	fullZones []string
	spot      map[SpotPlace]int // Server.SpotCapacity
	quota     map[string]int    // Server.Quota
}

// zoneFor is where the next instance of the set goes: the zone with the fewest
// live ones, the first of several.
func (cp capacity) zoneFor(ss *scaleSet, now time.Time) string {
	full := func(zone string) bool { return slices.Contains(cp.fullZones, zone) }
	open := slices.DeleteFunc(slices.Clone(ss.zones()), full)
	if strict, _ := dig(ss.model, "properties", "zoneBalance").(bool); strict || len(open) == 0 {
		open = ss.zones()
	}
	return ss.emptiest(open, now)
}

// zoneShortage is the error of a machine in a zone without room, nil where there
// is some.
func (cp capacity) zoneShortage(i *instance) *errorDetail {
	if !slices.Contains(cp.fullZones, i.placement.zone) {
		return nil
	}
	return &errorDetail{Code: "ZonalAllocationFailed", Message: usualMessage("ZonalAllocationFailed"), Target: i.instanceID()}
}

// allocationTime is how long Azure looks for room before it gives up.
const allocationTime = 5 * time.Second

// allot finds room and an address for a new machine. Where there is none, the
// machine is listed, and fails.
func (c compute) allot(i *instance, now time.Time) {
	failure := i.underpriced()
	if failure == nil {
		failure = c.capacity.spotShortage(i, now)
	}
	if failure == nil {
		failure = c.capacity.zoneShortage(i)
	}
	unplugged := !i.uniform() && len(i.nics) == 0
	if failure == nil && (unplugged || i.uniform() && c.network.freeAddresses(i.set.subnet(), now) < 0) {
		failure = &errorDetail{Code: "SubnetIsFull", Message: subnetIsFull(i.set.subnet()).detail.Message, Target: i.instanceID()}
	}
	if failure != nil {
		i.provisioning.fail(now.Add(allocationTime), *failure)
		i.provisioning.upAt = time.Time{}
	}
}

// leastPrice is below what any spot machine costs, in USD an hour.
const leastPrice = 0.0005

// underpriced is the error of a spot machine that is offered less than it costs, nil for any other. The code and the sentence are documented; that the
// operation bears them, and not the answer to the write, is assumed.
func (i *instance) underpriced() *errorDetail {
	properties := i.model["properties"]
	if i.uniform() {
		properties = dig(i.set.model, "properties", "virtualMachineProfile")
	}
	price, offered := dig(properties, "billingProfile", "maxPrice").(float64)
	if !offered || price < 0 || price >= leastPrice || !i.spot() {
		return nil
	}
	return &errorDetail{Code: "SpotPriceGreaterThanProvidedMaxPrice", Target: i.instanceID(), Message: fmt.Sprintf(
		"Unable to perform operation 'Create VM' since the provided max price '%v USD' is lower than the current spot price '%v USD' for Azure Spot VM size '%s'.",
		price, leastPrice, i.placement.size)}
}

// spotShortage is the error of a spot machine that Azure has no room for, nil
// when it has.
func (cp capacity) spotShortage(i *instance, now time.Time) *errorDetail {
	room, limited := cp.spot[SpotPlace{i.placement.size, i.placement.zone}]
	if !limited || !i.spot() {
		return nil
	}
	for other := range cp.store.everyInstance() {
		if other != i && other.spot() && other.placement.size == i.placement.size && other.placement.zone == i.placement.zone && other.allocated(now) {
			room--
		}
	}
	if room > 0 {
		return nil
	}
	code := "AllocationFailed"
	if i.placement.zone != "" {
		code = "ZonalAllocationFailed"
	}
	return &errorDetail{Code: code, Message: usualMessage(code), Target: i.instanceID()}
}

// allocated reports whether the machine holds a place on a host, or is given one.
func (i *instance) allocated(now time.Time) bool {
	return !i.gone(now) && i.provisioning.failAt.IsZero() && i.powerState(now) != "deallocated"
}

// checkSpot refuses instances of a scale set for which no zone has room at all.
func (cp capacity) checkSpot(ss *scaleSet, more int) *problem {
	if more <= 0 || !ss.spot() {
		return nil
	}
	zones := ss.zones()
	if len(zones) == 0 {
		zones = []string{""}
	}
	for _, z := range zones {
		if room, limited := cp.spot[SpotPlace{ss.size(), z}]; !limited || room > 0 {
			return nil
		}
	}
	return fail(http.StatusConflict, "SkuNotAvailable",
		"The requested size for resource '%s' is currently not available in location '%s' zones '%s' for subscription '%s'. Please try another size or deploy to a different location or zones. See https://aka.ms/azureskunotavailable for details.",
		ss.id(), ss.location, strings.Join(zones, ","), ss.subscription)
}

// freeAddresses is what a subnet has left, below zero when more machines want
// one than there are; a subnet without a limit has plenty.
func (nw network) freeAddresses(subnet string, now time.Time) int {
	free, limited := nw.limits[strings.ToLower(subnet)]
	if p, known := nw.store.generic.subnetPrefix(nw.loopback, subnet); known && (!limited || free > room(p)) {
		free, limited = room(p), true
	}
	if !limited {
		return 1 << 20
	}
	for _, n := range nw.store.interfaces {
		for _, c := range n.configurations() {
			if strings.EqualFold(subnetOfConfiguration(c), subnet) {
				free--
			}
		}
	}
	for _, ss := range nw.store.sets {
		if ss.flexible() || !strings.EqualFold(ss.subnet(), subnet) {
			continue
		}
		for _, i := range ss.instances {
			if !i.gone(now) && i.provisioning.failure.Code != "SubnetIsFull" {
				free--
			}
		}
	}
	return free
}

func subnetIsFull(subnet string) *problem {
	_, name, _ := strings.Cut(subnet, "/subnets/")
	return bad("SubnetIsFull", "Subnet %s with id %s does not have enough capacity for the IP addresses that were requested.", name, subnet)
}
