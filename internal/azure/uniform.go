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
	all, err := u.lists.ask(ctx, m.resource+" "+m.location, func(ctx context.Context) ([]machine, error) { return u.list(ctx, m) })
	return copies(all), err
}

func (u *uniform) list(ctx context.Context, m *model) ([]machine, error) {
	var all []machine
	pager := u.client.NewListPager(u.resourceGroup, m.name, &armcompute.VirtualMachineScaleSetVMsClientListOptions{Expand: new("instanceView")})
	for pages := 0; pager.More(); pages++ {
		if pages == maxPages {
			return nil, endless(pages)
		}
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, vm := range page.Value {
			all = append(all, *uniformMachine(m, vm))
		}
	}
	return all, nil
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
