package azuresim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// inventory are the resources of a group, or of the subscription where the group is "", that have no parent, as a list of them shows each:
// id, name, type, location, tags and managedBy. Machines of uniform scale sets are parts of their sets.
func (st *store) inventory(seed uint64, tenantID, subscription, group string, now time.Time) []map[string]any {
	var all []map[string]any
	add := func(in bool, full map[string]any) {
		if !in {
			return
		}
		short := map[string]any{}
		for _, field := range []string{"id", "name", "type", "location", "tags", "managedBy"} {
			if v := full[field]; v != nil {
				short[field] = v
			}
		}
		all = append(all, short)
	}
	for _, x := range st.sets {
		add(x.in(subscription, group), x.wire(now, Fault{}))
	}
	for i := range st.everyInstance() {
		if !i.uniform() && !i.gone(now) && i.in(subscription, group) {
			add(true, st.showMachine(i, false, seed, tenantID, now))
		}
	}
	for _, x := range st.available {
		add(x.in(subscription, group), x.wire(nil))
	}
	for _, x := range st.interfaces {
		add(x.in(subscription, group), x.wire())
	}
	for _, x := range st.disks {
		add(x.in(subscription, group), x.wire(now))
	}
	prefix := strings.ToLower(groupID(subscription, group) + "/providers/")
	if group == "" {
		prefix = strings.ToLower(groupID(subscription, ""))
	}
	for _, x := range st.generic.list {
		add(strings.HasPrefix(strings.ToLower(x.path), prefix) && strings.Count(x.kind, "/") == 1, x.wire())
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return strings.Compare(wireID(a), wireID(b)) })
	return all
}

// tagFilter is the one filter of resources that is understood.
var tagFilter = regexp.MustCompile(`^tagName eq '([^']*)' and tagValue eq '([^']*)'$`)

// listResources lists what a resource group, or the subscription, holds.
func listResources(q *request) answer {
	if q.route.group != "" {
		if _, p := q.store.groupAt(q.route); p != nil {
			return p.answer()
		}
	}
	all := q.store.inventory(q.server.Seed, q.server.TenantID, q.route.subscription, q.route.group, q.now)
	if filter := q.query.Get("$filter"); filter != "" {
		m := tagFilter.FindStringSubmatch(filter)
		if m == nil {
			return bad("InvalidFilterInQueryString", "The filter '%s' is not simulated: use tagName eq '<name>' and tagValue eq '<value>'.", filter).answer()
		}
		all = slices.DeleteFunc(all, func(r map[string]any) bool {
			tags, _ := r["tags"].(map[string]any)
			for name, value := range tags {
				if strings.EqualFold(name, m[1]) && value == m[2] {
					return false
				}
			}
			return true
		})
	}
	return page(q, all, wireID)
}

// deleteGroup deletes a resource group with its deployments, and the roles at it. Azure deletes what is in it, too, which is not simulated.
func deleteGroup(q *request) answer {
	g, p := q.store.groupAt(q.route)
	if p != nil {
		return p.answer()
	}
	if all := q.store.inventory(q.server.Seed, q.server.TenantID, q.route.subscription, q.route.group, q.now); len(all) > 0 {
		return fail(http.StatusConflict, "ResourceGroupDeletionBlocked", "Deletion of resource group '%s' is simulated only when it is empty; it has '%s'.",
			g.name, wireID(all[0])).answer()
	}
	q.store.deployments = slices.DeleteFunc(q.store.deployments, func(d *deployment) bool {
		return strings.EqualFold(d.subscription, g.subscription) && strings.EqualFold(d.group, g.name)
	})
	rights := &q.store.rights
	rights.assignments = slices.DeleteFunc(rights.assignments, func(a *assignment) bool { return within(a.scope, g.id()) })
	q.store.groups = slices.DeleteFunc(q.store.groups, func(other *resourceGroup) bool { return other == g })
	return answer{status: http.StatusOK}
}
