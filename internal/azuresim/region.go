package azuresim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// publicRegions are those of Azure's public cloud, as az account list-locations names the physical ones (2025).
var publicRegions = []string{
	"australiacentral", "australiacentral2", "australiaeast", "australiasoutheast", "austriaeast", "brazilsouth", "brazilsoutheast",
	"canadacentral", "canadaeast", "centralindia", "centralus", "chilecentral", "eastasia", "eastus", "eastus2", "francecentral",
	"francesouth", "germanynorth", "germanywestcentral", "indonesiacentral", "israelcentral", "italynorth", "japaneast", "japanwest",
	"jioindiacentral", "jioindiawest", "koreacentral", "koreasouth", "malaysiawest", "mexicocentral", "newzealandnorth",
	"northcentralus", "northeurope", "norwayeast", "norwaywest", "polandcentral", "qatarcentral", "southafricanorth",
	"southafricawest", "southcentralus", "southeastasia", "southindia", "spaincentral", "swedencentral", "switzerlandnorth",
	"switzerlandwest", "uaecentral", "uaenorth", "uksouth", "ukwest", "westcentralus", "westeurope", "westindia", "westus", "westus2",
	"westus3",
}

// regions are the public ones, and those in which a world has something: it may be of another cloud. Sorted.
func (st *store) regions() []string {
	all := slices.Concat(publicRegions, st.locations())
	for _, g := range st.groups {
		all = append(all, region(g.location))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// region is the short name of a region: people write "West Europe" as well.
func region(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "")) }

func hasRegion(regions []string, name string) bool { return slices.Contains(regions, region(name)) }

// listRegions also has a logical region, in which nothing can be made, as Azure's list does.
func listRegions(q *request) answer {
	kinds := map[string]string{"europe": "Logical"}
	for _, name := range q.store.regions() {
		kinds[name] = "Physical"
	}
	list := []map[string]any{}
	for name, kind := range kinds {
		list = append(list, map[string]any{
			"id": "/subscriptions/" + q.route.subscription + "/locations/" + name, "name": name, "type": "Region", "displayName": name,
			"metadata": map[string]any{"regionType": kind},
		})
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

// noGroupThere refuses a resource group in a region that does not exist.
func noGroupThere(regions []string, name string) *problem {
	if hasRegion(regions, name) {
		return nil
	}
	return fail(http.StatusBadRequest, "LocationNotAvailableForResourceGroup",
		"The provided location '%s' is not available for resource group. List of available regions is '%s'.",
		name, strings.Join(regions, ","))
}

// noProviderThere refuses a question about a region that does not exist. The kind is such as locations/usages.
func noProviderThere(regions []string, query url.Values, name, kind string) *problem {
	if hasRegion(regions, name) {
		return nil
	}
	return fail(http.StatusBadRequest, "NoRegisteredProviderFound",
		"No registered resource provider found for location '%s' and API version '%s' for type '%s'. "+
			"The supported api-versions are '%s'. The supported locations are '%s'.",
		name, query.Get("api-version"), kind, strings.Join(providerVersions, ", "), strings.Join(regions, ", "))
}
