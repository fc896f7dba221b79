package azure

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/catalog"
)

// terms are what decides which sizes a group could have: where it is and what its machines are.
type terms struct {
	location, zones, arch string
	spot, windows         bool
	confidential          bool
}

// offered are the sizes for some terms, with what they were made of.
type offered struct {
	sizes    *cluster.Sizes
	answered int             // by Azure's list of sizes, at the time
	prices   *catalog.Prices // of the retail list, at the time
}

// offers are the sizes that the group could have: those that Azure's list offers the subscription in all zones of the group, where the list
// was read; else those that have a price in the region, or all of the table where none has. They have the group's processor architecture,
// and are sold as spot where the group is. Confidential ones are for groups of such. Whether the group's image starts on them is not known.
//
// As long as nothing that they are made of changes they are the same pointer, for all groups on the same terms.
func (f *facts) offers(m *model) *cluster.Sizes {
	if f == nil || f.sizes == nil || f.prices == nil || m.location == "" {
		return nil
	}
	t := terms{
		location: strings.ToLower(m.location), zones: strings.Join(m.zones, ","), arch: architecture(m.size),
		spot: m.spot, windows: m.windows, confidential: confidential(m.size),
	}
	list, answered := f.sizes.all(t.location)
	prices := f.prices.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.offered[t]
	if known != nil && known.answered == answered && known.prices == prices {
		return known.sizes
	}
	made := &offered{&cluster.Sizes{Where: t.location, All: f.list(t, m.zones, list)}, answered, prices}
	if known != nil && slices.Equal(known.sizes.All, made.sizes.All) {
		made.sizes = known.sizes
	}
	if f.offered == nil {
		f.offered = map[terms]*offered{}
	}
	f.offered[t] = made
	return made.sizes
}

// list is what the terms come to by Azure's list of the region, nil when it was not read.
func (f *facts) list(t terms, zones []string, list map[string]*offer) []cluster.Size {
	var all, priced []cluster.Size
	add := func(s catalog.Size) {
		if s.Arch != t.arch || t.spot && !s.Spot || confidential(s.Name) != t.confidential {
			return
		}
		one := cluster.Size{
			Name: s.Name, Family: s.Family, Cores: s.VCPUs, MemoryMiB: s.MemoryMiB,
			Device: corev1.ResourceName(s.GPUResource()), Devices: s.GPUs,
			USDPerHour: f.prices.known(catalog.Key{Size: s.Name, Region: t.location, Spot: t.spot, Windows: t.windows}),
		}
		all = append(all, one)
		if one.USDPerHour > 0 {
			priced = append(priced, one)
		}
	}
	for _, o := range list {
		if o.everywhere == "" && !slices.ContainsFunc(zones, func(z string) bool { return o.zones[z] != "" || len(o.sold) > 0 && !o.sold[z] }) {
			add(o.size)
		}
	}
	if list == nil {
		for _, s := range catalog.Sizes() {
			add(s)
		}
		if len(priced) > 0 {
			all = priced
		}
	}
	price := func(s cluster.Size) float64 {
		if s.USDPerHour <= 0 {
			return math.Inf(1)
		}
		return s.USDPerHour
	}
	slices.SortFunc(all, func(a, b cluster.Size) int {
		return cmp.Or(cmp.Compare(price(a), price(b)), cmp.Compare(a.Cores, b.Cores), cmp.Compare(a.MemoryMiB, b.MemoryMiB), strings.Compare(a.Name, b.Name))
	})
	return slices.Clip(all)
}

// confidential says whether machines of the size are confidential ones, which need an image and a security profile of their own.
func confidential(size string) bool {
	name := strings.ToLower(size)
	return strings.HasPrefix(name, "standard_dc") || strings.HasPrefix(name, "standard_ec")
}
