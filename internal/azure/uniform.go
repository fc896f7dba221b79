package azure

import (
	"context"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// uniform is the kind of scale sets whose machines are resources beneath the scale set, with numbers for ids.
type uniform struct {
	*scaleSets
	client *armcompute.VirtualMachineScaleSetVMsClient
	lists  answers[machine]
}

func (u *uniform) machines(ctx context.Context, m *model) ([]*machine, error) {
	pager := u.client.NewListPager(u.resourceGroup, m.name, &armcompute.VirtualMachineScaleSetVMsClientListOptions{Expand: new("instanceView")})
	all, err := listPages(ctx, &u.lists, m.resource+" "+m.location, pager, func(page armcompute.VirtualMachineScaleSetVMsClientListResponse) (made []machine, next *string, err error) {
		for _, vm := range page.Value {
			made = append(made, *uniformMachine(m, vm))
		}
		return made, page.NextLink, nil
	})
	return copies(all), err
}

// uniformMachine translates a machine of a uniform scale set; what it lacks is the reading's business.
func uniformMachine(m *model, vm *armcompute.VirtualMachineScaleSetVM) *machine {
	if vm == nil || vm.Properties == nil {
		return &machine{}
	}
	p := vm.Properties
	out := &machine{id: val(vm.InstanceID), uid: strings.ToLower(val(p.VMID)), resource: val(vm.ID)}
	if vm.SKU != nil {
		out.size = val(vm.SKU.Name)
	}
	if p.TimeCreated != nil {
		out.created = p.TimeCreated.UTC()
	}
	if p.OSProfile != nil {
		out.computerName = val(p.OSProfile.ComputerName)
	}
	if protection := p.ProtectionPolicy; protection != nil {
		out.protected = val(protection.ProtectFromScaleIn) || val(protection.ProtectFromScaleSetActions)
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
