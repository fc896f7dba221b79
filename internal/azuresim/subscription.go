package azuresim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// managementPatterns are the rows of Resource Manager itself: tenants,
// subscriptions, providers and resource groups. A resource group that is PUT
// need not exist, which is why that row calls it {name}.
var managementPatterns = []pattern{
	{"LIST", "/tenants", "tenants", listTenants},
	{"LIST", "/subscriptions", "subscriptions", listSubscriptions},
	{"GET", "/subscriptions/{subscription}", "subscriptions", getSubscription},
	{"LIST", "/subscriptions/{subscription}/locations", "locations", listRegions},
	{"LIST", "/subscriptions/{subscription}/providers", "providers", listProviders},
	{"GET", "/subscriptions/{subscription}/providers/{name}", "providers", getProvider},
	{"POST", "/subscriptions/{subscription}/providers/{name}/{verb}", "providers", postProvider},
	{"GET", "/subscriptions/{subscription}/providers/{any}/locations/{location}/operations/{operation}", "operations", getOperation},
	{"LIST", "/subscriptions/{subscription}/resourceGroups", "resourceGroups", listGroups},
	{"HEAD", "/subscriptions/{subscription}/resourceGroups/{group}", "resourceGroups", headGroup},
	{"GET", "/subscriptions/{subscription}/resourceGroups/{group}", "resourceGroups", getGroup},
	{"PUT", "/subscriptions/{subscription}/resourceGroups/{name}", "resourceGroups", putGroup},
	{"DELETE", "/subscriptions/{subscription}/resourceGroups/{group}", "resourceGroups", deleteGroup},
	{"LIST", "/subscriptions/{subscription}/resources", "resources", listResources},
	{"LIST", "/subscriptions/{subscription}/resourceGroups/{group}/resources", "resources", listResources},
}

func listTenants(q *request) answer {
	tenants := map[string]bool{}
	for _, id := range q.store.everySubscription() {
		tenants[tenantOf(q.server.Seed, q.server.TenantID, id)] = true
	}
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(tenants)) {
		list = append(list, map[string]any{"id": "/tenants/" + id, "tenantId": id})
	}
	return page(q, list, idOf)
}

func subscriptionBody(seed uint64, tenantID string, id string) map[string]any {
	return map[string]any{
		"id": "/subscriptions/" + id, "subscriptionId": id, "displayName": id, "state": "Enabled",
		"tenantId": tenantOf(seed, tenantID, id), "authorizationSource": "RoleBased",
		"subscriptionPolicies": map[string]any{"locationPlacementId": "Public_2014-09-01", "quotaId": "PayAsYouGo_2014-09-01", "spendingLimit": "Off"},
	}
}

func listSubscriptions(q *request) answer {
	list := []map[string]any{}
	for _, id := range q.store.everySubscription() {
		list = append(list, subscriptionBody(q.server.Seed, q.server.TenantID, id))
	}
	return page(q, list, idOf)
}

func getSubscription(q *request) answer {
	return answer{status: http.StatusOK, body: subscriptionBody(q.server.Seed, q.server.TenantID, q.route.subscription)}
}

// providerVersions are what a client that looks api-versions up is told for every
// type. Any well-formed one is accepted.
var providerVersions = []string{"2025-04-01", "2024-11-01", "2024-07-01", "2021-04-01"}

// zonalTypes are those whose resources can be in a zone.
var zonalTypes = []string{"virtualMachines", setsType, "disks"}

// zoneMappings are the zones of the locations that hold something.
func zoneMappings(locations []string) []map[string]any {
	zones := []string{"1", "2", "3"}
	list := []map[string]any{}
	for _, l := range locations {
		list = append(list, map[string]any{"location": l, "zones": zones})
	}
	return list
}

// providers are the namespaces of the routing table with the types below them.
func providers() map[string][]string {
	types := map[string][]string{}
	for _, p := range patterns {
		at := strings.LastIndex(p.path, "/providers/")
		if at < 0 {
			continue
		}
		namespace, rest, _ := strings.Cut(p.path[at+len("/providers/"):], "/")
		if strings.HasPrefix(namespace, "{") {
			continue
		}
		var steps []string
		for _, step := range strings.Split(rest, "/") {
			if !strings.HasPrefix(step, "{") {
				steps = append(steps, step)
			}
		}
		if kind := strings.Join(steps, "/"); !slices.Contains(types[namespace], kind) {
			types[namespace] = append(types[namespace], kind)
		}
	}
	return types
}

func providerBody(locations []string, subscription string, namespace string, types []string) map[string]any {
	list := []map[string]any{}
	for _, t := range types {
		kind := map[string]any{"resourceType": t, "locations": []string{}, "apiVersions": providerVersions}
		if slices.Contains(zonalTypes, t) {
			kind["zoneMappings"] = zoneMappings(locations)
		}
		list = append(list, kind)
	}
	return map[string]any{
		"id":        "/subscriptions/" + subscription + "/providers/" + namespace,
		"namespace": namespace, "registrationState": "Registered", "registrationPolicy": "RegistrationRequired", "resourceTypes": list,
	}
}

func listProviders(q *request) answer {
	list := []map[string]any{}
	for namespace, types := range providers() {
		list = append(list, providerBody(q.store.locations(), q.route.subscription, namespace, types))
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

// getProvider knows every namespace that looks like one: all are registered, and
// those outside the routing table have no types.
func getProvider(q *request) answer {
	for namespace, types := range providers() {
		if strings.EqualFold(namespace, q.route.name) {
			return answer{status: http.StatusOK, body: providerBody(q.store.locations(), q.route.subscription, namespace, types)}
		}
	}
	if !strings.Contains(q.route.name, ".") {
		return fail(http.StatusNotFound, "InvalidResourceNamespace", "The resource namespace '%s' is invalid.", q.route.name).answer()
	}
	return answer{status: http.StatusOK, body: providerBody(q.store.locations(), q.route.subscription, q.route.name, nil)}
}

// postProvider answers register and unregister with the provider as it is.
func postProvider(q *request) answer {
	if q.route.verb != "register" && q.route.verb != "unregister" {
		return fail(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found for path '%s'.", q.http.URL.Path).answer()
	}
	return getProvider(q)
}
