package azuresim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// store is what there is in Azure: all that an answer to a read follows from,
// besides the time and the server's settings.
type store struct {
	sets        []*scaleSet // sorted by lower-case id
	machines    []*instance // outside scale sets, sorted by lower-case id
	available   []*availabilitySet
	interfaces  []*networkInterface // stand-alone ones: those of uniform instances follow from the instances
	disks       []*disk
	generic     generic
	groups      []*resourceGroup // sorted by lower-case id
	empty       []string         // subscriptions that are there also without a group
	deployments deployments      // sorted by lower-case id
	principals  directory
	rights      rights
	events      []*event             // in the order of their announcement, past ones too: documents count them
	listening   map[string]listening // by vmId
	skus        catalogue            // that were added; they come before the built-in ones
	autoscale   autoscaleSettings    // sorted by lower-case id
	operations  operations
	addresses   uint32 // private ones handed out so far
}

// clone is a copy of the store that no change of the original reaches. The two
// share what nobody changes once it is made: errors, sizes, certificates,
// evaluated templates.
func (st *store) clone() store {
	c := copier{}
	to := *st
	to.sets = each(st.sets, c.scaleSet)
	to.machines = each(st.machines, c.instance)
	to.available = each(st.available, c.availabilitySet)
	to.interfaces = each(st.interfaces, c.networkInterface)
	to.disks = each(st.disks, c.disk)
	to.generic.list = each(st.generic.list, c.opaque)
	to.generic.removals = each(st.generic.removals, c.removal)
	to.groups = each(st.groups, c.resourceGroup)
	to.empty = slices.Clone(st.empty)
	to.deployments = each(st.deployments, c.deployment)
	to.principals = each(st.principals, c.principal)
	to.rights.roles = each(st.rights.roles, c.role)
	to.rights.assignments = each(st.rights.assignments, c.assignment)
	to.rights.governed = maps.Clone(st.rights.governed)
	to.rights.locks = each(st.rights.locks, c.lock)
	to.events = each(st.events, c.event)
	to.listening = maps.Clone(st.listening)
	to.skus = slices.Clone(st.skus)
	to.autoscale = each(st.autoscale, c.autoscaleSetting)
	to.operations.byID = maps.Clone(st.operations.byID)
	for id, o := range to.operations.byID {
		to.operations.byID[id] = c.operation(o)
	}
	return to
}

// scaleSet finds a scale set by resource id, or by name when only one bears it;
// nil when there is none.
func (st *store) scaleSet(ref string) *scaleSet {
	var found *scaleSet
	for _, ss := range st.sets {
		if strings.EqualFold(ss.id(), ref) {
			return ss
		}
		if strings.EqualFold(ss.name, ref) {
			if found != nil {
				return nil
			}
			found = ss
		}
	}
	return found
}

// hasGone reports whether a machine has left that the store still has.
func (st *store) hasGone(now time.Time) bool {
	for i := range st.everyInstance() {
		if i.gone(now) {
			return true
		}
	}
	return false
}

// discard forgets, for [Server.sweep].
func (st *store) discard(ds disks, now time.Time) {
	left := func(i *instance) bool {
		if i.gone(now) {
			ds.bury(i)
		}
		return i.gone(now)
	}
	st.machines = slices.DeleteFunc(st.machines, left)
	st.sets = slices.DeleteFunc(st.sets, func(ss *scaleSet) bool {
		ss.instances = slices.DeleteFunc(ss.instances, left)
		return ss.doomed && len(ss.instances) == 0
	})
	for _, ss := range st.sets {
		if n := len(ss.operations); n > 1 { // the last one decides the set's state for as long as it is the last
			kept := slices.DeleteFunc(ss.operations[:n-1], func(o *operation) bool { return o.forgotten(now) })
			ss.operations = append(kept, ss.operations[n-1])
		}
	}
	for id, o := range st.operations.byID {
		if o.forgotten(now) {
			delete(st.operations.byID, id)
		}
	}
}

// copier copies what refers to each other, each thing once: it holds the copies by
// their originals.
type copier map[any]any

// once is the copy of a thing, made when it is first asked for. The copy starts
// as equal; part then gives it its own of what the original refers to.
func once[T any](c copier, from *T, part func(to *T)) *T {
	if from == nil {
		return nil
	}
	if to, made := c[from]; made {
		return to.(*T)
	}
	to := new(T)
	*to = *from
	c[from] = to // before its parts, which may lead back to it
	part(to)
	return to
}

func (c copier) scaleSet(from *scaleSet) *scaleSet {
	return once(c, from, func(to *scaleSet) {
		to.model = cloneObject(from.model)
		to.instances = each(from.instances, c.instance)
		to.operations = each(from.operations, c.operation)
	})
}

func (c copier) instance(from *instance) *instance {
	return once(c, from, func(to *instance) {
		to.set = c.scaleSet(from.set)
		to.model, to.taken.tags = cloneObject(from.model), maps.Clone(from.taken.tags)
		to.nics = each(from.nics, c.plug)
		to.drives = each(from.drives, c.drive)
	})
}

func (c copier) plug(from *plug) *plug {
	return once(c, from, func(to *plug) { to.nic = c.networkInterface(from.nic) })
}

func (c copier) drive(from *drive) *drive {
	return once(c, from, func(to *drive) { to.disk = c.disk(from.disk) })
}

func (c copier) networkInterface(from *networkInterface) *networkInterface {
	return once(c, from, func(to *networkInterface) {
		to.model, to.ips, to.host = cloneObject(from.model), slices.Clone(from.ips), c.instance(from.host)
	})
}

func (c copier) disk(from *disk) *disk {
	return once(c, from, func(to *disk) { to.model, to.holder = cloneObject(from.model), c.instance(from.holder) })
}

func (c copier) availabilitySet(from *availabilitySet) *availabilitySet {
	return once(c, from, func(to *availabilitySet) { to.model = cloneObject(from.model) })
}

func (c copier) opaque(from *opaque) *opaque {
	return once(c, from, func(to *opaque) { to.model = cloneObject(from.model) })
}

func (c copier) removal(from *removal) *removal {
	return once(c, from, func(to *removal) { to.opaque, to.parts = c.opaque(from.opaque), each(from.parts, c.opaque) })
}

func (c copier) resourceGroup(from *resourceGroup) *resourceGroup {
	return once(c, from, func(to *resourceGroup) { to.tags = cloneObject(from.tags) })
}

func (c copier) autoscaleSetting(from *autoscaleSetting) *autoscaleSetting {
	return once(c, from, func(to *autoscaleSetting) { to.model = cloneObject(from.model) })
}

func (c copier) deployment(from *deployment) *deployment {
	return once(c, from, func(to *deployment) { to.steps, to.caller = each(from.steps, c.step), c.principal(from.caller) })
}

func (c copier) step(from *step) *step {
	return once(c, from, func(to *step) {
		to.waits, to.op, to.nested = each(from.waits, c.step), c.operation(from.op), c.deployment(from.nested)
	})
}

func (c copier) operation(from *operation) *operation {
	return once(c, from, func(to *operation) {
		to.set = c.scaleSet(from.set)
		to.creates = each(from.creates, c.instance)
		to.doomed = each(from.doomed, c.instance)
		to.errors = slices.Clone(from.errors)
		to.becomes = c.operation(from.becomes)
		to.command = once(c, from.command, func(*command) {})
	})
}

func (c copier) event(from *event) *event {
	return once(c, from, func(to *event) { to.machine = c.instance(from.machine) })
}

func (c copier) principal(from *principal) *principal {
	return once(c, from, func(to *principal) { to.denied = slices.Clone(from.denied) })
}

// role copies custom roles; the built-in ones are known by where they stand.
func (c copier) role(from *Role) *Role {
	if slices.Contains(builtInRoles, from) {
		return from
	}
	return once(c, from, func(*Role) {})
}

func (c copier) assignment(from *assignment) *assignment {
	return once(c, from, func(to *assignment) { to.role = c.role(from.role) })
}

func (c copier) lock(from *lock) *lock { return once(c, from, func(*lock) {}) }

// each is a list of the copies of the items of another; nil for nil.
func each[T any](from []*T, copied func(*T) *T) []*T {
	if from == nil {
		return nil
	}
	to := make([]*T, len(from))
	for n, item := range from {
		to[n] = copied(item)
	}
	return to
}
