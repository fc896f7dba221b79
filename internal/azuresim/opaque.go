package azuresim

import (
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// opaque is a resource of a type that the server knows nothing about: it keeps
// what was written. Deployments create such resources, so that templates with
// security groups, route tables and extensions can be deployed; after that they
// can be read, changed and deleted like any other.
type opaque struct {
	path    string // resource id
	kind    string // "Microsoft.Network/networkSecurityGroups"
	name    string // of the last segment
	model   map[string]any
	created time.Time
	version int    // of a resource of the network, for its entity tag
	address string // of a public address
}

func (o *opaque) id() string { return o.path }

// opaqueRoute reads a path as the id of a resource in a resource group, whatever
// its type.
func opaqueRoute(method string, segments []string) (route, bool) {
	if len(segments) < 8 || len(segments)%2 != 0 || slices.Contains(segments, "") ||
		!strings.EqualFold(segments[0], "subscriptions") || !strings.EqualFold(segments[2], "resourceGroups") ||
		!strings.EqualFold(segments[4], "providers") || !strings.Contains(segments[5], ".") {
		return route{}, false
	}
	handle, verb := opaqueHandlers[method], opaqueVerbs[method]
	if handle == nil {
		return route{}, false
	}
	var types []string
	for n := 6; n < len(segments); n += 2 {
		types = append(types, segments[n])
	}
	kind := strings.Join(types, "/")
	return route{
		kind: method + " " + kind, action: segments[5] + "/" + kind + "/" + verb, scope: "/" + strings.Join(segments, "/"),
		subscription: segments[1], group: segments[3], name: segments[len(segments)-1], handle: handle,
	}, true
}

var opaqueHandlers map[string]func(*request) answer

func init() { // handlers route requests of their own
	opaqueHandlers = map[string]func(*request) answer{
		http.MethodGet: getOpaque, http.MethodPut: putOpaque, http.MethodPatch: patchOpaque, http.MethodDelete: deleteOpaque,
	}
}

var opaqueVerbs = map[string]string{
	http.MethodGet: "read", http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete",
}

// opaqueType is the type with its namespace.
func (at route) opaqueType() string {
	namespace, _, _ := strings.Cut(at.action, "/")
	_, kind, _ := strings.Cut(at.kind, " ")
	return namespace + "/" + kind
}

// at finds the resource in the path. Of a type that nobody has deployed the
// server knows nothing at all.
func (g *generic) at(r route, path string) (*opaque, *problem) {
	if o := find(g.list, r.scope); o != nil {
		return o, nil
	}
	kind := r.opaqueType()
	if ofNetwork(kind) || slices.ContainsFunc(g.list, func(o *opaque) bool { return strings.EqualFold(o.kind, kind) }) {
		return nil, resourceNotFound(kind, r.name, r.group)
	}
	return nil, fail(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found for path '%s'.", path)
}

func (o *opaque) wire() map[string]any {
	out := withoutSecrets(o.model).(map[string]any)
	properties := maps.Clone(asMap(out["properties"]))
	properties["provisioningState"] = "Succeeded"
	if finish := computed[strings.ToLower(o.kind)]; finish != nil {
		finish(o, properties)
	}
	out["properties"], out["id"], out["name"], out["type"] = properties, o.path, o.name, o.kind
	return out
}

// computed is what Azure adds to resources of a kind, by its lower-case name. It
// follows from what was written and the resource's id.
var computed = map[string]func(o *opaque, properties map[string]any){
	"microsoft.network/publicipaddresses": func(o *opaque, properties map[string]any) {
		if strings.EqualFold(text(o.model, "properties", "publicIPAllocationMethod"), "Static") {
			properties["ipAddress"] = o.address
		}
		if label := text(o.model, "properties", "dnsSettings", "domainNameLabel"); label != "" {
			properties["dnsSettings"] = merge(asMap(properties["dnsSettings"]), map[string]any{"fqdn": label + "." + text(o.model, "location") + ".cloudapp.azure.com"})
		}
	},
	"microsoft.keyvault/vaults":         vaultWire,
	"microsoft.keyvault/vaults/secrets": secretWire,
}

// hash is a number that is always the same for an id.
func hash(id string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(strings.ToLower(id)))
	return h.Sum32()
}

// cutLast cuts around the last of a separator in any letter case.
func cutLast(s, sep string) (before, after string) {
	at := strings.LastIndex(strings.ToLower(s), sep)
	if at < 0 {
		return s, ""
	}
	return s[:at], s[at+len(sep):]
}

// generic are the resources of which the server knows little more than what was written, those of the network and vaults among them.
type generic struct {
	list     []*opaque  // sorted by lower-case id
	removals []*removal // in the order of their deletion
}

func getOpaque(q *request) answer {
	o, p := q.store.generic.at(q.route, q.http.URL.Path)
	if who := q.store.identityAt(q.route, q.route.scope); p != nil && who != nil {
		return answer{status: http.StatusOK, body: who.wire()}
	}
	if p != nil {
		if part, ok := q.store.generic.partAt(q.route); ok {
			if body := part.wire(q); body != nil {
				return answer{status: http.StatusOK, body: body}
			}
		}
		return p.answer()
	}
	return answer{status: http.StatusOK, body: q.store.show(o, q.now)}
}

// listOpaque lists what deployments have created of the type at the path's end:
// nothing, where there was none.
func listOpaque(q *request) answer {
	scope, kind, _ := strings.Cut(q.http.URL.Path, "/providers/")
	list := []map[string]any{}
	for _, o := range q.store.generic.list {
		if strings.EqualFold(o.kind, kind) && within(o.path, scope) {
			list = append(list, q.store.show(o, q.now))
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

// putOpaque creates a resource for a deployment, and replaces one for anybody; vaults it creates and recovers for anybody.
func putOpaque(q *request) answer {
	var model map[string]any
	if p := q.decode(&model); p != nil {
		return p.answer()
	}
	if model == nil {
		return bad("InvalidRequestContent", "The request content was invalid: the body is empty.").answer()
	}
	if part, ok := q.store.generic.partAt(q.route); ok {
		return q.putPart(part, model)
	}
	model = withoutOthers(q.route.opaqueType(), model)
	o, p := q.store.generic.at(q.route, q.http.URL.Path)
	if p != nil && q.deployment == nil && !ofNetwork(q.route.opaqueType()) && !strings.EqualFold(q.route.opaqueType(), vaultKind) {
		return fail(http.StatusNotFound, "InvalidResourceType",
			"The resource type could not be found for path '%s'. The simulator has resources of this type only from deployments.", q.http.URL.Path).answer()
	}
	for _, refuse := range []func() *problem{
		func() *problem { return q.store.generic.refuse(q.route, model, q.now) },
		func() *problem { return q.refuseNetwork(q.route.opaqueType(), q.route.scope, model) },
	} {
		if refusal := refuse(); refusal != nil {
			return refusal.answer()
		}
	}
	if p == nil {
		o.model = model
		o.version++
		if who := q.store.identityAt(q.route, o.path); who != nil {
			o.model["properties"] = who.properties()
		}
		return q.written(answer{status: http.StatusOK, body: q.store.show(o, q.now)}, o)
	}
	if gone := q.store.generic.removed(q.route.scope, q.now); gone != nil && isRecovery(model) {
		q.store.generic.restore(gone)
		return answer{status: http.StatusOK, body: gone.opaque.wire()}
	}
	o = &opaque{path: q.route.scope, kind: q.route.opaqueType(), name: q.route.name, model: model, created: q.now, version: 1}
	if strings.EqualFold(o.kind, "Microsoft.Network/publicIPAddresses") {
		o.address = q.store.generic.publicAddress(o.path)
	}
	if strings.EqualFold(o.kind, identityKind) {
		q.store.bear(o, q.server.Seed, q.server.TenantID, q.route.subscription, q.now)
	}
	shelve(&q.store.generic.list, o)
	return q.written(answer{status: http.StatusCreated, body: q.store.show(o, q.now)}, o)
}

// written is the answer to a write, which is done at once, unless a fault is about its operation.
func (q *request) written(a answer, o *opaque) answer {
	if q.fault.Operation == "" && q.fault.Polling == "" {
		return a
	}
	location := text(o.model, "location")
	if g := find(q.store.groups, groupID(q.route.subscription, q.route.group)); location == "" && g != nil {
		location = g.location
	}
	return q.async(a, q.store.operations.launch(q.server.Seed, o.kind, location, q.now, operation{single: true}))
}

// patchOpaque merges properties, and replaces tags as a whole.
func patchOpaque(q *request) answer {
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	o, p := q.store.generic.at(q.route, q.http.URL.Path)
	if p != nil {
		return p.answer()
	}
	tags, tagged := w["tags"]
	o.model = merge(o.model, w)
	if tagged {
		o.model["tags"] = tags
	}
	o.version++
	return answer{status: http.StatusOK, body: q.store.show(o, q.now)}
}

// deleteOpaque takes what is below the resource with it, and the roles that are about it.
func deleteOpaque(q *request) answer {
	if part, ok := q.store.generic.partAt(q.route); ok {
		return q.store.deletePart(q.route, part, q.now)
	}
	gone, p := q.store.generic.at(q.route, q.http.URL.Path)
	switch {
	case p != nil && p.detail.Code == "InvalidResourceType":
		return p.answer()
	case p != nil:
		return answer{status: http.StatusNoContent}
	}
	if strings.EqualFold(gone.kind, secretKind) {
		return methodNotAllowed(http.MethodDelete).answer()
	}
	s, parts := q.server, []*opaque{}
	if kind, ok := networkKinds[strings.ToLower(gone.kind)]; ok {
		if user := s.store.user(gone.path, q.now); user != "" {
			return kind.inUse(gone.path, user).answer()
		}
	}
	s.store.generic.list = slices.DeleteFunc(s.store.generic.list, func(o *opaque) bool {
		below := within(o.path, gone.path)
		if below && o != gone {
			parts = append(parts, o)
		}
		return below
	})
	s.store.rights.assignments = slices.DeleteFunc(s.store.rights.assignments, func(a *assignment) bool { return within(a.scope, gone.path) })
	if strings.EqualFold(gone.kind, vaultKind) {
		s.store.generic.remove(gone, gone, parts, q.now)
	}
	return answer{status: http.StatusOK}
}

// identityKind is the type of user-assigned identities, the one thing about
// opaque resources that the server does know.
const identityKind = "Microsoft.ManagedIdentity/userAssignedIdentities"

// bear gives a user-assigned identity its principal.
func (st *store) bear(o *opaque, seed uint64, tenantID, subscription string, now time.Time) {
	p := &principal{id: o.path, tenantID: tenantOf(seed, tenantID, subscription), clientID: guid(seed, "client", strings.ToLower(o.path)), objectID: guid(seed, "object", strings.ToLower(o.path)), created: now}
	if st.principals.byClientID(p.clientID) == nil {
		st.principals = append(st.principals, p)
		st.rights.govern(p.objectID)
	}
	o.model["properties"] = p.properties()
}

func (p *principal) properties() map[string]any {
	return map[string]any{"tenantId": p.tenantID, "principalId": p.objectID, "clientId": p.clientID}
}

// identityAt is the user-assigned identity with a resource id; nil for none.
func (st *store) identityAt(at route, id string) *principal {
	if !strings.EqualFold(at.opaqueType(), identityKind) {
		return nil
	}
	for _, p := range st.principals {
		if strings.EqualFold(p.id, id) {
			return p
		}
	}
	return nil
}

// wire is a user-assigned identity as a read shows it.
func (p *principal) wire() map[string]any {
	return map[string]any{
		"id": p.id, "name": p.id[strings.LastIndexByte(p.id, '/')+1:], "type": identityKind, "properties": p.properties(),
	}
}
