package azuresim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AvailabilitySet describes an availability set as [Server.AddAvailabilitySet]
// creates it, without machines: a [Machine] names the set it is in.
type AvailabilitySet struct {
	Subscription  string
	ResourceGroup string
	Name          string
	Location      string
	FaultDomains  int // 0: 2
	UpdateDomains int // 0: 5
	Tags          map[string]string
}

// maxAvailable is the number of machines in an availability set, Azure's limit.
const maxAvailable = 200

// availabilitySet is an availability set in the store. Its machines name it.
type availabilitySet struct {
	resource
	model map[string]any // as writers sent it
}

func (a *availabilitySet) id() string { return a.path(availabilityKind) }

// AddAvailabilitySet puts an availability set in the store.
func (s *Server) AddAvailabilitySet(d AvailabilitySet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subscription == "" || d.ResourceGroup == "" || d.Name == "" || d.Location == "" {
		return fmt.Errorf("add availability set %q: subscription, resource group, name and location are required", d.Name)
	}
	model := map[string]any{"sku": map[string]any{"name": "Aligned"}, "properties": map[string]any{}}
	if d.FaultDomains > 0 {
		asMap(model["properties"])["platformFaultDomainCount"] = float64(d.FaultDomains)
	}
	if d.UpdateDomains > 0 {
		asMap(model["properties"])["platformUpdateDomainCount"] = float64(d.UpdateDomains)
	}
	if len(d.Tags) > 0 {
		model["tags"] = anyMap(d.Tags)
	}
	a := &availabilitySet{resource: resource{d.Subscription, d.ResourceGroup, d.Name, d.Location}, model: model}
	if !shelve(&s.store.available, a) {
		return fmt.Errorf("add availability set %q: it exists already", a.id())
	}
	s.store.openGroup(a.resource)
	return nil
}

// domains are the numbers of fault and update domains.
func (a *availabilitySet) domains() (fault, update int) {
	count := func(key string, otherwise int) int {
		if n, ok := dig(a.model, "properties", key).(float64); ok && n >= 1 {
			return int(n)
		}
		return otherwise
	}
	return count("platformFaultDomainCount", 2), count("platformUpdateDomainCount", 5)
}

// available are the machines of an availability set, those being deleted
// included.
func (st *store) availableIn(a *availabilitySet, now time.Time) []*instance {
	var in []*instance
	for _, i := range st.machines {
		if !i.gone(now) && strings.EqualFold(i.profile("availabilitySet", "id"), a.id()) {
			in = append(in, i)
		}
	}
	return in
}

func (a *availabilitySet) wire(machines []*instance) map[string]any {
	out := maps.Clone(a.model)
	ids := []any{}
	for _, i := range machines {
		ids = append(ids, map[string]any{"id": i.id()})
	}
	p := maps.Clone(asMap(a.model["properties"]))
	p["platformFaultDomainCount"], p["platformUpdateDomainCount"] = a.domains()
	p["virtualMachines"] = ids
	out["id"], out["name"], out["type"], out["location"] = a.id(), a.name, availabilityKind, a.location
	out["properties"] = p
	return out
}

const availabilityType = "availabilitySets"

var availabilityPatterns = []pattern{
	{"LIST", wholePath + "/availabilitySets", availabilityType, listAvailabilitySets},
	{"LIST", groupPath + "/availabilitySets", availabilityType, listAvailabilitySets},
	{"GET", groupPath + "/availabilitySets/{name}", availabilityType, getAvailabilitySet},
	{"PUT", groupPath + "/availabilitySets/{name}", availabilityType, putAvailabilitySet},
	{"PATCH", groupPath + "/availabilitySets/{name}", availabilityType, patchAvailabilitySet},
	{"DELETE", groupPath + "/availabilitySets/{name}", availabilityType, deleteAvailabilitySet},
}

func listAvailabilitySets(q *request) answer {
	list := []map[string]any{}
	for _, a := range q.store.available {
		if a.in(q.route.subscription, q.route.group) {
			list = append(list, a.wire(q.store.availableIn(a, q.now)))
		}
	}
	return page(q, list, wireID)
}

// availabilitySetAt is the availability set in the path.
func (st *store) availabilitySetAt(at route) (*availabilitySet, *problem) {
	if a := find(st.available, at.named().path(availabilityKind)); a != nil {
		return a, nil
	}
	return nil, resourceNotFound(availabilityKind, at.name, at.group)
}

func (st *store) showAvailabilitySet(a *availabilitySet, now time.Time) answer {
	return answer{status: http.StatusOK, body: a.wire(st.availableIn(a, now))}
}

func getAvailabilitySet(q *request) answer {
	a, p := q.store.availabilitySetAt(q.route)
	if p != nil {
		return p.answer()
	}
	return q.store.showAvailabilitySet(a, q.now)
}

// putAvailabilitySet creates an availability set, or replaces tags and sku; the
// numbers of domains stay as they were created.
func putAvailabilitySet(q *request) answer {
	a, p := q.store.availabilitySetAt(q.route)
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if p != nil {
		r := q.route.named()
		if r.location = text(w, "location"); r.location == "" {
			return bad("LocationRequired", "The location property is required for this definition.").answer()
		}
		a = &availabilitySet{resource: r, model: map[string]any{
			"sku": map[string]any{"name": "Classic"}, "properties": asMap(w["properties"]),
		}}
		delete(asMap(a.model["properties"]), "virtualMachines")
		shelve(&q.store.available, a)
		q.store.openGroup(r)
	}
	a.rewrite(w)
	return q.store.showAvailabilitySet(a, q.now)
}

func patchAvailabilitySet(q *request) answer {
	a, p := q.store.availabilitySetAt(q.route)
	var w map[string]any
	if p == nil {
		p = q.decode(&w)
	}
	if p != nil {
		return p.answer()
	}
	a.rewrite(w)
	return q.store.showAvailabilitySet(a, q.now)
}

// rewrite takes over what may change of an availability set.
func (a *availabilitySet) rewrite(w map[string]any) {
	for _, k := range []string{"sku", "tags"} {
		if w[k] != nil {
			a.model[k] = w[k]
		}
	}
}

func deleteAvailabilitySet(q *request) answer {
	a, p := q.store.availabilitySetAt(q.route)
	if p != nil {
		return answer{status: http.StatusNoContent}
	}
	if len(q.store.availableIn(a, q.now)) > 0 {
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Availability Set '%s' cannot be deleted. Before deleting an Availability Set please ensure that it does not contain any VM.", a.name).answer()
	}
	q.store.available = slices.DeleteFunc(q.store.available, func(other *availabilitySet) bool { return other == a })
	return answer{status: http.StatusOK}
}
