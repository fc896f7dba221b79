package azure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
)

// deleteWith is the tag on an interface or a disk that is to go with a machine: its value is the machine's vmId, in lower case. It is
// written before the machine is deleted, so that whoever comes after a crash can finish the removal, and nothing without it is ever
// deleted.
const deleteWith = "sluice.dev_delete-with"

// remove begins the removal of machines: it tags what belongs to them, and has Azure delete them. What is tagged goes when they have gone,
// by [standard.carryOn].
func (k *pool) remove(ctx context.Context, name, version string, ids []string) (*accepted, error) {
	_, now, err := k.fresh(ctx, name, version)
	if err != nil {
		return nil, err
	}
	doomed, err := now.named(ids)
	if err != nil {
		return nil, err
	}
	if err := k.begin(doomed); err != nil {
		return nil, err
	}
	all, err := k.arm.belongings(asEvidence(ctx)) // after the beginning: no tag of these machines is taken back any more
	if err != nil {
		k.giveUp(doomed)
		return nil, err
	}
	for _, vm := range doomed {
		if err := k.tag(ctx, vm, all); err != nil {
			k.giveUp(doomed)
			return nil, err
		}
	}
	var begun []*accepted
	for i, vm := range doomed {
		options := &armcompute.VirtualMachinesClientBeginDeleteOptions{}
		if k.force {
			options.ForceDeletion = new(true)
		}
		poller, err := k.vms.BeginDelete(ctx, k.resourceGroup, val(vm.Name), options)
		if err != nil {
			k.giveUp(doomed[i:])
			if i == 0 {
				return nil, err
			}
			k.log.Warn("machine is not deleted yet", "group", name, "instance", val(vm.Name), "err", err)
			break
		}
		begun = append(begun, accept(verbDelete, poller, nil))
	}
	a := k.follow(verbDelete, begun)
	a.ids = ids[:len(begun)]
	return a, nil
}

// named are the machines of these names, all of them.
func (k *pool) named(ids []string) ([]*armcompute.VirtualMachine, error) {
	if len(ids) == 0 {
		return nil, errAll
	}
	var all []*armcompute.VirtualMachine
	for _, id := range ids {
		i := slices.IndexFunc(k.members, func(vm *armcompute.VirtualMachine) bool { return strings.EqualFold(val(vm.Name), id) })
		if i < 0 || uidOf(k.members[i]) == "" {
			return nil, &cloud.Error{Kind: cloud.Conflict, Code: "MachineGone", Message: fmt.Sprintf("machine %q is not there any more", id)}
		}
		all = append(all, k.members[i])
	}
	return all, nil
}

// uidOf is a machine's vmId in lower case, "" when Azure left it out.
func uidOf(vm *armcompute.VirtualMachine) string {
	if vm.Properties == nil {
		return ""
	}
	return strings.ToLower(val(vm.Properties.VMID))
}

// begin notes removals under way; giveUp forgets them, and has the sweeper take back the tags. A machine of which a tag is being taken back right
// now is not removed: the answer tells whether it still has one.
func (s *standard) begin(vms []*armcompute.VirtualMachine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, vm := range vms {
		if s.sweeper.untagging[uidOf(vm)] {
			return &cloud.Error{Kind: cloud.Conflict, Code: "TagsTakenBack", Message: fmt.Sprintf("tags that an earlier removal of machine %q has left are being taken back", val(vm.Name))}
		}
	}
	for _, vm := range vms {
		s.removing[uidOf(vm)] = val(vm.Name)
	}
	return nil
}

func (s *standard) giveUp(vms []*armcompute.VirtualMachine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, vm := range vms {
		delete(s.removing, uidOf(vm))
	}
	s.sweeper.due = s.now()
}

// tag marks what was made with a machine and is used by nothing else: its interfaces, its OS disk, and its data disks but for those that
// were attached to it later, which are volumes.
func (s *standard) tag(ctx context.Context, vm *armcompute.VirtualMachine, all map[string]*belonging) error {
	for _, id := range madeWith(vm) {
		b := all[strings.ToLower(id)]
		if b == nil || !strings.EqualFold(b.user(), val(vm.ID)) {
			continue // in another resource group, or not the machine's any more
		}
		if b.Tags[deleteWith] == uidOf(vm) {
			continue
		}
		tags := maps.Clone(b.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		tags[deleteWith] = uidOf(vm)
		if err := s.arm.retag(ctx, b, tags); err != nil {
			return err
		}
	}
	return nil
}

// madeWith are the ids of what was made with a machine.
func madeWith(vm *armcompute.VirtualMachine) []string {
	var ids []string
	add := func(id *string) {
		if val(id) != "" {
			ids = append(ids, *id)
		}
	}
	p := vm.Properties
	if p.NetworkProfile != nil {
		for _, n := range p.NetworkProfile.NetworkInterfaces {
			add(n.ID)
		}
	}
	if p.StorageProfile == nil {
		return ids
	}
	if d := p.StorageProfile.OSDisk; d != nil && d.ManagedDisk != nil && val(d.CreateOption) != armcompute.DiskCreateOptionTypesAttach {
		add(d.ManagedDisk.ID)
	}
	for _, d := range p.StorageProfile.DataDisks {
		if d != nil && d.ManagedDisk != nil && d.CreateOption != nil && *d.CreateOption != armcompute.DiskCreateOptionTypesAttach {
			add(d.ManagedDisk.ID)
		}
	}
	return ids
}
