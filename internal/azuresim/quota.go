package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// instanceQuota is the quota of machines, whatever their size.
const instanceQuota = "virtualMachines"

// demand is what machines of one size need of the quotas of a location.
type demand struct {
	resource
	quotas   []string // of their cores
	vcpus    int      // of one of them
	count    int      // that need cores
	machines int      // that are new
}

// demand is what n machines like this one need.
func (i *instance) demand(n int) demand {
	return demand{resource: i.resource, quotas: quotasOf(i.spot(), i.placement.traits), vcpus: i.placement.traits.vcpus, count: n, machines: n}
}

// demand is what n more instances need.
func (ss *scaleSet) demand(n int) demand {
	return demand{resource: ss.resource, quotas: ss.quotas(), vcpus: ss.traits.vcpus, count: n, machines: n}
}

// used counts what is held of a quota: machines, or the vCPUs of machines that
// are not deallocated, those being deleted included.
func (st *store) used(subscription, location, name string, now time.Time) int {
	used := 0
	for i := range st.everyInstance() {
		switch {
		case i.gone(now) || i.extra || !i.in(subscription, "") || !strings.EqualFold(i.location, location):
		case name == instanceQuota:
			used++
		case i.powerState(now) != "deallocated" && slices.Contains(quotasOf(i.spot(), i.placement.traits), name):
			used += i.placement.traits.vcpus
		}
	}
	return used
}

// quotas are the names a scale set's instances count against.
func (ss *scaleSet) quotas() []string { return quotasOf(ss.spot(), ss.traits) }

// quotasOf are the quotas of the cores of a machine. Spot machines have one of
// their own.
func quotasOf(spot bool, size traits) []string {
	switch {
	case spot:
		return []string{"lowPriorityCores"}
	case size.family == "":
		return []string{"cores"}
	}
	return []string{"cores", size.family}
}

// checkQuota refuses a demand for more than the quotas allow.
func (cp capacity) checkQuota(d demand, now time.Time) *problem {
	for _, name := range append(slices.Clone(d.quotas), instanceQuota) {
		required := d.count * d.vcpus
		if name == instanceQuota {
			required = d.machines
		}
		limit, limited := cp.quota[name]
		if !limited || required <= 0 {
			continue
		}
		used := cp.store.used(d.subscription, d.location, name, now)
		if used+required <= limit {
			continue
		}
		label := name + " Cores"
		switch name {
		case "cores":
			label = "Total Regional Cores"
		case "lowPriorityCores":
			label = "LowPriorityCores"
		case instanceQuota:
			label = "Virtual Machines"
		}
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase at https://aka.ms/ProdportalCRP/ by specifying parameters listed in the 'Details' section for deployment to succeed.",
			label, d.location, limit, used, required, used+required)
	}
	return nil
}

// usage is one row of the usages list.
type usage struct {
	Name struct {
		Value          string `json:"value"`
		LocalizedValue string `json:"localizedValue"`
	} `json:"name"`
	CurrentValue int    `json:"currentValue"`
	Limit        int    `json:"limit"`
	Unit         string `json:"unit"`
}

// unlimited is what the usages list shows for a name without a quota.
const unlimited = 1_000_000

func listUsages(q *request) answer {
	if p := noProviderThere(q.store.regions(), q.query, q.route.location, "locations/usages"); p != nil {
		return p.answer()
	}
	names := []string{"cores", "lowPriorityCores", instanceQuota}
	for _, ss := range q.store.sets {
		if ss.in(q.route.subscription, "") && strings.EqualFold(ss.location, q.route.location) {
			names = append(names, ss.quotas()...)
		}
	}
	for i := range q.store.everyInstance() {
		if i.in(q.route.subscription, "") && strings.EqualFold(i.location, q.route.location) {
			names = append(names, quotasOf(i.spot(), i.placement.traits)...)
		}
	}
	for _, k := range q.store.skus.offered(q.route.location) {
		names = append(names, k.Family)
	}
	slices.Sort(names)
	list := []usage{}
	for _, name := range slices.Compact(names) {
		u := usage{Unit: "Count", Limit: unlimited, CurrentValue: q.store.used(q.route.subscription, q.route.location, name, q.now)}
		if limit, ok := q.server.Quota[name]; ok {
			u.Limit = limit
		}
		u.Name.Value, u.Name.LocalizedValue = name, name
		list = append(list, u)
	}
	return page(q, list, func(u usage) string { return u.Name.Value })
}
