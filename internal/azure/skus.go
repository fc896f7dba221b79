package azure

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/catalog"
)

// How long Azure's list of sizes serves, and how long a failed question rests. The list is megabytes, and changes by the month.
const (
	sizesServe    = 12 * time.Hour
	sizesAskAgain = time.Hour
)

// offer is what Azure's list of resource SKUs says of a size in a region.
type offer struct {
	size       catalog.Size
	everywhere string            // why the subscription may not have it in the region at all; "" when it may
	zones      map[string]string // the same by zone
	sold       map[string]bool   // the zones that have it; empty when the region has no zones, or Azure names none
}

// sizeList is Azure's list of sizes by region. It is asked when the tables do not know a size, or of every region that a group is in when
// always is set (enableDynamicInstanceList), once in 12 hours at most. Until it has answered, and while it fails, the table stands in.
type sizeList struct {
	list   func(ctx context.Context, location string) ([]*armcompute.ResourceSKU, error)
	always bool
	now    func() time.Time
	log    *slog.Logger
	start  func() *backgroundTask

	mu      sync.Mutex
	regions map[string]*sizeRegion // by lower-case location
}

type sizeRegion struct {
	backgroundTask *backgroundTask
	offers         map[string]*offer // by lower-case size; nil before the first answer. An answer puts another map in its place
	fault          string            // of the last question, "" when it was good

	answered int // how often there was a good answer
}

// region is what is kept for a location. sizeList.mu is held.
func (l *sizeList) region(location string) *sizeRegion {
	location = strings.ToLower(location)
	r := l.regions[location]
	if r == nil {
		r = &sizeRegion{backgroundTask: l.start()}
		if l.regions == nil {
			l.regions = map[string]*sizeRegion{}
		}
		l.regions[location] = r
	}
	return r
}

// offer is what the list says of a size, nil when it says nothing or was not asked. Where sizes are always asked for, this asks.
func (l *sizeList) offer(location, size string) *offer {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.region(location)
	if location != "" && l.always {
		l.ask(location, r)
	}
	return r.offers[strings.ToLower(size)]
}

// all are the offers of a region by lower-case size, which nobody changes; nil before the first answer. It asks nobody. Answered counts the
// answers.
func (l *sizeList) all(location string) (offers map[string]*offer, answered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.regions[strings.ToLower(location)]; r != nil {
		return r.offers, r.answered
	}
	return nil, 0
}

// want asks for a size that no table knows.
func (l *sizeList) want(location, size string) {
	if location == "" || size == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(location, l.region(location))
}

// ask starts the question when its time has come. sizeList.mu is held.
func (l *sizeList) ask(location string, r *sizeRegion) {
	r.backgroundTask.run(l.now, func(ctx context.Context) time.Duration {
		found, err := l.list(ctx, location)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil {
			if said := err.Error(); said != r.fault {
				r.fault = said
				l.log.Warn("sizes are taken from the table that sluice brings along", "location", strings.ToLower(location), "err", err)
			}
			return sizesAskAgain
		}
		r.fault, r.offers, r.answered = "", offersOf(found, location), r.answered+1
		l.log.Debug("read Azure's list of sizes", "location", strings.ToLower(location), "sizes", len(r.offers))
		return sizesServe
	})
}

// offersOf translates the list. A size without CPU or memory is passed over.
func offersOf(list []*armcompute.ResourceSKU, location string) map[string]*offer {
	offers := map[string]*offer{}
	for _, sku := range list {
		if sku == nil || !strings.EqualFold(val(sku.ResourceType), "virtualMachines") {
			continue
		}
		capability := map[string]string{}
		for _, c := range sku.Capabilities {
			if c != nil {
				capability[val(c.Name)] = val(c.Value)
			}
		}
		size, err := catalog.FromCapabilities(val(sku.Name), val(sku.Family), capability)
		if err != nil {
			continue
		}
		o := &offer{size: size, zones: map[string]string{}, sold: map[string]bool{}}
		for _, i := range sku.LocationInfo {
			if i == nil || !strings.EqualFold(val(i.Location), location) {
				continue
			}
			for _, z := range i.Zones {
				o.sold[val(z)] = true
			}
		}
		for _, r := range sku.Restrictions {
			o.restrict(r, location)
		}
		offers[strings.ToLower(size.Name)] = o
	}
	return offers
}

// restrict takes in why the subscription may not have the size.
func (o *offer) restrict(r *armcompute.ResourceSKURestrictions, location string) {
	if r == nil {
		return
	}
	reason := string(val(r.ReasonCode))
	if reason == "" {
		reason = "restricted"
	}
	info := r.RestrictionInfo
	switch val(r.Type) {
	case armcompute.ResourceSKURestrictionsTypeZone:
		if info == nil || !names(info.Locations, location) {
			return
		}
		for _, z := range info.Zones {
			o.zones[val(z)] = reason
			o.sold[val(z)] = true // restricted is not the same as not sold
		}
	case armcompute.ResourceSKURestrictionsTypeLocation:
		if names(r.Values, location) || info != nil && names(info.Locations, location) {
			o.everywhere = reason
		}
	}
}

func names(list []*string, location string) bool {
	for _, l := range list {
		if strings.EqualFold(val(l), location) {
			return true
		}
	}
	return false
}

// listSizes asks for all sizes of a location. An error is one sentence, as wrap says it.
func listSizes(client *armcompute.ResourceSKUsClient, wrap func(group cluster.GroupID, doing string, err error) *cloud.Error) func(context.Context, string) ([]*armcompute.ResourceSKU, error) {
	return func(ctx context.Context, location string) ([]*armcompute.ResourceSKU, error) {
		var all []*armcompute.ResourceSKU
		pager := client.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: new(fmt.Sprintf("location eq '%s'", strings.ToLower(location)))})
		links := links{}
		for pager.More() {
			page, err := pager.NextPage(ctx)
			if err != nil {
				return nil, wrap("", "list the sizes of "+strings.ToLower(location), err)
			}
			all = append(all, page.Value...)
			if err := links.follow(val(page.NextLink)); err != nil {
				return nil, wrap("", "list the sizes of "+strings.ToLower(location), err)
			}
		}
		return all, nil
	}
}
