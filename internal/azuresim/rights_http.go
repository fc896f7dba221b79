package azuresim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// rightsPatterns are the rows of Microsoft.Authorization, which hangs below every
// scope: subscriptions, resource groups, resources and resources' children.
var rightsPatterns = func() []pattern {
	const (
		subscription = "/subscriptions/{subscription}"
		group        = subscription + "/resourceGroups/{group}"
		resource     = group + "/providers/{any}/{any}/{any}"
	)
	var rows []pattern
	for _, scope := range []string{subscription, group, resource, resource + "/{any}/{any}"} {
		at := scope + "/providers/Microsoft.Authorization/"
		rows = append(rows,
			pattern{"LIST", at + "roleAssignments", "roleAssignments", listAssignments},
			pattern{"GET", at + "roleAssignments/{name}", "roleAssignments", getAssignment},
			pattern{"PUT", at + "roleAssignments/{name}", "roleAssignments", putAssignment},
			pattern{"DELETE", at + "roleAssignments/{name}", "roleAssignments", deleteAssignment},
			pattern{"LIST", at + "roleDefinitions", "roleDefinitions", listRoles},
			pattern{"GET", at + "roleDefinitions/{name}", "roleDefinitions", getRole},
			pattern{"PUT", at + "roleDefinitions/{name}", "roleDefinitions", putRole},
			pattern{"DELETE", at + "roleDefinitions/{name}", "roleDefinitions", deleteRole},
			pattern{"LIST", at + "permissions", "permissions", listPermissions},
			pattern{"LIST", at + "locks", "locks", listLocks},
			pattern{"GET", at + "locks/{name}", "locks", getLock},
			pattern{"PUT", at + "locks/{name}", "locks", putLock},
			pattern{"DELETE", at + "locks/{name}", "locks", deleteLock},
		)
	}
	return rows
}()

var guidShape = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func authorizationPath(scope, kind, name string) string {
	return scope + "/providers/Microsoft.Authorization/" + kind + "/" + name
}

func (at route) rolePath(r *Role) string {
	return authorizationPath("/subscriptions/"+at.subscription, "roleDefinitions", r.ID)
}

func (at route) assignmentBody(a *assignment) map[string]any {
	properties := map[string]any{
		"roleDefinitionId": at.rolePath(a.role), "principalId": a.principal, "principalType": a.principalType,
		"scope": a.scope, "createdOn": timestamp(a.created),
	}
	if a.description != "" {
		properties["description"] = a.description
	}
	return map[string]any{
		"id": authorizationPath(a.scope, "roleAssignments", a.name), "name": a.name, "type": "Microsoft.Authorization/roleAssignments",
		"properties": properties,
	}
}

// assignmentAt is the assignment in the path; -1 for none.
func (rs *rights) assignmentAt(at route) int {
	return slices.IndexFunc(rs.assignments, func(a *assignment) bool {
		return strings.EqualFold(a.name, at.name) && strings.EqualFold(a.scope, at.scope)
	})
}

// quoted finds the value that a filter compares a field with.
func quoted(filter, field string) string {
	m := regexp.MustCompile(`(?i)\b` + field + `\s*(?:eq\s*|\()'([^']*)'`).FindStringSubmatch(filter)
	if m == nil {
		return ""
	}
	return m[1]
}

// listAssignments shows what acts at the scope, and below it unless the filter
// says atScope().
func listAssignments(q *request) answer {
	filter := q.query.Get("$filter")
	who := quoted(filter, "principalId")
	if who == "" {
		who = quoted(filter, "assignedTo")
	}
	list := []map[string]any{}
	for _, a := range q.store.rights.assignments {
		below := within(a.scope, q.route.scope) && !strings.Contains(strings.ToLower(filter), "atscope()")
		if (below || within(q.route.scope, a.scope)) && (who == "" || strings.EqualFold(who, a.principal)) {
			list = append(list, q.route.assignmentBody(a))
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

func idOf(m map[string]any) string {
	id, _ := m["id"].(string)
	return strings.ToLower(id)
}

func getAssignment(q *request) answer {
	n := q.store.rights.assignmentAt(q.route)
	if n < 0 {
		return fail(http.StatusNotFound, "RoleAssignmentNotFound", "The role assignment '%s' is not found.", q.route.name).answer()
	}
	return answer{status: http.StatusOK, body: q.route.assignmentBody(q.store.rights.assignments[n])}
}

func putAssignment(q *request) answer {
	var w struct {
		Properties struct {
			RoleDefinitionID string `json:"roleDefinitionId"`
			PrincipalID      string `json:"principalId"`
			PrincipalType    string `json:"principalType"`
			Description      string `json:"description"`
			DisplayName      *any   `json:"displayName"`
		} `json:"properties"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	role := q.store.rights.role(w.Properties.RoleDefinitionID)
	known := q.store.inDirectory(q.server.Seed, q.server.DirectoryDelay, w.Properties.PrincipalID, q.now)
	switch {
	case w.Properties.DisplayName != nil:
		return bad("InvalidRequestContent", "The request content was invalid and could not be deserialized: 'Could not find member 'displayName' on object of type 'RoleAssignmentProperties'.'").answer()
	case !guidShape.MatchString(q.route.name):
		return bad("InvalidRoleAssignmentId", "The role assignment ID '%s' is not valid. The role assignment ID must be a GUID.", q.route.name).answer()
	case w.Properties.PrincipalID == "" || w.Properties.RoleDefinitionID == "":
		return bad("BadRequestFormat", "The request was incorrectly formatted.").answer()
	case role == nil:
		return fail(http.StatusNotFound, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.",
			w.Properties.RoleDefinitionID).answer()
	case !known && w.Properties.PrincipalType == "": // a type says that the directory need not be asked
		return bad("PrincipalNotFound",
			"Principal %s does not exist in the directory %s. Check that you have the correct principal ID. If you are creating this principal and then immediately assigning a role, this error might be related to a replication delay. In this case, set the role assignment principalType property to a value, such as ServicePrincipal, User, or Group.  See https://aka.ms/docs-principaltype",
			strings.ReplaceAll(w.Properties.PrincipalID, "-", ""), tenantOf(q.server.Seed, q.server.TenantID, q.route.subscription)).answer()
	}
	if w.Properties.PrincipalType == "" {
		w.Properties.PrincipalType = "ServicePrincipal"
	}
	status := http.StatusCreated
	if q.store.rights.assignmentAt(q.route) >= 0 {
		status = http.StatusOK
	}
	a := &assignment{
		name: q.route.name, scope: q.route.scope, role: role,
		principal: w.Properties.PrincipalID, principalType: w.Properties.PrincipalType, description: w.Properties.Description,
		created: q.now,
	}
	if p := q.store.rights.assign(a); p != nil {
		return p.answer()
	}
	return answer{status: status, body: q.route.assignmentBody(a)}
}

// replication is how long the directory does not know a new identity in all its parts (assumed).
const replication = 30 * time.Second

// inDirectory reports whether the directory knows a principal, which it does some time after its creation.
func (st *store) inDirectory(seed uint64, delay time.Duration, objectID string, now time.Time) bool {
	if delay == 0 {
		delay = replication
	}
	for _, p := range st.principals {
		if strings.EqualFold(p.objectID, objectID) {
			return !now.Before(p.created.Add(delay))
		}
	}
	for i := range st.everyInstance() { // whose identity has asked for no token yet
		if c, ok := st.computer(i.id(), now); ok && c.systemAssigned && strings.EqualFold(guid(seed, "object", i.vmID), objectID) {
			return !now.Before(i.created.Add(delay))
		}
	}
	return false
}

func deleteAssignment(q *request) answer {
	n := q.store.rights.assignmentAt(q.route)
	if n < 0 {
		return answer{status: http.StatusNoContent}
	}
	gone := q.store.rights.assignments[n]
	q.store.rights.assignments = slices.Delete(q.store.rights.assignments, n, n+1)
	return answer{status: http.StatusOK, body: q.route.assignmentBody(gone)}
}

// permissionBody is a set of actions.
type permissionBody struct {
	Actions        []string `json:"actions"`
	NotActions     []string `json:"notActions"`
	DataActions    []string `json:"dataActions"`
	NotDataActions []string `json:"notDataActions"`
}

func permissionOf(actions, not []string) permissionBody {
	return permissionBody{append([]string{}, actions...), append([]string{}, not...), []string{}, []string{}}
}

// listPermissions shows what the caller may do at the scope: one row for each
// role that acts there.
func listPermissions(q *request) answer {
	rows := []permissionBody{}
	switch p := q.principal; {
	case p == nil:
		rows = append(rows, permissionOf([]string{"*"}, nil))
	case !q.store.rights.governed[strings.ToLower(p.objectID)]:
		rows = append(rows, permissionOf([]string{"*"}, p.denied))
	default:
		for _, a := range q.store.rights.rolesOf(q.server.RoleDelay, p, q.route.scope, q.now) {
			rows = append(rows, permissionOf(a.role.Actions, append(slices.Clone(a.role.NotActions), p.denied...)))
		}
	}
	return answer{status: http.StatusOK, body: listBody[permissionBody]{Value: rows}}
}
