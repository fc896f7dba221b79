package azure

import (
	"maps"
	"slices"
	"strings"
)

// The actions that managing each kind of node group rests on, as Azure's role definitions name them. [RoleFor] says which of the shipped roles has
// one. The roles also have what sluice merely does better with, and what Azure asks for at resources that a group's model names.
var (
	scaleSetActions = []string{
		"Microsoft.Compute/virtualMachineScaleSets/read",
		"Microsoft.Compute/virtualMachineScaleSets/write",
		"Microsoft.Compute/virtualMachineScaleSets/delete/action",
		"Microsoft.Compute/locations/operations/read",
	}
	uniformActions  = []string{"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read"}
	flexibleActions = []string{"Microsoft.Compute/virtualMachines/read"}
	parkingActions  = []string{
		"Microsoft.Compute/virtualMachineScaleSets/deallocate/action",
		"Microsoft.Compute/virtualMachineScaleSets/start/action",
	}
	standardActions = []string{
		"Microsoft.Compute/virtualMachines/read",
		"Microsoft.Network/networkInterfaces/read",
		"Microsoft.Compute/locations/operations/read",
	}
	deploymentActions = []string{
		"Microsoft.Compute/virtualMachines/write",
		"Microsoft.Compute/virtualMachines/delete",
		"Microsoft.Compute/disks/read",
		"Microsoft.Compute/disks/write",
		"Microsoft.Compute/disks/delete",
		"Microsoft.Network/networkInterfaces/write",
		"Microsoft.Network/networkInterfaces/delete",
		"Microsoft.Network/networkInterfaces/join/action",
		"Microsoft.Resources/deployments/read",
		"Microsoft.Resources/deployments/write",
		"Microsoft.Resources/deployments/delete",
		"Microsoft.Resources/deployments/exportTemplate/action",
		"Microsoft.Resources/deployments/operationStatuses/read",
	}
	poolParkingActions = []string{
		"Microsoft.Compute/virtualMachines/deallocate/action",
		"Microsoft.Compute/virtualMachines/start/action",
	}
)

// RoleFor is the file of the shipped role that has the action: deploy/azure-role.json, or the one for availability sets besides.
func RoleFor(action string) string {
	for _, a := range slices.Concat(deploymentActions, poolParkingActions, []string{"Microsoft.Compute/availabilitySets/write"}) {
		if strings.EqualFold(a, action) {
			return "deploy/azure-role-availability-sets.json"
		}
	}
	return "deploy/azure-role.json"
}

// roleOfPersons is the role of Azure's own by which people make and delete what the action is of: sluice's roles have what sluice itself does.
func roleOfPersons(action string) string {
	if strings.HasPrefix(strings.ToLower(action), "microsoft.authorization/") && !strings.HasSuffix(strings.ToLower(action), "/read") {
		return "User Access Administrator"
	}
	return "Contributor"
}

// Needs are the actions without which the groups read so far cannot be managed, sorted. Actions at other resources that a write of a group's own
// model asks for, such as joining its subnet, are not known here.
func (p *Provider) Needs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	needed := map[string]bool{}
	add := func(actions []string) {
		for _, a := range actions {
			needed[a] = true
		}
	}
	for _, g := range p.groups {
		if g.reading == nil {
			continue
		}
		m := g.reading.model
		k := m.kind
		if f, ok := k.(*forced); ok {
			k = f.kind
		}
		switch k.(type) {
		case *pool:
			add(standardActions)
			add(deploymentActions)
			if m.parks {
				add(poolParkingActions)
			}
			continue
		case *uniform:
			add(uniformActions)
		case *flexible:
			add(flexibleActions)
		}
		add(scaleSetActions)
		if m.parks {
			add(parkingActions)
		}
	}
	if len(needed) == 0 {
		add(scaleSetActions) // nothing is read yet: what reading and writing any scale set takes
	}
	return slices.Sorted(maps.Keys(needed))
}
