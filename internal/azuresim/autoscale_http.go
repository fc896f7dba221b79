package azuresim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

var autoscalePatterns = func() []pattern {
	const (
		whole = "/subscriptions/{subscription}/providers/microsoft.insights/autoscalesettings"
		group = "/subscriptions/{subscription}/resourceGroups/{group}/providers/microsoft.insights/autoscalesettings"
	)
	return []pattern{
		{"LIST", whole, "autoscalesettings", listAutoscale},
		{"LIST", group, "autoscalesettings", listAutoscale},
		{"GET", group + "/{name}", "autoscalesettings", getAutoscale},
		{"PUT", group + "/{name}", "autoscalesettings", putAutoscale},
		{"DELETE", group + "/{name}", "autoscalesettings", deleteAutoscale},
	}
}()

func (a *autoscaleSetting) wire() map[string]any {
	body := maps.Clone(a.model)
	properties := maps.Clone(asMap(a.model["properties"]))
	properties["name"] = a.name
	body["properties"] = properties
	body["id"], body["name"], body["type"] = a.id(), a.name, "Microsoft.Insights/autoscaleSettings"
	return body
}

func listAutoscale(q *request) answer {
	list := []map[string]any{}
	for _, a := range q.store.autoscale {
		if strings.EqualFold(a.subscription, q.route.subscription) && (q.route.group == "" || strings.EqualFold(a.group, q.route.group)) {
			list = append(list, a.wire())
		}
	}
	return page(q, list, idOf)
}

// index is the place of the setting in the path; -1 for none.
func (as autoscaleSettings) index(at route) int {
	return slices.IndexFunc(as, func(a *autoscaleSetting) bool {
		return strings.EqualFold(a.subscription, at.subscription) && strings.EqualFold(a.group, at.group) && strings.EqualFold(a.name, at.name)
	})
}

func getAutoscale(q *request) answer {
	n := q.store.autoscale.index(q.route)
	if n < 0 {
		return resourceNotFound("microsoft.insights/autoscalesettings", q.route.name, q.route.group).answer()
	}
	return answer{status: http.StatusOK, body: q.store.autoscale[n].wire()}
}

func putAutoscale(q *request) answer {
	a := &autoscaleSetting{subscription: q.route.subscription, group: q.route.group, name: q.route.name}
	if p := q.decode(&a.model); p != nil {
		return p.answer()
	}
	if profiles, _ := dig(a.model, "properties", "profiles").([]any); a.target() == "" || len(profiles) == 0 {
		return bad("BadRequest", "An autoscale setting needs 'targetResourceUri' and at least one of 'profiles'.").answer()
	}
	created := answer{status: http.StatusOK}
	if q.store.autoscale.put(a) {
		created.status = http.StatusCreated
	}
	created.body = a.wire()
	return created
}

func deleteAutoscale(q *request) answer {
	n := q.store.autoscale.index(q.route)
	if n < 0 {
		return answer{status: http.StatusNoContent}
	}
	q.store.autoscale = slices.Delete(q.store.autoscale, n, n+1)
	return answer{status: http.StatusOK}
}
