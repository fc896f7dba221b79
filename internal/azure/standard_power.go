package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// park switches machines off one by one.
func (k *pool) park(ctx context.Context, name, version string, ids []string) (*accepted, error) {
	_, now, err := k.fresh(ctx, name, version)
	if err != nil {
		return nil, err
	}
	return now.switched(ids, func(vm *armcompute.VirtualMachine) (*accepted, error) {
		p, err := k.vms.BeginDeallocate(ctx, k.resourceGroup, val(vm.Name), nil)
		if err != nil {
			return nil, err
		}
		return accept(verbPark, p, nil), nil
	})
}

// start switches machines on one by one. One that has taken a name since is none that was meant, and does no harm: it runs.
func (k *pool) start(ctx context.Context, _ string, ids []string) (*accepted, error) {
	return k.switched(ids, func(vm *armcompute.VirtualMachine) (*accepted, error) {
		p, err := k.vms.BeginStart(ctx, k.resourceGroup, val(vm.Name), nil)
		if err != nil {
			return nil, err
		}
		return accept(verbStart, p, nil), nil
	})
}

// switched has something done to each machine, as far as Azure accepts it. The error is the first one's.
func (k *pool) switched(ids []string, do func(*armcompute.VirtualMachine) (*accepted, error)) (*accepted, error) {
	vms, err := k.named(ids)
	if err != nil {
		return nil, err
	}
	var begun []*accepted
	for _, vm := range vms {
		a, err := do(vm)
		if err != nil && len(begun) == 0 {
			return nil, err
		}
		if err != nil {
			k.log.Warn("machine is not switched yet", "instance", val(vm.Name), "err", reasonOf(err))
			break
		}
		begun = append(begun, a)
	}
	all := k.follow(begun[0].verb, begun)
	all.ids = ids[:len(begun)]
	return all, nil
}
