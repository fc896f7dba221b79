package azuresim

import (
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
func (q *request) opaqueType() string {
	namespace, _, _ := strings.Cut(q.route.action, "/")
	_, kind, _ := strings.Cut(q.route.kind, " ")
	return namespace + "/" + kind
}

// opaque finds the resource in the path. Of a type that nobody has deployed the
// server knows nothing at all.
func (q *request) opaque() (*opaque, *problem) {
	if o := find(q.server.opaques, q.route.scope); o != nil {
		return o, nil
	}
	kind := q.opaqueType()
	if slices.ContainsFunc(q.server.opaques, func(o *opaque) bool { return strings.EqualFold(o.kind, kind) }) {
		return nil, resourceNotFound(kind, q.route.name, q.route.group)
	}
	return nil, fail(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found for path '%s'.", q.http.URL.Path)
}

func (o *opaque) wire() map[string]any {
	out := withoutSecrets(o.model).(map[string]any)
	properties := maps.Clone(asMap(out["properties"]))
	properties["provisioningState"] = "Succeeded"
	out["properties"], out["id"], out["name"], out["type"] = properties, o.path, o.name, o.kind
	return out
}

func getOpaque(q *request) answer {
	if p := q.identityOf(q.route.scope); p != nil {
		return answer{status: http.StatusOK, body: p.wire()}
	}
	o, p := q.opaque()
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: o.wire()}
}

// listOpaque lists what deployments have created of the type at the path's end:
// nothing, where there was none.
func listOpaque(q *request) answer {
	scope, kind, _ := strings.Cut(q.http.URL.Path, "/providers/")
	list := []map[string]any{}
	for _, o := range q.server.opaques {
		if strings.EqualFold(o.kind, kind) && within(o.path, scope) {
			list = append(list, o.wire())
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

// putOpaque creates a resource for a deployment, and replaces one for anybody.
func putOpaque(q *request) answer {
	var model map[string]any
	if p := q.decode(&model); p != nil {
		return p.answer()
	}
	o, p := q.opaque()
	if p != nil && q.deployment == nil {
		return fail(http.StatusNotFound, "InvalidResourceType",
			"The resource type could not be found for path '%s'. The simulator has resources of this type only from deployments.", q.http.URL.Path).answer()
	}
	if p == nil {
		o.model = model
		return answer{status: http.StatusOK, body: o.wire()}
	}
	o = &opaque{path: q.route.scope, kind: q.opaqueType(), name: q.route.name, model: model, created: q.now}
	if strings.EqualFold(o.kind, identityKind) {
		q.bear(o)
	}
	shelve(&q.server.opaques, o)
	return answer{status: http.StatusCreated, body: o.wire()}
}

// patchOpaque merges properties, and replaces tags as a whole.
func patchOpaque(q *request) answer {
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	o, p := q.opaque()
	if p != nil {
		return p.answer()
	}
	tags, tagged := w["tags"]
	o.model = merge(o.model, w)
	if tagged {
		o.model["tags"] = tags
	}
	return answer{status: http.StatusOK, body: o.wire()}
}

func deleteOpaque(q *request) answer {
	gone, p := q.opaque()
	switch {
	case p != nil && p.detail.Code == "InvalidResourceType":
		return p.answer()
	case p != nil:
		return answer{status: http.StatusNoContent}
	}
	q.server.opaques = slices.DeleteFunc(q.server.opaques, func(o *opaque) bool { return o == gone })
	return answer{status: http.StatusOK}
}

// identityKind is the type of user-assigned identities, the one thing about
// opaque resources that the server does know.
const identityKind = "Microsoft.ManagedIdentity/userAssignedIdentities"

// bear gives a user-assigned identity its principal.
func (q *request) bear(o *opaque) {
	s, tenant := q.server, q.server.tenantOf(q.route.subscription)
	p := &principal{id: o.path, tenantID: tenant, clientID: s.guid("client", strings.ToLower(o.path)), objectID: s.guid("object", strings.ToLower(o.path))}
	if s.byClientID(p.clientID) == nil {
		s.principals = append(s.principals, p)
	}
	o.model["properties"] = p.properties()
}

func (p *principal) properties() map[string]any {
	return map[string]any{"tenantId": p.tenantID, "principalId": p.objectID, "clientId": p.clientID}
}

// identityOf is the user-assigned identity with a resource id; nil for none.
func (q *request) identityOf(id string) *principal {
	if !strings.EqualFold(q.opaqueType(), identityKind) {
		return nil
	}
	for _, p := range q.server.principals {
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
