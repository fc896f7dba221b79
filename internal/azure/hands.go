package azure

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cluster"
)

// sizeMix is the size of a scale set that has Azure choose each machine's size.
const sizeMix = "Mix"

// actorsIn are the settings of a scale set by which Azure restarts or deletes its machines without a drain, or chooses their sizes.
func actorsIn(set *armcompute.VirtualMachineScaleSet) (actors []cluster.Actor) {
	finds := func(kind cluster.ActorKind, does, remedy string) {
		actors = append(actors, cluster.Actor{Kind: kind, Does: does, Remedy: remedy})
	}
	p := set.Properties
	if p == nil {
		p = &armcompute.VirtualMachineScaleSetProperties{}
	}
	if u := p.UpgradePolicy; u != nil {
		if mode := val(u.Mode); mode == armcompute.UpgradeModeAutomatic || mode == armcompute.UpgradeModeRolling {
			finds(cluster.HandUpdatesModel, "upgradePolicy.mode="+string(mode)+" lets Azure restart or replace machines without a drain when the model changes",
				"set upgradePolicy.mode=Manual")
		}
		if u.AutomaticOSUpgradePolicy != nil && val(u.AutomaticOSUpgradePolicy.EnableAutomaticOSUpgrade) {
			finds(cluster.HandUpdatesOS, "automaticOSUpgradePolicy lets Azure replace the system disk of machines without a drain when an image appears",
				"set upgradePolicy.automaticOSUpgradePolicy.enableAutomaticOSUpgrade=false")
		}
	}
	if r := p.AutomaticRepairsPolicy; r != nil && val(r.Enabled) {
		finds(cluster.HandRepairs, "automaticRepairsPolicy lets Azure restart or replace machines that it finds unhealthy without a drain",
			"set automaticRepairsPolicy.enabled=false: sluice replaces machines that are not Ready")
	}
	if r := p.ResiliencyPolicy; r != nil && r.AutomaticZoneRebalancingPolicy != nil && val(r.AutomaticZoneRebalancingPolicy.Enabled) {
		finds(cluster.HandZones, "automaticZoneRebalancingPolicy lets Azure delete machines without a drain to balance zones",
			"set resiliencyPolicy.automaticZoneRebalancingPolicy.enabled=false")
	}
	if set.SKU != nil && val(set.SKU.Name) == sizeMix {
		finds(cluster.HandSizes, "sku.name=Mix lets Azure choose the size of each machine, so what the next one has is not known",
			"make a scale set for each size")
	}
	return actors
}
