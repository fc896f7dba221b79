package azure

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// maxPages bounds a list whose links lead in a circle; a page has at least dozens of items and a scale set at most 1000 machines.
const maxPages = 200

// listSets reads the models of all scale sets in the resource group, or none of them.
func (p *Provider) listSets(ctx context.Context) ([]*armcompute.VirtualMachineScaleSet, error) {
	var all []*armcompute.VirtualMachineScaleSet
	pager := p.sets.NewListPager(p.options.ResourceGroup, nil)
	for pages := 0; pager.More(); pages++ {
		if pages == maxPages {
			return nil, fmt.Errorf("the list has no end after %d pages", pages)
		}
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, set := range page.Value {
			if set != nil && val(set.Name) != "" {
				all = append(all, set)
			}
		}
	}
	return all, nil
}

// listMachines reads all machines of a scale set with their instance views, or none of them.
func (p *Provider) listMachines(ctx context.Context, name string) ([]*armcompute.VirtualMachineScaleSetVM, error) {
	var all []*armcompute.VirtualMachineScaleSetVM
	pager := p.machines.NewListPager(p.options.ResourceGroup, name, &armcompute.VirtualMachineScaleSetVMsClientListOptions{Expand: new("instanceView")})
	for pages := 0; pager.More(); pages++ {
		if pages == maxPages {
			return nil, fmt.Errorf("the list has no end after %d pages", pages)
		}
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
	}
	return all, nil
}

// read asks for what is missing of a reading: the model, unless the caller has it already, and the machines.
func (p *Provider) read(ctx context.Context, id cluster.GroupID, name string, set *armcompute.VirtualMachineScaleSet) (*reading, *cloud.Error) {
	if set == nil {
		got, err := p.sets.Get(ctx, p.options.ResourceGroup, name, nil)
		if err != nil {
			return nil, p.readError(id, name, err)
		}
		set = &got.VirtualMachineScaleSet
	}
	r := &reading{set: set, at: p.now().UTC()}
	if unfit(set) != "" {
		return r, nil // its machines answer to other calls
	}
	machines, err := p.listMachines(ctx, name)
	if err != nil {
		return nil, p.readError(id, name, err)
	}
	r.machines, r.at = machines, p.now().UTC()
	return r, nil
}

// readError is a failed read of one group.
func (p *Provider) readError(id cluster.GroupID, name string, err error) *cloud.Error {
	e := p.wrap(id, fmt.Sprintf("read scale set %q", name), err)
	if e.Kind == cloud.NotFound {
		return p.missing(id, name)
	}
	return e
}

// missing says that a scale set does not exist.
func (p *Provider) missing(id cluster.GroupID, name string) *cloud.Error {
	return &cloud.Error{Kind: cloud.NotFound, Group: id, Code: "ResourceNotFound", Message: fmt.Sprintf("scale set %q is not in resource group %q: correct --nodes or create it", name, p.options.ResourceGroup)}
}
