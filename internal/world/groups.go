package world

import (
	"strings"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// nodeGroups are the scenario's node groups, all scale sets or all pools: what sluice is told of each, and what its machines are.
type nodeGroups struct {
	azure    *azuresim.Server // that has them
	specs    []azure.GroupSpec
	discover []azure.Discovery // how sluice finds its groups; nil when it is told of them
	pools    []*pool           // the groups that are no scale sets; all of them or none
	deployed int               // deployments that sluice has named
	sizes    map[string]machineSize
	tags     map[string]map[string]string // of scale sets
}

// named is the group that Azure calls so; false for none of sluice's.
func (gs *nodeGroups) named(name string) (azure.GroupSpec, bool) {
	for _, g := range gs.specs {
		if strings.EqualFold(g.Name, name) {
			return g, true
		}
	}
	return azure.GroupSpec{}, false
}
