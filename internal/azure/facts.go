package azure

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/catalog"
)

// facts are what is known of sizes and prices beside what a group itself says. The nil facts are the tables that sluice brings along.
// It is safe for concurrent use and asks nobody while somebody waits.
type facts struct {
	predict bool // labels that AKS would set
	sizes   *sizeList
	prices  *priceList
	log     *slog.Logger

	mu      sync.Mutex
	notices map[cluster.GroupID][]string
	offered map[terms]*offered
}

// makeFacts makes what is asked besides, each in its own time. Only a file of prices is read at once.
func (c *client) makeFacts(ctx context.Context, skus *armcompute.ResourceSKUsClient, running *sync.WaitGroup) (*facts, error) {
	o := c.options
	own, err := readPricesFile(o.PricesFile)
	if err != nil {
		return nil, err
	}
	start := func() *backgroundTask { return &backgroundTask{ctx: ctx, running: running} }
	f := &facts{
		predict: !o.NoLabelPredictions,
		sizes:   &sizeList{list: listSizes(skus, c.wrap), always: o.DynamicInstanceList, now: o.Now, log: o.Log, start: start},
		prices:  &priceList{own: own},
		log:     o.Log,
	}
	if o.RetailPrices {
		f.prices.retail = &retailList{endpoint: o.RetailPricesEndpoint, client: o.client(), now: o.Now, log: o.Log, backgroundTask: start()}
	}
	return f, nil
}

// Notice is something about a group that an operator should know, in one sentence with the remedy: a tag that cannot be read, a size
// that the subscription may not have in one of the group's zones.
type Notice struct {
	Group    cluster.GroupID
	Sentence string
}

// Notices are what the last reads of the groups found, sorted by group. Each was logged once when it came up.
func (p *Provider) Notices() []Notice {
	p.facts.mu.Lock()
	defer p.facts.mu.Unlock()
	var all []Notice
	for _, id := range slices.Sorted(maps.Keys(p.facts.notices)) {
		for _, sentence := range p.facts.notices[id] {
			all = append(all, Notice{id, sentence})
		}
	}
	return all
}

// describe adds to a group's view what its next machine will be and cost.
func (f *facts) describe(g *cluster.Group, m *model) {
	tags := readTags(m.tags)
	size, known := f.size(m)
	barred := f.barred(m)
	inZone := func(zone string) bool { return barred[zone] != "" }

	predict := f == nil || f.predict
	g.Zones = zonesFor(m, inZone)
	g.Template = template(m, size, known, cmp.Or(cluster.NextZone(g.Zones, g.InZones()), unzoned), tags, predict)
	if zone, reported := tags.labels[corev1.LabelTopologyZone]; reported {
		g.Zones = []string{zone} // as all nodes of the group say, wherever their machines are
	}
	if g.Template == nil {
		g.Remedy = fmt.Sprintf("tag the scale set with %scpu and %smemory", resourceTag, resourceTag)
	}
	g.Options, g.Reported = tags.options, tags.said(m.make)
	// Every node's CSINode will say how many disks its driver attaches: as many as the size takes, but for those that each machine of
	// the group is made with.
	if size.MaxDataDisks > m.disks.data {
		g.VolumeLimit = size.MaxDataDisks - m.disks.data
	}
	g.Spot = m.spot
	g.PriceUSDPerHour = f.price(catalog.Key{Size: m.size, Region: m.location, Spot: m.spot, Windows: m.windows})

	g.Sizes, g.Parks = f.offers(m), m.parks

	notices := tags.faults
	for _, zone := range slices.Sorted(maps.Keys(barred)) {
		notices = append(notices, barred[zone])
	}
	f.note(g.ID, notices)
}

// note keeps what was found and logs what is new.
func (f *facts) note(id cluster.GroupID, found []string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sentence := range found {
		if !slices.Contains(f.notices[id], sentence) {
			f.log.Warn("group is not as its tags and zones want it", "group", string(id), "err", sentence)
		}
	}
	if f.notices == nil {
		f.notices = map[cluster.GroupID][]string{}
	}
	if f.notices[id] = found; len(found) == 0 {
		delete(f.notices, id)
	}
}

// size is what a machine of the group has: as Azure's list of sizes says when it was asked, else as the table does.
func (f *facts) size(m *model) (catalog.Size, bool) {
	if f != nil {
		if o := f.sizes.offer(m.location, m.size); o != nil {
			return o.size, true
		}
	}
	s, ok := catalog.Find(m.size)
	if !ok && f != nil {
		f.sizes.want(m.location, m.size)
	}
	return s, ok
}

// barred says by zone of the group, "" for all of them, why the subscription may not have the size there; empty when it may, or when
// Azure was not asked.
func (f *facts) barred(m *model) map[string]string {
	if f == nil {
		return nil
	}
	o := f.sizes.offer(m.location, m.size)
	if o == nil {
		return nil
	}
	why := map[string]string{}
	const remedy = "ask Azure's support for access, or give the group another size"
	if o.everywhere != "" {
		why[""] = fmt.Sprintf("size %s is not available to this subscription in %s (%s): %s", m.size, strings.ToLower(m.location), o.everywhere, remedy)
	}
	for _, z := range m.zones {
		switch reason := o.zones[z]; {
		case reason != "":
			why[z] = fmt.Sprintf("size %s is not available to this subscription in zone %s of %s (%s): take the zone from the group, %s", m.size, z, strings.ToLower(m.location), reason, remedy)
		case len(o.sold) > 0 && !o.sold[z]:
			why[z] = fmt.Sprintf("size %s is not sold in zone %s of %s: take the zone from the group, or give the group another size", m.size, z, strings.ToLower(m.location))
		}
	}
	return why
}

// price is in USD an hour, 0 when it is not known.
func (f *facts) price(k catalog.Key) float64 {
	if f == nil {
		usd, _ := catalog.Listed().USDPerHour(k)
		return usd
	}
	return f.prices.usdPerHour(k)
}

// armSize finds the letter p among a size's features, as in Standard_D4ps_v5.
var armSize = regexp.MustCompile(`(?i)^[a-z]+_[a-z]+[0-9]+(-[0-9]+)?[a-z]*p[a-z]*(_|$)`)

// architecture is the Kubernetes name of the processor architecture of a size that is in no table, as its name tells.
func architecture(name string) string {
	if armSize.MatchString(name) {
		return "arm64"
	}
	return "amd64"
}
