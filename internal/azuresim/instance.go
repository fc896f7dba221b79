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
	set        *scaleSet      // nil outside scale sets
	number     int            // the instance id in a uniform scale set; in a flexible one, the count of births before it
	model      map[string]any // a virtual machine as writers sent it, without what is computed; nil for a uniform instance
	called     string         // its computer name; "" in a uniform scale set: the prefix and the number
	vmID       string
	placement  placement
	ip         string
	etag       int
	created    time.Time
	flaws      flaws
	extra      bool // of overprovisioning: no capacity, no quota
	protection protection
	taken      taken
	nics       []*plug // of a virtual machine; the first is the primary one
	drives     []*drive

	provisioning provisioning
	power        power // the last stop or start, if any
	deletion     deletion
}

// placement is where a machine runs, and what it takes there.
type placement struct {
	size        string
	traits      traits
	zone        string
	faultDomain int
}

// taken is what an instance has taken over from its scale set.
type taken struct {
	version int               // of the set's model it was created from
	network map[string]any    // of a uniform one: the networkProfile it was made or last written with; nobody changes it
	tags    map[string]string // as the metadata service tells them: those of the last boot or change of disks
}

// flaws are what faults have done to a machine.
type flaws struct {
	neverJoins bool
	console    string // what its serial console has in the place of the usual; "": the usual
	extension  string // the error of the extension that joins it; "": none
}

// provisioning is how a machine comes up.
type provisioning struct {
	upAt     time.Time   // it is provisioned; zero: never
	failAt   time.Time   // it fails; zero: it does not
	failure  errorDetail // why, when failAt is set
	reported bool        // the machine said that it is provisioned
	awaited  bool        // its report decides: until it comes, failAt is when Azure gives up
}

// deletion is how a machine goes.
type deletion struct {
	takes   time.Duration
	at      time.Time // it was accepted or, for an eviction, will start; zero: none
	goneAt  time.Time // the machine leaves the list; zero with at set: it never does
	failAt  time.Time // it fails; zero: it does not
	failure errorDetail

	lastWord time.Time // of a machine that may finish its work first: until then it runs
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
func (c compute) birth(ss *scaleSet, now time.Time) *instance {
	number := ss.born
	if ss.reuseIDs || c.beliefs.UIDFollowsID {
		number = 0
		for _, i := range ss.listed(now) {
			if i.number != number {
				break
			}
			number++
		}
	}
	key := ss.id() + "#" + strconv.Itoa(ss.born) // an id may come again, the count of births does not
	if c.beliefs.UIDFollowsID {
		key = ss.id() + "#" + strconv.Itoa(number)
	}
	ss.born++
	i := &instance{
		resource: resource{ss.subscription, ss.group, "", ss.location},
		set:      ss, number: number, vmID: guid(c.seed, "vm", key), etag: 1, created: now,
		placement: placement{size: ss.size(), traits: ss.traits, zone: c.capacity.zoneFor(ss, now)},
		ip:        c.network.addressIn(ss.subnet(), now), taken: taken{version: ss.version},
		provisioning: provisioning{upAt: now.Add(c.delays.ofBoot(key))}, deletion: deletion{takes: c.delays.ofDelete(key)},
	}
	i.taken.network = ss.networkProfile()
	i.placement.faultDomain, i.taken.tags = ss.emptiestFaultDomain(i.placement.zone, now), ss.tags()
	if ss.flexible() {
		c.embody(i, key)
	}
	c.await(i, now)
	at, _ := slices.BinarySearchFunc(ss.instances, i.number, func(i *instance, n int) int { return i.number - n })
	ss.instances = slices.Insert(ss.instances, at, i)
	return i
}

// networkProfile is that of the model.
func (ss *scaleSet) networkProfile() map[string]any {
	return asMap(dig(ss.model, "properties", "virtualMachineProfile", "networkProfile"))
}

// emptiest is the one of these zones with the fewest live instances, the first of
// several; "" when there is none.
func (ss *scaleSet) emptiest(zones []string, now time.Time) string {
	count := map[string]int{}
	for _, i := range ss.live(now) {
		count[i.placement.zone]++
	}
	best := ""
	for _, z := range zones {
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
		if i.placement.zone == zone && i.placement.faultDomain < len(count) {
			count[i.placement.faultDomain]++
		}
	}
	return slices.Index(count, slices.Min(count))
}

// nextAddress hands out private addresses of 10.0.0.0/8, none of them twice. Azure
// keeps the first four of a subnet.
func (nw network) nextAddress() string {
	n := nw.store.addresses + 4
	nw.store.addresses++
	network := 10
	if nw.loopback {
		network = 127
	}
	return fmt.Sprintf("%d.%d.%d.%d", network, n>>16&0xff, n>>8&0xff, n&0xff)
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
func (st *store) everyInstance() iter.Seq[*instance] {
	return func(yield func(*instance) bool) {
		for _, i := range st.machines {
			if !yield(i) {
				return
			}
		}
		for _, ss := range st.sets {
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
