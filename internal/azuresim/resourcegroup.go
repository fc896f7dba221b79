package azuresim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ResourceGroup describes a resource group as [Server.AddResourceGroup] creates
// it.
type ResourceGroup struct {
	Subscription string
	Name         string
	Location     string
	Tags         map[string]string
}

// resourceGroup is a resource group in the store. A group that nobody created has
// the location of its first resource.
type resourceGroup struct {
	subscription, name, location string

	tags map[string]any
}

func groupID(subscription, name string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + name
}

func (g *resourceGroup) id() string { return groupID(g.subscription, g.name) }

func (g *resourceGroup) wire() map[string]any {
	out := map[string]any{
		"id": g.id(), "name": g.name, "type": "Microsoft.Resources/resourceGroups", "location": g.location,
		"properties": map[string]any{"provisioningState": "Succeeded"},
	}
	if len(g.tags) > 0 {
		out["tags"] = g.tags
	}
	return out
}

// AddResourceGroup puts a resource group in the store that holds nothing yet.
// Groups that hold something need not be added.
func (s *Server) AddResourceGroup(d ResourceGroup) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subscription == "" || d.Name == "" || d.Location == "" {
		return fmt.Errorf("add resource group %q: subscription, name and location are required", d.Name)
	}
	g := &resourceGroup{subscription: d.Subscription, name: d.Name, location: d.Location, tags: anyMap(d.Tags)}
	if !shelve(&s.store.groups, g) {
		return fmt.Errorf("add resource group %q: it exists already", g.id())
	}
	return nil
}

// openGroup notes that the resource group of a resource exists. Azure keeps a
// group whose last resource was deleted.
func (st *store) openGroup(r resource) {
	shelve(&st.groups, &resourceGroup{subscription: r.subscription, name: r.group, location: r.location})
}

// everySubscription are the ids of all subscriptions, sorted.
func (st *store) everySubscription() []string {
	var all []string
	for _, g := range st.groups { // sorted by subscription first
		if n := len(all); n == 0 || !strings.EqualFold(all[n-1], g.subscription) {
			all = append(all, g.subscription)
		}
	}
	for _, id := range st.empty {
		if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, id) }) {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return all
}

// tenantOf is the directory of a subscription.
func tenantOf(seed uint64, tenantID string, subscription string) string {
	if tenantID != "" {
		return tenantID
	}
	return guid(seed, "tenant", subscription)
}

func (st *store) groupAt(r route) (*resourceGroup, *problem) {
	if g := find(st.groups, groupID(r.subscription, r.group)); g != nil {
		return g, nil
	}
	return nil, fail(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", r.group)
}

func getGroup(q *request) answer {
	g, p := q.store.groupAt(q.route)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: g.wire()}
}

// headGroup answers without a body: 204, or 404 from the check of the scope.
func headGroup(*request) answer { return answer{status: http.StatusNoContent} }

func listGroups(q *request) answer {
	list := []map[string]any{}
	for _, g := range q.store.groups {
		if strings.EqualFold(g.subscription, q.route.subscription) {
			list = append(list, g.wire())
		}
	}
	return page(q, list, idOf)
}

func putGroup(q *request) answer {
	var w struct {
		Location string         `json:"location"`
		Tags     map[string]any `json:"tags"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if w.Location == "" {
		return bad("LocationRequired", "The location property is required for this definition.").answer()
	}
	if p := noGroupThere(q.store.regions(), w.Location); p != nil {
		return p.answer()
	}
	q.route.group = q.route.name
	g, p := q.store.groupAt(q.route)
	status := http.StatusOK
	switch {
	case p != nil:
		g = &resourceGroup{subscription: q.route.subscription, name: q.route.group, location: w.Location}
		status = http.StatusCreated
	case !strings.EqualFold(g.location, w.Location):
		return fail(http.StatusConflict, "InvalidResourceGroupLocation",
			"Invalid resource group location '%s'. The Resource group already exists in location '%s'.", w.Location, g.location).answer()
	}
	shelve(&q.store.groups, g)
	g.tags = w.Tags
	return answer{status: status, body: g.wire()}
}
