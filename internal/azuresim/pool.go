package azuresim

import (
	"slices"
	"strings"
	"time"
)

// poolTag is the tag by which tools for self-managed clusters tell which machines outside scale sets are alike. Azure knows nothing of such
// pools: they are groups of machines for whoever reads the log, and for faults.
const poolTag = "poolName"

// groupName is the scale set of a machine or, outside any, its pool; "" when it is in neither.
func (i *instance) groupName() string {
	if i.set == nil {
		return poolIn(i.model)
	}
	return i.set.name
}

func poolIn(machine map[string]any) string {
	for tag, value := range textMap(machine["tags"]) {
		if strings.EqualFold(tag, poolTag) {
			return value
		}
	}
	return ""
}

// making is what a deployment that arrives would make of one pool.
type making struct {
	pool     string
	machines []string // of the pool, that the template has, new or not
	capacity int      // the pool's machines once all are made that are under way
}

// making is what the deployment in the request's body would make of the pool of which it has new machines, or of the first that it has; nil
// when it has no machine of a pool or is none.
func (q *request) making() *making {
	d, p := q.readTemplate()
	if p != nil {
		return nil
	}
	m := &making{}
	for _, t := range d.steps {
		if t.pool != "" && (m.pool == "" || q.store.virtualMachine(t.resource.ID, q.now) == nil) {
			m.pool = t.pool
		}
	}
	if m.pool == "" {
		return nil
	}
	made := map[string]bool{}
	for i := range q.store.everyInstance() {
		if i.set == nil && !i.gone(q.now) && strings.EqualFold(i.groupName(), m.pool) {
			made[strings.ToLower(i.id())] = true
			if i.provisioningState(q.now) != "Deleting" {
				m.capacity++
			}
		}
	}
	for _, of := range append(slices.Clone(q.store.deployments), d) {
		for _, t := range of.steps {
			if id := strings.ToLower(t.resource.ID); strings.EqualFold(t.pool, m.pool) && !made[id] && (of == d || of.comes(t, q.now)) {
				made[id] = true
				m.capacity++
			}
		}
	}
	for _, t := range d.steps {
		if strings.EqualFold(t.pool, m.pool) {
			m.machines = append(m.machines, lastSegment(t.resource.ID))
		}
	}
	return m
}

// comes says whether a step that has not begun may begin.
func (d *deployment) comes(t *step, now time.Time) bool { return t.begun.IsZero() && !d.ended(now) }

// alike is the fault of a list that is about many groups, as it strikes the machines of its own alone.
func (f Fault) alike(machines []*instance) Fault {
	var own []string
	for _, i := range machines {
		if like(f.ScaleSet, i.groupName()) {
			own = append(own, i.name())
		}
	}
	f.Hide = slices.DeleteFunc(slices.Clone(f.Hide), func(name string) bool {
		return !slices.ContainsFunc(own, func(other string) bool { return strings.EqualFold(name, other) })
	})
	if n := f.Omit; n != 0 {
		if n < 0 || n > len(own) {
			n = len(own)
		}
		f.Hide, f.Omit = append(f.Hide, own[len(own)-n:]...), 0
	}
	return f
}

// pools are those that lists of machines have been about, by what was listed.
type pools map[string][]string

// in are the pools of a resource group, or of a subscription, by lower-case name: those that a list once told of, too, and that it now tells to be empty.
func (p *pools) in(r route, machines []*instance) []string {
	scope := strings.ToLower(groupID(r.subscription, r.group))
	known := (*p)[scope]
	for _, i := range machines {
		name := strings.ToLower(i.groupName())
		if name != "" && i.in(r.subscription, r.group) && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	if *p == nil {
		*p = pools{}
	}
	(*p)[scope] = known
	return known
}

// about are the pools that a list of machines tells of, the one list of them all.
func (q *request) about() []string {
	if q.route.kind != "LIST "+machinesType || setFilter(q.query) != "" {
		return nil
	}
	return q.server.pools.in(q.route, q.store.machines)
}

// belonging notes what is so of the interface or disk that a write is about.
func (q *request) belonging() {
	if isReadMethod(q.http.Method) {
		return
	}
	switch _, kind, _ := strings.Cut(q.route.kind, " "); kind {
	case nicsType:
		if n, p := q.store.interfaceAt(q.route); p == nil {
			q.tags, q.user = textMap(n.model["tags"]), hostID(n.host)
		}
	case disksType:
		if d, p := q.store.diskAt(q.route); p == nil {
			q.tags, q.user = textMap(d.model["tags"]), hostID(d.holder)
		}
	}
}

// hostID is the resource id of a machine, "" for none.
func hostID(i *instance) string {
	if i == nil {
		return ""
	}
	return i.id()
}
