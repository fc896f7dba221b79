package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// action is the permission that a request to a row of the routing table needs:
// the literal segments behind the provider's namespace, and what the method does.
// Without a provider the namespace is Microsoft.Resources. It is "" where no
// permission is asked for: outside subscriptions, where answers are cut to what
// the caller may see.
func (p pattern) action(verb string) string {
	if !strings.HasPrefix(p.path, "/subscriptions/") {
		return ""
	}
	path, namespace := p.path[1:], "Microsoft.Resources"
	if at := strings.LastIndex(p.path, "/providers/"); at >= 0 && !strings.HasPrefix(p.path[at+len("/providers/"):], "{") {
		namespace, path, _ = strings.Cut(p.path[at+len("/providers/"):], "/")
	}
	action := namespace
	for _, segment := range strings.Split(path, "/") {
		if !strings.HasPrefix(segment, "{") {
			action += "/" + segment
		}
	}
	switch action { // the same read, by another path
	case "Microsoft.Compute/locations/" + setsType, "Microsoft.Compute/locations/virtualMachines":
		action = strings.Replace(action, "/locations", "", 1)
	}
	if verb != "" {
		action += "/" + verb
	}
	switch p.method {
	case "LIST", http.MethodGet, http.MethodHead:
		return action + "/read"
	case http.MethodPut, http.MethodPatch:
		return action + "/write"
	case http.MethodDelete:
		return action + "/delete"
	}
	return action + "/action"
}

// scope is what the permission is checked over: the resource in the path, or what
// a collection or an action belongs to.
func (p pattern) scope(segments []string) string {
	last := p.path[strings.LastIndexByte(p.path, '/')+1:]
	if last == "{verb}" || !strings.HasPrefix(last, "{") && last != "resourceGroups" {
		segments = segments[:len(segments)-1]
	}
	at := slices.IndexFunc(segments, func(s string) bool { return strings.EqualFold(s, "Microsoft.Authorization") })
	switch {
	case at > 0: // an assignment, a definition and a lock are about what they are attached to
		segments = segments[:at-1]
	case len(segments) == 4 && strings.EqualFold(segments[2], "providers"):
		segments = segments[:2]
	}
	return "/" + strings.Join(segments, "/")
}

// allows reports whether a principal may do something at a scope: it is not
// denied, and either it never had a role, or one that acts grants it.
func (rs *rights) allows(delay time.Duration, p *principal, action, scope string, now time.Time) bool {
	for _, d := range p.denied {
		if wildcard(d, action) {
			return false
		}
	}
	if !rs.governed[strings.ToLower(p.objectID)] {
		return true
	}
	acting := rs.rolesOf(delay, p, scope, now)
	if strings.HasSuffix(action, "/locations/operations/read") { // whoever may read operations anywhere (assumed): none says where it works
		acting = rs.rolesBelow(delay, p, strings.Join(strings.SplitN(scope, "/", 4)[:3], "/"), now)
	}
	return slices.ContainsFunc(acting, func(a *assignment) bool { return a.role.grants(action) })
}

// rolesOf are the assignments of a principal that act at a scope.
func (rs *rights) rolesOf(delay time.Duration, p *principal, scope string, now time.Time) []*assignment {
	return rs.acting(delay, p, now, func(a *assignment) bool { return within(scope, a.scope) })
}

// rolesBelow are those that act at a scope or anywhere below it.
func (rs *rights) rolesBelow(delay time.Duration, p *principal, scope string, now time.Time) []*assignment {
	return rs.acting(delay, p, now, func(a *assignment) bool { return within(scope, a.scope) || within(a.scope, scope) })
}

func (rs *rights) acting(delay time.Duration, p *principal, now time.Time, at func(*assignment) bool) []*assignment {
	var acting []*assignment
	for _, a := range rs.assignments {
		if strings.EqualFold(a.principal, p.objectID) && at(a) && !now.Before(a.created.Add(delay)) {
			acting = append(acting, a)
		}
	}
	return acting
}

// authorize holds the request's action, and those that its body links to, against
// what its principal may do.
func (q *request) authorize() *problem {
	q.linked = q.links()
	if q.principal == nil || q.route.action == "" {
		return nil
	}
	p := q.principal
	if !q.store.rights.allows(q.server.RoleDelay, p, q.route.action, q.route.scope, q.now) {
		return fail(http.StatusForbidden, "AuthorizationFailed",
			"The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
			p.clientID, p.objectID, q.route.action, q.route.scope)
	}
	var actions, scopes []string
	for _, l := range q.linked {
		if !q.store.rights.allows(q.server.RoleDelay, p, l.Action, l.Scope, q.now) {
			actions, scopes = append(actions, l.Action), append(scopes, l.Scope)
		}
	}
	if len(actions) == 0 {
		return nil
	}
	return fail(http.StatusForbidden, "LinkedAuthorizationFailed",
		"The client '%s' with object id '%s' has permission to perform action '%s' on scope '%s'; however, it does not have permission to perform action(s) '%s' on the linked scope(s) '%s' (respectively) or the linked scope(s) are invalid.",
		p.clientID, p.objectID, q.route.action, q.route.scope, strings.Join(actions, "','"), strings.Join(scopes, "','"))
}
