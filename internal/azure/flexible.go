package azure

import (
	"context"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// flexible is the kind of scale sets whose machines are resources of their own in the resource group, with names for ids. Capacity and
// removal are the scale set's business, as with uniform ones.
type flexible struct {
	*scaleSets
	client *armcompute.VirtualMachinesClient
	lists  answers[machine]
}

// machines asks for the machines of the resource group that belong to the scale set: Azure gives their instance views in a list only
// with that filter. A machine of another set in the answer would be a machine of this group for every later step, and makes it unusable.
func (f *flexible) machines(ctx context.Context, m *model) ([]*machine, error) {
	pager := f.client.NewListPager(f.resourceGroup, &armcompute.VirtualMachinesClientListOptions{
		Filter: new(fmt.Sprintf("'virtualMachineScaleSet/id' eq '%s'", m.resource)),
		Expand: new(armcompute.ExpandTypeForListVMsInstanceView),
	})
	all, err := listPages(ctx, &f.lists, m.resource+" "+m.location, pager, func(page armcompute.VirtualMachinesClientListResponse) (made []machine, next *string, err error) {
		for _, vm := range page.Value {
			if of := setOf(vm); of != "" && !strings.EqualFold(of, m.resource) {
				return nil, nil, fmt.Errorf("Azure lists machine %s of another scale set", val(vm.Name))
			}
			made = append(made, *virtualMachine(m, vm))
		}
		return made, page.NextLink, nil
	})
	return copies(all), err
}

// setOf is the id of the scale set that a machine says it belongs to, "" when it says none.
func setOf(vm *armcompute.VirtualMachine) string {
	if vm == nil || vm.Properties == nil || vm.Properties.VirtualMachineScaleSet == nil {
		return ""
	}
	return val(vm.Properties.VirtualMachineScaleSet.ID)
}
