package azure

import (
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// virtualMachine translates a machine that is a resource of its own, as those of flexible scale sets and availability sets are. Its id is
// its name. What it lacks is the reading's business.
func virtualMachine(m *model, vm *armcompute.VirtualMachine) *machine {
	if vm == nil || vm.Properties == nil {
		return &machine{}
	}
	p := vm.Properties
	out := &machine{id: val(vm.Name), uid: strings.ToLower(val(p.VMID)), resource: val(vm.ID)}
	if p.HardwareProfile != nil {
		out.size = string(val(p.HardwareProfile.VMSize))
	}
	if p.TimeCreated != nil {
		out.created = p.TimeCreated.UTC()
	}
	if p.OSProfile != nil {
		out.computerName = val(p.OSProfile.ComputerName)
	}
	does := condition{provisioning: val(p.ProvisioningState)}
	if v := p.InstanceView; v != nil {
		does.statuses = v.Statuses
		if v.PlatformFaultDomain != nil {
			out.zone = strconv.Itoa(int(*v.PlatformFaultDomain)) // as the cloud controller labels nodes without zones
		}
	}
	if len(vm.Zones) > 0 {
		out.zone = zoneName(m.location, val(vm.Zones[0]))
	}
	out.is(does, m.subject())
	return out
}
