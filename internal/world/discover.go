package world

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/ledger"
)

// enabled is the tag by which sluice finds its groups, where it is not told of them.
const enabled = "cluster-autoscaler-enabled"

func doDiscover(w *world, _ *statement) error {
	w.groups.discover = []azure.Discovery{{Tags: map[string]string{enabled: "true"}}}
	return nil
}

// farm is what a process is told of Azure that reads this clock.
func (w *world) farm(wire http.RoundTripper, now func() time.Time) azure.Options {
	o := azure.Options{
		Groups: w.groups.specs, Discovery: w.groups.discover, Transport: wire, Now: now, Runner: &w.beside,
		Ledger: ledger.New(ledger.Horizon(w.config.policy), now),
	}
	if w.groups.discover != nil {
		o.Groups = nil
	}
	w.groups.tellPools(&o)
	return o
}

// tagLimits has a scale set's tags say what sluice is to find.
func (gs *nodeGroups) tagLimits(g azure.GroupSpec) error {
	tags := maps.Clone(gs.tags[g.Name])
	if tags == nil {
		return nil // its scale set is missing
	}
	tags[enabled], tags["min"], tags["max"] = "true", strconv.Itoa(g.Min), strconv.Itoa(g.Max)
	gs.tags[g.Name] = tags
	return gs.azure.SetTags(g.Name, tags)
}

// tagAll tags every group, where sluice is to find them.
func (gs *nodeGroups) tagAll() error {
	if gs.discover == nil {
		return nil
	}
	for _, g := range gs.specs {
		if err := gs.tagLimits(g); err != nil {
			return err
		}
	}
	return nil
}
