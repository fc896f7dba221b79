package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// deploymentName is the deployment that made the pools of a scenario, and that sluice replays for more of their machines.
const deploymentName = "cluster"

// pool is a node group of machines in an availability set.
type pool struct {
	name     string
	size     string
	machines int // that the deployment made
	tags     map[string]string
}

// sameKind refuses a group of another kind than those before it: a process of sluice manages scale sets or pools.
func (gs *nodeGroups) sameKind(s *statement, isPool bool) error {
	if len(gs.specs) > 0 && isPool != (len(gs.pools) > 0) {
		return fmt.Errorf("group %s: mode=%s: the groups of a scenario are all scale sets, or all mode=availability-set", s.names[0], s.value("mode", "uniform"))
	}
	for _, setting := range []string{"zones", "zone-balance", "spot", "reuse-ids", "overprovision", "subnet", "missing"} {
		if isPool && s.has(setting) {
			return fmt.Errorf("group %s: %s: machines in an availability set have no such thing: leave it out", s.names[0], setting)
		}
	}
	if isPool && gs.discover != nil {
		return fmt.Errorf("group %s: mode=availability-set: sluice finds no pools by their tags: leave discover out", s.names[0])
	}
	return nil
}

// addPool makes a pool's availability set and machines.
func (gs *nodeGroups) addPool(s *statement, size machineSize, family string, tags map[string]string) error {
	p := &pool{name: s.names[0], size: s.value("size", ""), tags: tags}
	var err error
	if p.machines, err = s.number("machines", 0); err != nil {
		return err
	}
	tags["poolName"] = p.name
	gs.pools, gs.sizes[p.name] = append(gs.pools, p), size
	if err := gs.azure.AddSKU(azuresim.SKU{
		Name: p.size, Family: family, VCPUs: size.cpu, MemoryGB: float64(size.memory.Value() >> 30), MaxDataDisks: 8,
	}); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if err := gs.azure.AddAvailabilitySet(azuresim.AvailabilitySet{Subscription: subscription, ResourceGroup: resourceGroup, Name: p.name + "-set", Location: location}); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	for n := range p.machines {
		if err := gs.azure.AddMachine(azuresim.Machine{
			Subscription: subscription, ResourceGroup: resourceGroup, Name: fmt.Sprintf("%s%d", p.prefix(), n), Location: location,
			Size: p.size, VCPUs: size.cpu, Family: family, AvailabilitySet: p.name + "-set", Tags: tags,
		}); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	}
	return nil
}

// prefix is what the names of the pool's machines begin with, before their numbers.
func (p *pool) prefix() string { return "k8s-" + p.name + "-12345678-" }

// template is the deployment's: for each pool its availability set and, for the numbers from Offset to Count, interfaces and machines.
func (gs *nodeGroups) template() map[string]any {
	parameters, resources := map[string]any{}, []any{}
	for _, p := range gs.pools {
		parameters[p.name+"Count"], parameters[p.name+"Offset"] = map[string]any{"type": "int"}, map[string]any{"type": "int", "defaultValue": 0}
		numbered := fmt.Sprintf("concat('%s', copyIndex(parameters('%sOffset')))", p.prefix(), p.name)
		interfaces := fmt.Sprintf("concat(%s, 'VMNic')", numbered)
		times := fmt.Sprintf("[sub(parameters('%[1]sCount'), parameters('%[1]sOffset'))]", p.name)
		set := fmt.Sprintf("resourceId('Microsoft.Compute/availabilitySets', '%s-set')", p.name)
		resources = append(resources, map[string]any{
			"type": "Microsoft.Compute/availabilitySets", "apiVersion": "2024-07-01", "name": p.name + "-set", "location": "[resourceGroup().location]",
			"properties": map[string]any{},
		}, map[string]any{
			"type": "Microsoft.Network/networkInterfaces", "apiVersion": "2024-05-01", "name": "[" + interfaces + "]", "location": "[resourceGroup().location]",
			"copy":       map[string]any{"name": p.name + "Interfaces", "count": times},
			"properties": map[string]any{"ipConfigurations": []any{map[string]any{"name": "ipconfig1", "properties": map[string]any{"subnet": map[string]any{"id": subnetID("default")}}}}},
		}, map[string]any{
			"type": "Microsoft.Compute/virtualMachines", "apiVersion": "2024-07-01", "name": "[" + numbered + "]", "location": "[resourceGroup().location]",
			"copy": map[string]any{"name": p.name + "Machines", "count": times}, "tags": p.tags,
			"dependsOn": []string{"[concat('Microsoft.Network/networkInterfaces/', " + interfaces + ")]", "[" + set + "]"},
			"properties": map[string]any{
				"availabilitySet": map[string]any{"id": "[" + set + "]"}, "hardwareProfile": map[string]any{"vmSize": p.size},
				"osProfile":      map[string]any{"computerName": "[" + numbered + "]", "adminUsername": "azureuser", "adminPassword": "Pa55-word"},
				"networkProfile": map[string]any{"networkInterfaces": []any{map[string]any{"id": "[resourceId('Microsoft.Network/networkInterfaces', " + interfaces + ")]"}}},
				"storageProfile": map[string]any{"imageReference": map[string]any{"id": "/images/linux"}, "osDisk": map[string]any{
					"createOption": "FromImage", "name": "[concat(" + numbered + ", '-os')]", "diskSizeGB": 64,
				}},
			},
		})
	}
	return map[string]any{"parameters": parameters, "resources": resources}
}

// parameters are what the deployment was made with.
func (gs *nodeGroups) parameters() map[string]any {
	all := map[string]any{}
	for _, p := range gs.pools {
		all[p.name+"Count"] = map[string]any{"value": p.machines}
	}
	return all
}

// deployPools leaves the deployment that made the pools, as Azure remembers it.
func (gs *nodeGroups) deployPools() error {
	if len(gs.pools) == 0 {
		return nil
	}
	template, err := json.Marshal(gs.template())
	if err != nil {
		return err
	}
	parameters, err := json.Marshal(gs.parameters())
	if err != nil {
		return err
	}
	return gs.azure.AddDeployment(azuresim.Deployment{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: deploymentName, Template: template, Parameters: parameters,
	})
}

// tellPools has a process manage pools.
func (gs *nodeGroups) tellPools(o *azure.Options) {
	if len(gs.pools) == 0 {
		return
	}
	o.Kind, o.Deployment, o.DeploymentParameters = "standard", deploymentName, gs.parameters()
	o.Unique = func() string {
		gs.deployed++
		return fmt.Sprintf("%d", gs.deployed)
	}
}

// empty says whether a group is a pool without a machine: nothing is left that the next one could be modelled on.
func (ms *machines) empty(group string) bool {
	return slices.ContainsFunc(ms.groups.pools, func(p *pool) bool { return strings.EqualFold(p.name, group) }) && ms.live[group] == 0
}
