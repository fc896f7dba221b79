package azure

import (
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
)

// What a read must say to be complete. The capacity is known, the list holds at least that many machines besides those being deleted,
// and it lacks none that the last complete read had, unless that machine was being deleted, or Azure accepted its deletion from here,
// or a second list agrees. A short list is never complete, however often it comes: capacity counts failed and stopped machines, and a
// deletion lowers it when it is accepted. Until a read is complete the machines of the last complete one stay visible, with its time.

// doubtEvery is how soon a group is read again after a read that decisions cannot rest on; each further one doubles it, up to the
// cache's time. It is less than ten seconds, so that a cycle of ten seconds finds the group due.
const doubtEvery = 5 * time.Second

// doubt says why the reading is not complete; nil when it is.
func (g *group) doubt(r *reading) *cloud.Error {
	e := &cloud.Error{Kind: cloud.Transient, Group: g.id, Code: "ListIncomplete"}
	capacity, staying := r.capacity(), r.staying()
	switch {
	case capacity < 0:
		e.Code, e.Message = "CapacityUnknown", "Azure does not say its capacity"
	case staying < capacity:
		e.Message = fmt.Sprintf("Azure lists %d of the %d machines that its capacity counts: it is read again until the list is whole", staying, capacity)
	default:
		lacks := g.lacks(r)
		if lacks == "" || r.sameMachines(g.doubted) {
			return nil
		}
		e.Message = fmt.Sprintf("Azure lists machine %s no more, which sluice did not delete: it is read again until two lists agree", lacks)
	}
	e.Message = fmt.Sprintf("read scale set %q: %s", g.name, e.Message)
	return e
}

// lacks is the id of a machine whose absence from the reading nothing explains; "" when there is none.
func (g *group) lacks(r *reading) string {
	if g.good == nil {
		return ""
	}
	listed := r.identities()
	for _, vm := range g.good.machines {
		if vm != nil && !leaving(vm) && !listed[identity(vm)] && !g.removed[uidOf(vm)] {
			return val(vm.InstanceID)
		}
	}
	return ""
}

// pace is how soon a doubted group is read again.
func (g *group) pace(longest time.Duration) time.Duration {
	return min(longest, doubtEvery<<min(g.doubts-1, 8))
}

// capacity is how many machines Azure wants; -1 when it does not say.
func (r *reading) capacity() int {
	if r.set.SKU == nil || r.set.SKU.Capacity == nil || *r.set.SKU.Capacity < 0 {
		return -1
	}
	return int(*r.set.SKU.Capacity)
}

// staying counts the listed machines that are not being deleted, each once.
func (r *reading) staying() int {
	seen := map[string]bool{}
	for _, vm := range r.machines {
		if vm != nil && !leaving(vm) {
			seen[identity(vm)] = true
		}
	}
	return len(seen)
}

// identities are the listed machines, whatever they do.
func (r *reading) identities() map[string]bool {
	all := map[string]bool{}
	for _, vm := range r.machines {
		if vm != nil {
			all[identity(vm)] = true
		}
	}
	return all
}

// sameMachines says whether both readings list the same machines.
func (r *reading) sameMachines(other *reading) bool {
	if other == nil {
		return false
	}
	mine, theirs := r.identities(), other.identities()
	for m := range mine {
		if !theirs[m] {
			return false
		}
	}
	return len(mine) == len(theirs)
}

// identity tells machines apart, also those that get the id of a deleted one.
func identity(vm *armcompute.VirtualMachineScaleSetVM) string {
	return strings.ToLower(val(vm.InstanceID)) + "/" + uidOf(vm)
}

func uidOf(vm *armcompute.VirtualMachineScaleSetVM) string {
	if vm.Properties == nil {
		return ""
	}
	return strings.ToLower(val(vm.Properties.VMID))
}

// leaving says whether Azure is deleting the machine.
func leaving(vm *armcompute.VirtualMachineScaleSetVM) bool {
	return vm.Properties != nil && val(vm.Properties.ProvisioningState) == "Deleting"
}
