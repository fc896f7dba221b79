package azuresim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is a role definition. Actions and NotActions are spelled as Azure spells
// them, "Microsoft.Compute/virtualMachineScaleSets/read"; a * stands for any
// text, slashes included. A role grants an action that matches one of Actions
// and none of NotActions.
type Role struct {
	ID               string // a GUID; "": derived from the name
	Name             string
	Description      string
	Actions          []string
	NotActions       []string
	DataActions      []string // at resources' own ports: of Key Vault
	AssignableScopes []string // none: everywhere
}

// RoleAssignment gives a role to a principal at a scope, and at everything below
// it.
type RoleAssignment struct {
	Name      string // a GUID; "": derived from the rest
	Role      string // its name, GUID or resource id
	Principal string // client id, object id, or the resource id of an identity or of a machine that has its own
	Scope     string // a subscription, a resource group or a resource
}

// rights are the roles, assignments and locks in the store.
type rights struct {
	roles       []*Role // custom ones, in the order of their creation
	assignments []*assignment
	governed    map[string]bool // object ids, lower case, that ever had an assignment
	locks       []*lock
}

// assignment is a role assignment in the store.
type assignment struct {
	name, scope              string
	description              string
	role                     *Role
	principal, principalType string // the object id, and what it is said to be
	created                  time.Time
}

// AddRole adds a custom role.
func (s *Server) AddRole(r Role) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Name == "" || len(r.Actions) == 0 {
		return fmt.Errorf("add role %q: a name and at least one action are required", r.Name)
	}
	if r.ID == "" {
		r.ID = guid(s.Seed, "role", r.Name)
	}
	if s.store.rights.role(r.ID) != nil || s.store.rights.role(r.Name) != nil {
		return fmt.Errorf("add role %q: it exists already", r.Name)
	}
	s.store.rights.roles = append(s.store.rights.roles, &r)
	return nil
}

// AddRoleAssignment gives a principal a role. From its first assignment on a
// principal may do only what its assignments grant, even when all of them are
// removed again; a principal that never had one may do everything. It acts after
// Server.RoleDelay.
func (s *Server) AddRoleAssignment(d RoleAssignment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.assignRole(s.Seed, s.TenantID, d, s.now())
}

func (st *store) assignRole(seed uint64, tenantID string, d RoleAssignment, now time.Time) error {
	p, role := st.principal(seed, tenantID, d.Principal, now), st.rights.role(d.Role)
	switch {
	case p == nil:
		return fmt.Errorf("assign role %q: there is no principal %q", d.Role, d.Principal)
	case role == nil:
		return fmt.Errorf("assign role %q to %q: there is no such role", d.Role, d.Principal)
	}
	a := &assignment{name: d.Name, scope: d.Scope, role: role, principal: p.objectID, principalType: "ServicePrincipal", created: now}
	if a.name == "" {
		a.name = guid(seed, "role assignment", role.ID, p.objectID, strings.ToLower(d.Scope))
	}
	if problem := st.rights.assign(a); problem != nil {
		return fmt.Errorf("assign role %q to %q at %q: %s", d.Role, d.Principal, d.Scope, problem.detail.Message)
	}
	return nil
}

// RemoveRoleAssignments takes all roles from a principal, named as
// RoleAssignment names it. It may do nothing then.
func (s *Server) RemoveRoleAssignments(principal string) error {
	return s.Perform(Act{Do: "remove-roles", Target: principal})
}

func (rs *rights) removeRoles(p *principal) {
	rs.govern(p.objectID)
	rs.assignments = slices.DeleteFunc(rs.assignments, func(a *assignment) bool {
		return strings.EqualFold(a.principal, p.objectID)
	})
}

// assign stores an assignment, or answers why Azure would not.
func (rs *rights) assign(a *assignment) *problem {
	a.scope = strings.TrimRight(a.scope, "/")
	if !strings.HasPrefix(strings.ToLower(a.scope), "/subscriptions/") {
		return bad("InvalidScope", "The scope '%s' is not valid: it must be a subscription, a resource group or a resource.", a.scope)
	}
	for _, other := range rs.assignments {
		same := strings.EqualFold(other.principal, a.principal) && other.role == a.role && strings.EqualFold(other.scope, a.scope)
		named := strings.EqualFold(other.name, a.name) && strings.EqualFold(other.scope, a.scope)
		switch {
		case same && named:
			return nil
		case named:
			return bad("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
		case same:
			return fail(409, "RoleAssignmentExists", "The role assignment already exists. The ID of the existing role assignment is %s.",
				strings.ReplaceAll(other.name, "-", ""))
		}
	}
	if scopes := a.role.AssignableScopes; len(scopes) > 0 && !slices.ContainsFunc(scopes, func(scope string) bool { return within(a.scope, scope) }) {
		return bad("RoleAssignmentScopeNotAssignableToRoleDefinition",
			"The role assignment scope '%s' is not assignable to role definition '%s'.", a.scope, a.role.ID)
	}
	rs.assignments = append(rs.assignments, a)
	rs.govern(a.principal)
	return nil
}

func (rs *rights) govern(objectID string) {
	if rs.governed == nil {
		rs.governed = map[string]bool{}
	}
	rs.governed[strings.ToLower(objectID)] = true
}

// role finds a role by name, GUID or resource id; nil for none.
func (rs *rights) role(ref string) *Role {
	guid := ref[strings.LastIndexByte(ref, '/')+1:]
	for _, r := range slices.Concat(builtInRoles, rs.roles) {
		if strings.EqualFold(r.ID, guid) || strings.EqualFold(r.Name, ref) {
			return r
		}
	}
	return nil
}

// principal finds a principal by client id, object id or resource id; that of a
// machine is its own identity.
func (st *store) principal(seed uint64, tenantID string, ref string, now time.Time) *principal {
	if ref == "" {
		return nil
	}
	for _, p := range st.principals {
		if strings.EqualFold(p.clientID, ref) || strings.EqualFold(p.objectID, ref) || strings.EqualFold(p.id, ref) {
			return p
		}
	}
	if c, ok := st.computer(ref, now); ok && c.systemAssigned {
		return st.principals.ofMachine(seed, tenantID, c)
	}
	return nil
}

// grants reports whether a role allows an action.
func (r *Role) grants(action string) bool {
	match := func(pattern string) bool { return wildcard(pattern, action) }
	return slices.ContainsFunc(r.Actions, match) && !slices.ContainsFunc(r.NotActions, match)
}

// wildcard compares ignoring case; a * in the pattern stands for any text.
func wildcard(pattern, text string) bool {
	pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// within reports whether a scope is another one or lies below it. The empty scope
// and "/" hold everything.
func within(scope, other string) bool {
	scope, other = strings.ToLower(strings.TrimRight(scope, "/")), strings.ToLower(strings.TrimRight(other, "/"))
	return scope == other || strings.HasPrefix(scope, other+"/")
}
