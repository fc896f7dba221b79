package azuresim

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
)

// scaleSetAt is the scale set in the path.
func (st *store) scaleSetAt(at route) (*scaleSet, *problem) {
	r := resource{subscription: at.subscription, group: at.group, name: at.set}
	if ss := find(st.sets, r.path(setKind)); ss != nil {
		return ss, nil
	}
	return nil, resourceNotFound(setKind, r.name, r.group)
}

// uniformSetAt is the scale set in the path of a call that flexible orchestration
// does not know.
func (st *store) uniformSetAt(at route, call string) (*scaleSet, *problem) {
	ss, p := st.scaleSetAt(at)
	if p == nil && ss.flexible() {
		p = bad("BadRequest", "Operation 'VirtualMachineScaleSets.%s' is not allowed on Virtual Machine Scale Set '%s'.", call, ss.name)
	}
	return ss, p
}

func listScaleSets(q *request) answer {
	list := []map[string]any{}
	for _, ss := range q.store.sets {
		if strings.EqualFold(ss.subscription, q.route.subscription) &&
			(q.route.group == "" || strings.EqualFold(ss.group, q.route.group)) &&
			(q.route.location == "" || strings.EqualFold(ss.location, q.route.location)) {
			list = append(list, q.store.showScaleSet(ss, q.fault, q.now))
		}
	}
	return page(q, list, func(m map[string]any) string { return strings.ToLower(m["id"].(string)) })
}

func getScaleSet(q *request) answer {
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return p.answer()
	}
	body := q.store.showScaleSet(ss, q.fault, q.now)
	if data := ss.text("properties", "virtualMachineProfile", "userData"); data != "" && expands(q.query, "userData") {
		asMap(dig(body, "properties", "virtualMachineProfile"))["userData"] = data
	}
	return answer{status: http.StatusOK, body: body}
}

// showScaleSet is a scale set as a read shows it, with what is known of its
// identities; a flexible one only names them.
func (st *store) showScaleSet(ss *scaleSet, f Fault, now time.Time) map[string]any {
	body := ss.wire(now, f)
	if !ss.flexible() {
		st.principals.nameIdentities(body)
	}
	return body
}

// nameIdentities adds to a resource that is shown the client and object ids of its
// user-assigned identities.
func (d directory) nameIdentities(body map[string]any) {
	_, assigned := identities(body["identity"])
	if len(assigned) == 0 {
		return
	}
	identity, users := maps.Clone(asMap(body["identity"])), map[string]any{}
	for _, id := range assigned {
		users[id] = map[string]any{}
		for _, p := range d {
			if strings.EqualFold(p.id, id) {
				users[id] = map[string]any{"clientId": p.clientID, "principalId": p.objectID}
			}
		}
	}
	identity["userAssignedIdentities"] = users
	body["identity"] = identity
}

// write is the body of a PUT or PATCH of a scale set.
type write struct {
	Location *string        `json:"location"`
	Tags     map[string]any `json:"tags"`
	SKU      *struct {
		Name     *string `json:"name"`
		Tier     *string `json:"tier"`
		Capacity *int64  `json:"capacity"`
	} `json:"sku"`
	Zones      []any          `json:"zones"`
	Identity   map[string]any `json:"identity"`
	Plan       map[string]any `json:"plan"`
	Properties map[string]any `json:"properties"`
}

// tagNeverHas are the characters that the name of a tag may not have.
const tagNeverHas = `<>%&\?/`

// readWrite decodes a write.
func (q *request) readWrite() (write, *problem) {
	var w write
	if p := q.decode(&w); p != nil {
		return w, p
	}
	for name := range w.Tags {
		if strings.ContainsAny(name, tagNeverHas) {
			return w, bad("InvalidTagNameCharacters", "The tag names '%s' have reserved characters '<,>,%%,&,\\,?,/' or control characters.", name)
		}
	}
	if n := w.SKU; n != nil && n.Capacity != nil && (*n.Capacity < 0 || *n.Capacity > maxCapacity) {
		return w, bad("InvalidParameter",
			"The value of parameter sku.capacity is invalid: %d is not in the range 0 to %d.", *n.Capacity, maxCapacity).target("sku.capacity")
	}
	return w, nil
}

// checkETag holds If-Match and If-None-Match against a resource.
func (q *request) checkETag(current string) *problem {
	if given := q.http.Header.Get("If-Match"); given != "" && given != "*" && given != current && !q.server.Beliefs.Unguarded {
		return etagMismatch(given, current)
	}
	if none := q.http.Header.Get("If-None-Match"); none == "*" || none == current {
		return fail(http.StatusPreconditionFailed, "PreconditionFailed",
			"Etag provided in if-none-match header %s matches etag %s of resource.", none, current)
	}
	return nil
}

// checkFree holds If-Match against a resource that is not there.
func checkFree(h http.Header) *problem {
	if given := h.Get("If-Match"); given != "" {
		return fail(http.StatusPreconditionFailed, "PreconditionFailed",
			"Etag provided in if-match header %s does not match: the resource does not exist.", given)
	}
	return nil
}

// patchScaleSet merges: what the body does not mention stays. Tags are replaced
// as a whole.
func patchScaleSet(q *request) answer {
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return p.answer()
	}
	w, p := q.readWrite()
	if p == nil {
		p = q.checkETag(ss.etagText())
	}
	if p != nil {
		return p.answer()
	}
	return q.apply(ss, w, func() {
		if w.Properties != nil {
			ss.model["properties"] = merge(asMap(ss.model["properties"]), w.Properties)
		}
	})
}

// putScaleSet replaces what the body mentions: a property, or a profile of the
// machines, becomes what it says, and what it left out of that is gone. The
// compute provider leaves alone what is not mentioned at all, tags and capacity
// too. The capacity of a body, however old the read it came from, is what the set
// will have.
func putScaleSet(q *request) answer {
	w, p := q.readWrite()
	if p != nil {
		return p.answer()
	}
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return q.create(w)
	}
	if p := q.checkETag(ss.etagText()); p != nil {
		return p.answer()
	}
	if w.Location != nil && !strings.EqualFold(*w.Location, ss.location) {
		return fail(http.StatusConflict, "InvalidResourceLocation",
			"The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. Please select a new resource name.",
			ss.name, ss.location, ss.group, *w.Location).answer()
	}
	return q.apply(ss, w, func() {
		properties := maps.Clone(asMap(ss.model["properties"]))
		profile := maps.Clone(asMap(properties["virtualMachineProfile"]))
		maps.Copy(profile, asMap(w.Properties["virtualMachineProfile"]))
		maps.Copy(properties, w.Properties)
		properties["virtualMachineProfile"] = profile
		ss.model["properties"] = properties
	})
}

// create makes the scale set of a PUT to a name that is free.
func (q *request) create(w write) answer {
	if p := checkFree(q.http.Header); p != nil {
		return p.answer()
	}
	if w.Location == nil || *w.Location == "" {
		return bad("LocationRequired", "The location property is required for this definition.").answer()
	}
	ss := &scaleSet{
		resource: resource{q.route.subscription, q.route.group, q.route.set, *w.Location},
		model:    map[string]any{"location": *w.Location, "properties": asMap(w.Properties)},
		version:  1, created: q.now,
	}
	if w.SKU != nil && w.SKU.Name != nil {
		ss.traits = q.store.traits(*w.SKU.Name)
	}
	if err := q.store.insert(q.server.Seed, ss); err != nil {
		return fail(http.StatusConflict, "Conflict", "%v", err).answer()
	}
	a := q.apply(ss, w, func() {})
	if a.status != http.StatusOK {
		q.store.sets = slices.DeleteFunc(q.store.sets, func(other *scaleSet) bool { return other == ss })
		return a
	}
	a.status = http.StatusCreated
	return a
}

// apply carries out a write whose preconditions hold: first the size, which may
// be refused, then the rest. A set that is being deleted takes none.
func (q *request) apply(ss *scaleSet, w write, properties func()) answer {
	if ss.doomed {
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Operation 'update VMSS' is not allowed on Virtual Machine Scale Set '%s' since it is marked for deletion. "+
				"You can only retry the Delete operation (or wait for an ongoing one to complete).", ss.name).answer()
	}
	capacity := len(ss.live(q.now))
	if w.SKU != nil && w.SKU.Capacity != nil {
		capacity = int(*w.SKU.Capacity)
	}
	before := ss.version
	if w.Properties != nil || w.Identity != nil || w.Zones != nil || w.SKU != nil && w.SKU.Name != nil && *w.SKU.Name != ss.size() {
		ss.version++ // what is created now has the new model
	}
	undo := maps.Clone(ss.model)
	if w.SKU != nil {
		sku := maps.Clone(asMap(ss.model["sku"]))
		if w.SKU.Name != nil {
			sku["name"] = *w.SKU.Name
		}
		if w.SKU.Tier != nil {
			sku["tier"] = *w.SKU.Tier
		}
		ss.model["sku"] = sku
	}
	if w.Tags != nil {
		ss.model["tags"] = w.Tags
	}
	if w.Zones != nil {
		ss.model["zones"] = w.Zones
	}
	if w.Identity != nil {
		ss.model["identity"] = w.Identity
	}
	if w.Plan != nil {
		ss.model["plan"] = w.Plan
	}
	properties()
	if sameButTags(undo, ss.model) { // the same model again makes no machine an old one
		ss.version = before
	}
	p := ss.checkModel(undo, capacity)
	var o *operation
	if p == nil {
		o, p = q.server.compute().resize(ss, capacity, q.route.kind, q.now)
	}
	if p != nil {
		ss.model, ss.version = undo, before
		return p.answer()
	}
	if only := (write{Tags: w.Tags}); !q.server.Beliefs.TagsKeepETag || !reflect.DeepEqual(w, only) {
		ss.etag++
	}
	return q.async(answer{status: http.StatusOK, body: q.store.showScaleSet(ss, Fault{}, q.now)}, o)
}

// sameButTags compares two models of machines.
func sameButTags(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, "tags")
	delete(b, "tags")
	return reflect.DeepEqual(a, b)
}

// statusCount is one row of a scale set's summary.
type statusCount struct {
	Code  string `json:"code"`
	Count int    `json:"count"`
}

func getScaleSetView(q *request) answer {
	ss, p := q.store.uniformSetAt(q.route, "instanceView.GET")
	if p != nil {
		return p.answer()
	}
	counts := []statusCount{}
	for _, i := range ss.listed(q.now) {
		code := "ProvisioningState/" + strings.ToLower(i.provisioningState(q.now))
		found := false
		for n := range counts {
			if counts[n].Code == code {
				counts[n].Count++
				found = true
			}
		}
		if !found {
			counts = append(counts, statusCount{code, 1})
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{
		"virtualMachine": map[string]any{"statusesSummary": counts},
		"statuses":       []status{provisioningStatus(ss.provisioningState(q.now), q.now)},
	}}
}

func provisioningStatus(state string, at time.Time) status {
	s := status{Code: "ProvisioningState/" + strings.ToLower(state), Level: "Info", DisplayStatus: "Provisioning " + strings.ToLower(state), Time: timestamp(at)}
	if state == "Failed" {
		s.Level = "Error"
	}
	return s
}

// deleteScaleSet deletes a scale set with its instances.
func deleteScaleSet(q *request) answer {
	ss, p := q.store.scaleSetAt(q.route)
	if p != nil {
		return answer{status: http.StatusNoContent}
	}
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.begin(q.server.Seed, ss, q.now, q.server.compute().demolish(ss, q.route.kind, q.now)))
}

// demolish is the operation that deletes a scale set with its instances, asked for by a request of that kind.
func (c compute) demolish(ss *scaleSet, kind string, now time.Time) operation {
	ss.doomed = true
	var o operation
	for _, i := range ss.listed(now) {
		c.doom(&o, i, kind, now)
	}
	return o
}
