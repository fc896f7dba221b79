package kubesim

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// deviceID names a device.
type deviceID struct{ driver, pool, device string }

// devices are the claims of a pod as the scheduler finds them, and what other
// claims have been given.
type devices struct {
	claims []*resourcev1.ResourceClaim
	taken  map[deviceID]bool
}

// deviceAllocator gives devices to claims, for the scheduler.
type deviceAllocator struct {
	store    *store
	compiled *cel.Cache // selectors of devices
}

// devicesOf returns the claims of a pod, nil when it has none; made is false
// while one of them is still to be made: the scheduler does not look at the pod
// before. why is what keeps it from every node.
func (da *deviceAllocator) devicesOf(pod *corev1.Pod) (d *devices, made bool, why string) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return nil, true, ""
	}
	d = &devices{taken: map[deviceID]bool{}}
	for _, e := range da.store.tables["resourceclaims"].sorted {
		if a := e.obj.(*resourcev1.ResourceClaim).Status.Allocation; a != nil {
			for _, r := range a.Devices.Results {
				d.taken[deviceID{r.Driver, r.Pool, r.Device}] = true
			}
		}
	}
	for _, wanted := range pod.Spec.ResourceClaims {
		name := wanted.ResourceClaimName
		if name == nil {
			at := slices.IndexFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == wanted.Name })
			if at < 0 {
				return nil, false, ""
			}
			name = pod.Status.ResourceClaimStatuses[at].ResourceClaimName
		}
		e := da.store.entryOf("resourceclaims", key(pod.Namespace, *name))
		if e == nil {
			return nil, false, ""
		}
		claim := e.obj.(*resourcev1.ResourceClaim)
		if claim.DeletionTimestamp != nil {
			return nil, true, fmt.Sprintf("resourceclaim %q is being deleted", claim.Name)
		}
		for _, r := range claim.Spec.Devices.Requests {
			if da.store.entryOf("deviceclasses", r.Exactly.DeviceClassName) == nil {
				return nil, true, fmt.Sprintf("request %s: device class %s does not exist", r.Name, r.Exactly.DeviceClassName)
			}
		}
		d.claims = append(d.claims, claim)
	}
	return d, true, ""
}

// deviceRefusal returns why a node cannot give the pod's claims their devices,
// "" if it can.
func (f *fit) deviceRefusal(r *room) string {
	if f.devices == nil {
		return ""
	}
	_, why := f.scheduler.devices.allocate(f.devices, r.node)
	return why
}

// allocate chooses devices of a node for the claims that have none, each request
// in turn: those of a later request do not make an earlier one choose others.
func (da *deviceAllocator) allocate(d *devices, node *corev1.Node) (chosen map[string][]resourcev1.DeviceRequestAllocationResult, why string) {
	given := map[deviceID]bool{}
	chosen = map[string][]resourcev1.DeviceRequestAllocationResult{}
	for _, claim := range d.claims {
		if a := claim.Status.Allocation; a != nil {
			if a.NodeSelector != nil && a.NodeSelector.NodeSelectorTerms[0].MatchFields[0].Values[0] != node.Name {
				return nil, "resourceclaim not available on the node"
			}
			continue
		}
		for _, r := range claim.Spec.Devices.Requests {
			n, all := int(r.Exactly.Count), r.Exactly.AllocationMode == resourcev1.DeviceAllocationModeAll
			for _, dev := range da.matchingDevices(r.Exactly, node.Name) {
				switch free := !d.taken[dev] && !given[dev]; {
				case !all && n == 0:
				case free:
					n--
					given[dev] = true
					chosen[claim.Name] = append(chosen[claim.Name], resourcev1.DeviceRequestAllocationResult{Request: r.Name, Driver: dev.driver, Pool: dev.pool, Device: dev.device})
				case all:
					return nil, "cannot allocate all claims"
				}
			}
			if all && n == 0 || !all && n > 0 {
				return nil, "cannot allocate all claims"
			}
		}
	}
	return chosen, ""
}

// matchingDevices are the devices of a node that a request's class and its own
// selectors choose, in the order in which they are published.
func (da *deviceAllocator) matchingDevices(r *resourcev1.ExactDeviceRequest, node string) (all []deviceID) {
	selectors := slices.Concat(da.store.entryOf("deviceclasses", r.DeviceClassName).obj.(*resourcev1.DeviceClass).Spec.Selectors, r.Selectors)
	for _, e := range da.store.tables["resourceslices"].sorted {
		s := e.obj.(*resourcev1.ResourceSlice).Spec
		if s.NodeName == nil || *s.NodeName != node {
			continue
		}
		for _, dev := range s.Devices {
			if !slices.ContainsFunc(selectors, func(sel resourcev1.DeviceSelector) bool { return !da.selects(sel, s.Driver, dev) }) {
				all = append(all, deviceID{s.Driver, s.Pool.Name, dev.Name})
			}
		}
	}
	return all
}

// selects evaluates a selector; one that fails selects nothing.
func (da *deviceAllocator) selects(sel resourcev1.DeviceSelector, driver string, dev resourcev1.Device) bool {
	if da.compiled == nil {
		da.compiled = cel.NewCache(100, cel.Features{})
	}
	program := da.compiled.GetOrCompile(sel.CEL.Expression)
	if program.Error != nil {
		return false
	}
	match, _, err := program.DeviceMatches(context.Background(), cel.Device{Driver: driver, Attributes: dev.Attributes, Capacity: dev.Capacity})
	return err == nil && match
}

// giveDevices allocates the pod's claims on a node and reserves them for it.
func (da *deviceAllocator) giveDevices(f *fit, node *corev1.Node) {
	if f.devices == nil {
		return
	}
	chosen, _ := da.allocate(f.devices, node) // the node has admitted the pod
	pod := f.st.pod
	for _, claim := range f.devices.claims {
		revised(da.store, da.store.entryOf("resourceclaims", keyOf(claim)), func(claim *resourcev1.ResourceClaim) {
			if claim.Status.Allocation == nil {
				claim.Status.Allocation = &resourcev1.AllocationResult{
					Devices: resourcev1.DeviceAllocationResult{Results: chosen[claim.Name]},
					NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
						{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}}}}}},
				}
			}
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		})
	}
}

func completeDevices(claim *resourcev1.ResourceClaimSpec) {
	for _, r := range claim.Devices.Requests {
		if r.Exactly == nil {
			continue
		}
		if orElse(&r.Exactly.AllocationMode, resourcev1.DeviceAllocationModeExactCount); r.Exactly.AllocationMode == resourcev1.DeviceAllocationModeExactCount && r.Exactly.Count == 0 {
			r.Exactly.Count = 1
		}
	}
}
