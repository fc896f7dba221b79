package certify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/doctor"
)

// Plan is what a run is going to use.
type Plan struct {
	Region, Size, Family string
	VCPUs                int
	Spot, Regular        float64 // USD an hour, 0 when not known
	For                  time.Duration
	QuotaLimit, Used     int // of spot cores

	capabilities map[string]string
}

// mostMachines is how many machines there are at a time.
const mostMachines = 2

// RemovalTime is how long a removal may take.
const RemovalTime = 10 * time.Minute

// MostUSD is what the run costs at most: its machines at the regular price until the last moment, and a cent for their disks; false: no price is known.
func (p Plan) MostUSD() (float64, bool) {
	price := cmp.Or(p.Regular, p.Spot)
	return math.Ceil(100*mostMachines*price*(p.For+RemovalTime).Hours()+1) / 100, price > 0
}

// beyond is the least number of machines that exceeds the quota of spot cores; 0 when a scale set may not ask for so many.
func (p Plan) beyond() int {
	n := max(0, p.QuotaLimit-p.Used)/max(1, p.VCPUs) + 1
	if n > 500 {
		return 0
	}
	return n
}

// Survey finds the cheapest small size that the subscription may have as spot in a region, and whether there is quota for it. It only reads.
func Survey(ctx context.Context, cloud *azure.Resources, region string, lasts time.Duration) (Plan, error) {
	p := Plan{Region: strings.ToLower(region), For: lasts}
	whole := "/subscriptions/" + url.PathEscape(cloud.Subscription()) + "/providers/Microsoft.Compute/"
	all, err := listAll(ctx, cloud, whole+"skus", skusVersion, url.Values{"$filter": {"location eq '" + p.Region + "'"}})
	if err != nil {
		return p, err
	}
	if len(all) == 0 {
		return p, fmt.Errorf("--region=%s: Azure sells no size there: give the name of a region such as westeurope", region)
	}
	var fit []Plan
	for _, v := range all {
		if size, is := p.candidate(v); is {
			fit = append(fit, size)
		}
	}
	if len(fit) == 0 {
		return p, fmt.Errorf("--region=%s: this subscription may have no spot machine of at most two vCPUs there: give another region", region)
	}
	price := func(p Plan) float64 { return cmp.Or(p.Spot, p.Regular, math.MaxFloat64) }
	p = slices.MinFunc(fit, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(price(a), price(b)), a.VCPUs-b.VCPUs, cmp.Compare(a.Size, b.Size))
	})
	usages, err := listAll(ctx, cloud, whole+"locations/"+p.Region+"/usages", computeVersion, nil)
	if err != nil {
		return p, err
	}
	for _, v := range usages {
		if strings.EqualFold(text(v, "name", "value"), "lowPriorityCores") {
			p.QuotaLimit, p.Used = number(v, "limit"), number(v, "currentValue")
		}
	}
	if need := mostMachines * p.VCPUs; p.QuotaLimit-p.Used < need {
		return p, fmt.Errorf("the quota of spot cores in %s is %d, %d are in use and %d are needed: have it raised, or give another --region",
			p.Region, p.QuotaLimit, p.Used, need)
	}
	return p, nil
}

// needed are the actions without which a run makes nothing, or cannot remove what it made.
func needed() []string {
	actions := []string{"Microsoft.Resources/subscriptions/resourceGroups/write", "Microsoft.Resources/subscriptions/resourceGroups/delete"}
	for _, kind := range []string{"Microsoft.Compute/availabilitySets", "Microsoft.Compute/virtualMachineScaleSets", "Microsoft.Network/virtualNetworks"} {
		actions = append(actions, kind+"/write", kind+"/delete")
	}
	return actions
}

// Missing are the rights in the subscription that a run needs and whoever signed in has not got. Who may not read rights is not judged.
func Missing(ctx context.Context, c *azure.Resources) (actions []string, err error) {
	all, err := c.List(ctx, "/subscriptions/"+url.PathEscape(c.Subscription())+"/providers/Microsoft.Authorization/permissions", rightsVersion, nil)
	if cloud.KindOf(err) == cloud.Unauthorized {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held := make([]doctor.Permission, len(all))
	for i := range all {
		if err := json.Unmarshal(all[i], &held[i]); err != nil {
			return nil, fmt.Errorf("an answer about rights could not be read: %w", err)
		}
	}
	for _, action := range needed() {
		if !doctor.Allowed(held, action) {
			actions = append(actions, action)
		}
	}
	return actions, nil
}

// candidate says whether a size of Azure's list is small, runs the run's image and is sold to the subscription.
func (p Plan) candidate(v any) (Plan, bool) {
	p.Size, p.Family, p.capabilities = text(v, "name"), text(v, "family"), map[string]string{}
	for _, c := range items(v, "capabilities") {
		p.capabilities[text(c, "name")] = text(c, "value")
	}
	p.VCPUs, _ = strconv.Atoi(p.capabilities["vCPUs"])
	memory, _ := strconv.ParseFloat(p.capabilities["MemoryGB"], 64)
	controllers := cmp.Or(p.capabilities["DiskControllerTypes"], "SCSI")
	fits := text(v, "resourceType") == "virtualMachines" && p.VCPUs >= 1 && p.VCPUs <= 2 && memory >= 1.5 && memory <= 8 &&
		p.capabilities["CpuArchitectureType"] == "x64" && p.capabilities["LowPriorityCapable"] == "True" &&
		strings.Contains(p.capabilities["HyperVGenerations"], "V2") && strings.Contains(controllers, "SCSI")
	for _, r := range items(v, "restrictions") {
		fits = fits && text(r, "type") != "Location"
	}
	p.Spot, _ = catalog.Listed().USDPerHour(catalog.Key{Size: p.Size, Region: p.Region, Spot: true})
	p.Regular, _ = catalog.Listed().USDPerHour(catalog.Key{Size: p.Size, Region: p.Region})
	return p, fits
}
