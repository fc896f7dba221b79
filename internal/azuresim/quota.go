package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// used counts the vCPUs of machines that hold cores against a quota name: live
// and not deallocated, those being deleted included.
func (s *Server) used(subscription, location, name string, now time.Time) int {
	used := 0
	for _, ss := range s.sets {
		if !strings.EqualFold(ss.subscription, subscription) || !strings.EqualFold(ss.location, location) {
			continue
		}
		if !slices.Contains(ss.quotas(), name) {
			continue
		}
		for _, i := range ss.instances {
			if !i.gone(now) && i.powerState(now) != "deallocated" {
				used += ss.vcpus
			}
		}
	}
	return used
}

// quotas are the names a scale set's instances count against. Spot machines have
// one of their own.
func (ss *scaleSet) quotas() []string {
	if ss.spot() {
		return []string{"lowPriorityCores"}
	}
	if ss.family == "" {
		return []string{"cores"}
	}
	return []string{"cores", ss.family}
}

// checkQuota refuses more instances than the quotas allow.
func (s *Server) checkQuota(ss *scaleSet, more int, now time.Time) *problem {
	if more <= 0 {
		return nil
	}
	for _, name := range ss.quotas() {
		limit, limited := s.Quota[name]
		used := s.used(ss.subscription, ss.location, name, now)
		required := more * ss.vcpus
		if !limited || used+required <= limit {
			continue
		}
		label := name + " Cores"
		switch name {
		case "cores":
			label = "Total Regional Cores"
		case "lowPriorityCores":
			label = "LowPriorityCores"
		}
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase at https://aka.ms/ProdportalCRP/ by specifying parameters listed in the 'Details' section for deployment to succeed.",
			label, ss.location, limit, used, required, used+required)
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
	names := []string{"cores", "lowPriorityCores"}
	for _, ss := range q.server.sets {
		if strings.EqualFold(ss.subscription, q.route.subscription) && strings.EqualFold(ss.location, q.route.location) {
			names = append(names, ss.quotas()...)
		}
	}
	slices.Sort(names)
	list := []usage{}
	for _, name := range slices.Compact(names) {
		u := usage{Unit: "Count", Limit: unlimited, CurrentValue: q.server.used(q.route.subscription, q.route.location, name, q.now)}
		if limit, ok := q.server.Quota[name]; ok {
			u.Limit = limit
		}
		u.Name.Value, u.Name.LocalizedValue = name, name
		list = append(list, u)
	}
	return page(q, list, func(u usage) string { return u.Name.Value })
}
