package azure

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// reading is what is known of a scale set: its model and its machines. It does not change once [group.take] has judged it.
type reading struct {
	set      *armcompute.VirtualMachineScaleSet
	machines []*armcompute.VirtualMachineScaleSetVM
	at       time.Time    // when the machines were listed: before the model when that is younger
	whole    bool         // model and list are complete together, as doubt.go has it
	doubt    *cloud.Error // why they are not; nil when they are, and for a scale set that sluice does not manage
}

// view is the reading as the contract wants it: Read.At is when the machines shown were listed, Read.Version is the model's.
// The machines in removed, by UID, are shown as being deleted. What is wrong with a group of operations is added by the caller.
func (r *reading) view(id cluster.GroupID, blame map[string]*cluster.Failure, removed map[string]bool) (*cluster.Group, error) {
	g := &cluster.Group{
		ID: id, Capacity: r.capacity(), Size: sizeOf(r.set),
		Read: cluster.Read{At: r.at, Complete: r.whole, Version: val(r.set.Etag)},
	}
	if p := machineProfile(r.set); p == nil || p.Priority == nil || *p.Priority == armcompute.VirtualMachinePriorityTypesRegular {
		g.PriceUSDPerHour = knownSizes()[strings.ToLower(g.Size)].priceUSDPerHour
	}
	seen := map[cluster.InstanceID]string{}
	for _, vm := range r.machines {
		in, err := instance(id, r.set, vm, r.at)
		if err != nil {
			return nil, err
		}
		if uid, twice := seen[in.ID]; twice {
			if uid != in.UID {
				return nil, fmt.Errorf("Azure lists two machines under instance id %s", in.ID)
			}
			continue // the list moved under the pages
		}
		seen[in.ID] = in.UID
		if f := blame[in.UID]; f != nil && in.State == cluster.StateFailed {
			in.Failure = f
		}
		if removed[in.UID] {
			in.State, in.Failure = cluster.StateDeleting, nil
		}
		g.Instances = append(g.Instances, in)
	}
	sort.Slice(g.Instances, func(i, j int) bool { return g.Instances[i].ID < g.Instances[j].ID })
	if g.Template = template(r.set, g.Instances); g.Template == nil {
		g.Remedy = fmt.Sprintf("tag the scale set with %scpu and %smemory", resourceTag, resourceTag)
	}
	g.Problem = unfit(r.set)
	return g, nil
}

// unfit says why sluice does not manage such a scale set, with the remedy; "" when it does.
func unfit(set *armcompute.VirtualMachineScaleSet) string {
	p := set.Properties
	switch {
	case p == nil:
		return ""
	case val(p.OrchestrationMode) == armcompute.OrchestrationModeFlexible:
		return fmt.Sprintf("scale set %q has flexible orchestration: make a scale set with uniform orchestration for its workload", val(set.Name))
	case val(p.Overprovision):
		return fmt.Sprintf("scale set %q overprovisions, so that machines register and vanish: set its property overprovision to false", val(set.Name))
	}
	return ""
}

// instance translates a machine of a scale set. The error names what Azure left out.
func instance(id cluster.GroupID, set *armcompute.VirtualMachineScaleSet, vm *armcompute.VirtualMachineScaleSetVM, at time.Time) (*cluster.Instance, error) {
	if vm == nil || val(vm.InstanceID) == "" || val(vm.ID) == "" || vm.Properties == nil {
		return nil, fmt.Errorf("Azure lists a machine without id or properties")
	}
	p := vm.Properties
	in := &cluster.Instance{
		ID:         cluster.InstanceID(*vm.InstanceID),
		Group:      id,
		UID:        uidOf(vm),
		ProviderID: providerID(*vm.ID),
		Created:    val(p.TimeCreated).UTC(),
	}
	if p.TimeCreated == nil {
		in.Created = time.Time{}
	}
	if p.OSProfile != nil {
		in.ComputerName = val(p.OSProfile.ComputerName)
	}
	switch {
	case len(vm.Zones) > 0:
		in.Zone = zoneName(set.Location, val(vm.Zones[0]))
	case p.InstanceView != nil && p.InstanceView.PlatformFaultDomain != nil:
		in.Zone = strconv.Itoa(int(*p.InstanceView.PlatformFaultDomain))
	}
	in.State, in.Failure = state(p, at, subjectOf(set))
	return in, nil
}

// state reads provisioning and power state. A machine that runs and whose last change failed for a reason other than its start, such
// as a disk that did not attach, is running.
func state(p *armcompute.VirtualMachineScaleSetVMProperties, at time.Time, about subject) (cluster.State, *cluster.Failure) {
	power, why, when := "", answer{}, at
	if p.InstanceView != nil {
		for _, s := range p.InstanceView.Statuses {
			if s == nil {
				continue
			}
			kind, rest, _ := strings.Cut(val(s.Code), "/")
			outcome, code, _ := strings.Cut(rest, "/")
			switch {
			case kind == "PowerState":
				power = rest
			case kind == "ProvisioningState" && strings.EqualFold(outcome, "failed"):
				why = answer{Code: code, Message: val(s.Message)}
				if s.Time != nil {
					when = s.Time.UTC()
				}
			}
		}
	}
	switch provisioning := val(p.ProvisioningState); {
	case provisioning == "Deleting":
		return cluster.StateDeleting, nil
	case provisioning == "Failed" && (power != "running" || why.ofStart()):
		return cluster.StateFailed, why.failure(when, 0, "ProvisioningFailed", about, 0)
	case power == "stopped", power == "stopping", power == "deallocated", power == "deallocating":
		return cluster.StateStopped, nil
	case provisioning == "Creating", provisioning == "Updating" && power == "starting":
		return cluster.StateCreating, nil
	default:
		return cluster.StateRunning, nil
	}
}

// ofStart says whether a machine with this failure has not become what it should be. No code at all counts as one.
func (a answer) ofStart() bool {
	for _, prefix := range []string{"OSProvisioning", "VMStart", "VMExtension"} {
		if strings.HasPrefix(a.Code, prefix) {
			return true
		}
	}
	switch kindOf(0, a) {
	case cloud.Quota, cloud.Allocation, cloud.Unavailable, cloud.Network, cloud.Provisioning:
		return true
	}
	return a.Code == ""
}

// providerID is the machine's id as cloud-provider-azure writes it on nodes: the resource group, and nothing else, in lower case.
func providerID(id string) string {
	segments := strings.Split(id, "/")
	if i := slices.IndexFunc(segments, func(s string) bool { return strings.EqualFold(s, "resourceGroups") }); i >= 0 && i+1 < len(segments) {
		segments[i], segments[i+1] = "resourceGroups", strings.ToLower(segments[i+1])
	}
	return "azure://" + strings.Join(segments, "/")
}
