package azure

import (
	"maps"
	"slices"
)

// The actions that each kind of node group needs, as Azure's role definitions name them. Together they are the role in deploy/azure-role.json.
var (
	scaleSetActions = []string{
		"Microsoft.Compute/virtualMachineScaleSets/read",
		"Microsoft.Compute/virtualMachineScaleSets/write",
		"Microsoft.Compute/virtualMachineScaleSets/delete/action",
		"Microsoft.Compute/locations/operations/read",
	}
	uniformActions  = []string{"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read"}
	flexibleActions = []string{"Microsoft.Compute/virtualMachines/read"}
)

// Needs are the actions without which the groups read so far cannot be managed, sorted. What sluice merely does better with is not among
// them. Actions at other resources that a write of a group's own model asks for, such as joining its subnet, are not known here.
func (p *Provider) Needs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	needed := map[string]bool{}
	add := func(actions []string) {
		for _, a := range actions {
			needed[a] = true
		}
	}
	add(scaleSetActions)
	for _, g := range p.groups {
		if g.reading == nil {
			continue
		}
		switch g.reading.model.kind.(type) {
		case *uniform:
			add(uniformActions)
		case *flexible:
			add(flexibleActions)
		}
	}
	return slices.Sorted(maps.Keys(needed))
}
