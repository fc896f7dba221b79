package azuresim

import (
	"net/http"
	"slices"
	"strings"
)

func (at route) roleBody(r *Role) map[string]any {
	kind, scopes := "CustomRole", r.AssignableScopes
	if slices.Contains(builtInRoles, r) {
		kind = "BuiltInRole"
	}
	if len(scopes) == 0 {
		scopes = []string{"/"}
	}
	return map[string]any{
		"id": at.rolePath(r), "name": r.ID, "type": "Microsoft.Authorization/roleDefinitions",
		"properties": map[string]any{
			"roleName": r.Name, "type": kind, "description": r.Description, "assignableScopes": scopes,
			"permissions": []permissionBody{permissionOf(r.Actions, r.NotActions)},
		},
	}
}

// listRoles knows the filters "roleName eq 'x'" and "type eq 'CustomRole'".
func listRoles(q *request) answer {
	filter := q.query.Get("$filter")
	name, kind := quoted(filter, "roleName"), quoted(filter, "type")
	list := []map[string]any{}
	for _, r := range slices.Concat(builtInRoles, q.store.rights.roles) {
		body := q.route.roleBody(r)
		if (name == "" || strings.EqualFold(name, r.Name)) && (kind == "" || strings.EqualFold(kind, body["properties"].(map[string]any)["type"].(string))) {
			list = append(list, body)
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

func (rs *rights) roleAt(at route) (*Role, *problem) {
	for _, r := range slices.Concat(builtInRoles, rs.roles) {
		if strings.EqualFold(r.ID, at.name) {
			return r, nil
		}
	}
	return nil, fail(http.StatusNotFound, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", at.name)
}

func getRole(q *request) answer {
	r, p := q.store.rights.roleAt(q.route)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: q.route.roleBody(r)}
}

func putRole(q *request) answer {
	var w struct {
		Properties struct {
			RoleName         string   `json:"roleName"`
			Description      string   `json:"description"`
			AssignableScopes []string `json:"assignableScopes"`
			Permissions      []struct {
				Actions    []string `json:"actions"`
				NotActions []string `json:"notActions"`
			} `json:"permissions"`
		} `json:"properties"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if w.Properties.RoleName == "" || len(w.Properties.Permissions) == 0 || len(w.Properties.AssignableScopes) == 0 {
		return bad("InvalidRoleDefinition", "The role definition needs a name, permissions and assignable scopes.").answer()
	}
	written := Role{ID: q.route.name, Name: w.Properties.RoleName, Description: w.Properties.Description, AssignableScopes: w.Properties.AssignableScopes}
	for _, p := range w.Properties.Permissions {
		written.Actions, written.NotActions = append(written.Actions, p.Actions...), append(written.NotActions, p.NotActions...)
	}
	if other := q.store.rights.role(written.Name); other != nil && !strings.EqualFold(other.ID, written.ID) {
		return fail(http.StatusConflict, "RoleDefinitionWithSameNameExists",
			"A custom role with the same name already exists in this directory. Use a different name.").answer()
	}
	r, p := q.store.rights.roleAt(q.route)
	switch {
	case p != nil:
		r = &Role{}
		q.store.rights.roles = append(q.store.rights.roles, r)
	case slices.Contains(builtInRoles, r):
		return fail(http.StatusForbidden, "RoleDefinitionIsBuiltIn", "The built-in role definition '%s' cannot be changed.", r.ID).answer()
	}
	*r = written // assignments of the role follow its new actions
	return answer{status: http.StatusCreated, body: q.route.roleBody(r)}
}

func deleteRole(q *request) answer {
	r, p := q.store.rights.roleAt(q.route)
	switch {
	case p != nil:
		return answer{status: http.StatusNoContent}
	case slices.Contains(builtInRoles, r):
		return fail(http.StatusForbidden, "RoleDefinitionIsBuiltIn", "The built-in role definition '%s' cannot be deleted.", r.ID).answer()
	case slices.ContainsFunc(q.store.rights.assignments, func(a *assignment) bool { return a.role == r }):
		return bad("RoleDefinitionHasAssignments", "There are existing role assignments referencing role (code: RoleDefinitionHasAssignments).").answer()
	}
	q.store.rights.roles = slices.DeleteFunc(q.store.rights.roles, func(other *Role) bool { return other == r })
	return answer{status: http.StatusOK, body: q.route.roleBody(r)}
}
