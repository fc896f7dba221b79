package azuresim

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// instance is one machine: an instance of a uniform scale set, or a virtual
// machine that is a resource of its own, in a flexible scale set or outside any.
// Its states are functions of these times and of now; nothing has to happen for
// a state to be reached.
type instance struct {
	resource
	set         *scaleSet      // nil outside scale sets
	number      int            // the instance id in a uniform scale set; in a flexible one, the count of births before it
	model       map[string]any // a virtual machine as writers sent it, without what is computed; nil for a uniform instance
	called      string         // its computer name; "" in a uniform scale set: the prefix and the number
	vmID        string
	size        string
	traits      traits
	zone        string
	faultDomain int
	ip          string
	version     int // of the set's model it was created from
	etag        int
	created     time.Time
	neverJoins  bool
	extra       bool // of overprovisioning: no capacity, no quota
	protection  protection
	nics        []*plug // of a virtual machine; the first is the primary one
	drives      []*drive

	upAt      time.Time   // provisioned; zero: never
	failAt    time.Time   // provisioning fails; zero: it does not
	failure   errorDetail // why, when failAt is set
	power     power       // the last stop or start, if any
	deathTime time.Duration

	deleteAt      time.Time // the delete was accepted or, for an eviction, will start; zero: none
	goneAt        time.Time // leaves the list; zero with deleteAt set: it never does
	deleteFailAt  time.Time // the delete fails; zero: it does not
	deleteFailure errorDetail

	preempted *event // announced to the machine; nil: none
}

// power is a change of the power state by hand.
type power struct {
	during, after string
	since, until  time.Time    // zero: no change yet
	failure       *errorDetail // why it came to nothing, when it is over; nil: it did not
}

// protection is an instance's protectionPolicy.
type protection struct {
	FromScaleIn         bool `json:"protectFromScaleIn"`
	FromScaleSetActions bool `json:"protectFromScaleSetActions"`
}

// birth adds an instance whose creation starts now, and lets the faults that
// wait for a machine strike it.
func (s *Server) birth(ss *scaleSet, now time.Time) *instance {
	number := ss.born
	if ss.reuseIDs {
		number = 0
		for _, i := range ss.listed(now) {
			if i.number != number {
				break
			}
			number++
		}
	}
	key := ss.id() + "#" + strconv.Itoa(ss.born) // an id may come again, the count of births does not
	ss.born++
	i := &instance{
		resource: resource{ss.subscription, ss.group, "", ss.location},
		set:      ss, number: number, vmID: s.guid("vm", key), size: ss.size(), traits: ss.traits, zone: ss.emptiestZone(now),
		ip: s.address(), version: ss.version, etag: 1, created: now,
		upAt: now.Add(s.bootTime(key)), deathTime: s.deleteTime(key),
	}
	i.faultDomain = ss.emptiestFaultDomain(i.zone, now)
	if ss.flexible() {
		s.embody(i, key)
	}
	at, _ := slices.BinarySearchFunc(ss.instances, i.number, func(i *instance, n int) int { return i.number - n })
	ss.instances = slices.Insert(ss.instances, at, i)
	return i
}

// emptiestZone is the zone with the fewest live instances, the first of several.
func (ss *scaleSet) emptiestZone(now time.Time) string {
	count := map[string]int{}
	for _, i := range ss.live(now) {
		count[i.zone]++
	}
	best := ""
	for _, z := range ss.zones() {
		if best == "" || count[z] < count[best] {
			best = z
		}
	}
	return best
}

// emptiestFaultDomain is the fault domain of a zone with the fewest live
// instances, the first of several. A model that says nothing of fault domains has
// one.
func (ss *scaleSet) emptiestFaultDomain(zone string, now time.Time) int {
	domains, _ := dig(ss.model, "properties", "platformFaultDomainCount").(float64)
	if domains < 2 {
		return 0
	}
	count := make([]int, int(domains))
	for _, i := range ss.live(now) {
		if i.zone == zone && i.faultDomain < len(count) {
			count[i.faultDomain]++
		}
	}
	return slices.Index(count, slices.Min(count))
}

// address hands out private addresses of 10.0.0.0/8, none of them twice. Azure
// keeps the first four of a subnet.
func (s *Server) address() string {
	n := s.addresses + 4
	s.addresses++
	return fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff)
}

// uniform reports whether the machine is part of its scale set rather than a
// resource of its own.
func (i *instance) uniform() bool { return i.model == nil }

func (i *instance) id() string {
	if i.uniform() {
		return i.set.id() + "/virtualMachines/" + i.instanceID()
	}
	return i.path(machineKind)
}

func (i *instance) name() string {
	if i.uniform() {
		return i.set.name + "_" + i.instanceID()
	}
	return i.resource.name
}

// instanceID names the machine in its scale set.
func (i *instance) instanceID() string {
	if i.uniform() {
		return strconv.Itoa(i.number)
	}
	return i.resource.name
}

// setName is "" outside scale sets.
func (i *instance) setName() string {
	if i.set == nil {
		return ""
	}
	return i.set.name
}

func (i *instance) etagText() string { return strconv.Quote(strconv.Itoa(i.etag)) }

// profile reads a string that stands in the profile of a uniform scale set, or in
// the properties of a virtual machine.
func (i *instance) profile(path ...string) string {
	if i.uniform() {
		return text(dig(i.set.model, "properties", "virtualMachineProfile"), path...)
	}
	return text(i.model["properties"], path...)
}

func (i *instance) spot() bool {
	return i.profile("priority") == "Spot" || i.profile("priority") == "Low"
}

func (i *instance) tags() map[string]string {
	if i.uniform() {
		return i.set.tags()
	}
	return textMap(i.model["tags"])
}

// everyInstance are all machines: those outside scale sets, then by scale set.
func (s *Server) everyInstance() iter.Seq[*instance] {
	return func(yield func(*instance) bool) {
		for _, i := range s.machines {
			if !yield(i) {
				return
			}
		}
		for _, ss := range s.sets {
			for _, i := range ss.instances {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// computerName of a uniform instance is the prefix and the id as six digits of
// base 36.
func (i *instance) computerName() string {
	if i.called != "" {
		return i.called
	}
	n := strconv.FormatInt(int64(i.number), 36)
	return i.set.computerNamePrefix() + strings.Repeat("0", max(0, 6-len(n))) + n
}

// reached reports whether t is set and not after now.
func reached(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func (i *instance) gone(now time.Time) bool { return reached(i.goneAt, now) }

// deleting reports whether a delete is under way: accepted, and not failed.
func (i *instance) deleting(now time.Time) bool {
	return reached(i.deleteAt, now) && !reached(i.deleteFailAt, now)
}

// failed reports the error the instance shows, nil for none.
func (i *instance) failed(now time.Time) *errorDetail {
	switch {
	case i.deleting(now):
		return nil
	case reached(i.deleteFailAt, now):
		return &i.deleteFailure
	case reached(i.failAt, now):
		return &i.failure
	case reached(i.power.until, now):
		return i.power.failure
	}
	return nil
}

func (i *instance) provisioningState(now time.Time) string {
	switch {
	case i.deleting(now):
		return "Deleting"
	case i.failed(now) != nil:
		return "Failed"
	case !reached(i.upAt, now):
		return "Creating"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return "Updating"
	}
	return "Succeeded"
}

// powerState is "" for a machine that was never allocated.
func (i *instance) powerState(now time.Time) string {
	switch {
	case i.deleting(now):
		return "deallocating"
	case reached(i.failAt, now) && !strings.HasPrefix(i.failure.Code, "OS") && !strings.HasPrefix(i.failure.Code, "VM"):
		return ""
	case reached(i.failAt, now) && i.power.after == "":
		return "running"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return i.power.during
	case reached(i.power.until, now):
		return i.power.after
	case !reached(i.upAt, now):
		return "starting"
	}
	return "running"
}

// bootedAt is when the machine last came up; zero while it is not up.
func (i *instance) bootedAt(now time.Time) time.Time {
	switch {
	case i.powerState(now) != "running" || reached(i.failAt, now):
		return time.Time{}
	case i.power.after == "running":
		return i.power.until
	}
	return i.upAt
}

// changes are the times at which a state changes by itself.
func (i *instance) changes() []time.Time {
	return []time.Time{i.settledAt(), i.power.since, i.power.until, i.deleteAt, i.deleteFailAt, i.goneAt}
}

// settledAt ends the waiting for a new instance: it is up, failed, or given up by a
// delete. It is zero when that will never be.
func (i *instance) settledAt() time.Time {
	settled := time.Time{}
	for _, t := range []time.Time{i.upAt, i.failAt, i.deleteAt} {
		if !t.IsZero() && (settled.IsZero() || t.Before(settled)) {
			settled = t
		}
	}
	return settled
}

// kill starts the deletion of an instance at a time.
func (i *instance) kill(at time.Time) {
	i.deleteAt, i.deleteFailAt = at, time.Time{}
	i.goneAt = at.Add(i.deathTime)
}
