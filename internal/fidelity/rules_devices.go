package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

const (
	gpuDriver  = "gpu.example.com"
	anyGPU     = "gpu"     // device classes: any device of the driver,
	bigGPU     = "big-gpu" // those of model big,
	missingGPU = "nothing" // and one that does not exist
	gpuModel   = "model"   // attributes of a device
	gpuSocket  = "socket"
	gpuMemory  = "memory" // its capacity
)

// Devices are the API objects that the scheduler's DynamicResources plugin reads.
type Devices struct {
	Classes []*resourcev1.DeviceClass
	Slices  []*resourcev1.ResourceSlice // at most one for a node
	Claims  []*resourcev1.ResourceClaim

	// Templates are the slices that a group's next machine publishes, without name, node and pool; none for no devices.
	Templates map[cluster.GroupID]*resourcev1.ResourceSlice
}

func cel(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

func model(name string) string {
	return fmt.Sprintf("device.attributes[%q].%s == %q", gpuDriver, gpuModel, name)
}

// deviceSlices gives most groups and nodes one to four devices of two models on two sockets.
func deviceSlices(d *draft) {
	if d.w.Devices.Templates != nil {
		return
	}
	class := func(name, expression string) {
		d.w.Devices.Classes = append(d.w.Devices.Classes, &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: cel(expression)},
		})
	}
	class(anyGPU, fmt.Sprintf("device.driver == %q", gpuDriver))
	class(bigGPU, model("big"))
	d.w.Devices.Templates = map[cluster.GroupID]*resourcev1.ResourceSlice{}
	of := map[string]*resourcev1.ResourceSlice{}
	for _, g := range d.w.Groups {
		if s := d.devices(); s != nil {
			d.w.Devices.Templates[g.ID] = s
			for _, in := range g.Instances {
				of[in.ComputerName] = s
			}
		}
	}
	for _, n := range d.w.Nodes {
		s := of[n.Name]
		if n.Spec.ProviderID == "" {
			s = d.devices()
		}
		if s != nil {
			d.w.Devices.Slices = append(d.w.Devices.Slices, publish(s, n.Name))
		}
	}
}

// devices is what one node has, nil for nothing.
func (d *draft) devices() *resourcev1.ResourceSlice {
	if d.chance(0.25) {
		return nil
	}
	s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: gpuDriver}}
	for i := range d.between(1, 4) {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				gpuModel:  {StringValue: new(pick(d, "big", "small", "small"))},
				gpuSocket: {IntValue: new(int64(i % 2))},
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{gpuMemory: {Value: resource.MustParse(pick(d, "16Gi", "80Gi"))}},
		})
	}
	return s
}

// publish is the slice as the driver on that node publishes it.
func publish(template *resourcev1.ResourceSlice, node string) *resourcev1.ResourceSlice {
	s := template.DeepCopy()
	s.Name, s.UID = node+"-gpus", types.UID("uid-of-slice-"+node)
	s.Spec.NodeName, s.Spec.Pool = new(node), resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}
	return s
}

// request is what a claim asks for.
func (d *draft) request() resourcev1.DeviceClaim {
	exactly := func(class string, count int64, selectors ...resourcev1.DeviceSelector) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: "r0", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count, Selectors: selectors,
		}}
	}
	one := func(r ...resourcev1.DeviceRequest) resourcev1.DeviceClaim { return resourcev1.DeviceClaim{Requests: r} }
	switch d.between(0, 7) {
	case 0:
		return one(exactly(bigGPU, 1))
	case 1:
		return one(exactly(anyGPU, 1, cel(model(pick(d, "big", "small")))...))
	case 2:
		return one(exactly(anyGPU, 1, cel(fmt.Sprintf("device.capacity[%q].%s.isGreaterThan(quantity(\"20Gi\"))", gpuDriver, gpuMemory))...))
	case 3:
		c := one(exactly(anyGPU, 2))
		c.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: new(resourcev1.FullyQualifiedName(gpuDriver + "/" + pick(d, gpuModel, gpuSocket)))}}
		return c
	case 4:
		all := exactly(pick(d, anyGPU, bigGPU), 0)
		all.Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
		return one(all)
	case 5:
		sub := func(name, class string, count int64) resourcev1.DeviceSubRequest {
			return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
		}
		return one(resourcev1.DeviceRequest{Name: "r0", FirstAvailable: []resourcev1.DeviceSubRequest{sub("best", bigGPU, 1), sub("else", anyGPU, 2)}})
	case 6:
		second := exactly(bigGPU, 1)
		second.Name = "r1"
		return one(exactly(anyGPU, 1), second)
	}
	return one(exactly(pick(d, anyGPU, anyGPU, anyGPU, missingGPU), 1))
}

// claimsDevices lets a workload's pods each have a claim, made from a template.
func claimsDevices(_ *draft, p *corev1.Pod) {
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "own", ResourceClaimTemplateName: new("gpus-of-" + p.Labels["app"])})
	main(p).Claims = append(main(p).Claims, corev1.ResourceClaim{Name: "own"})
}

// ownDevices makes the pod's claim, as the claim controller does. A pod that runs has its devices, if any are free: some do not,
// as when their claim was made anew.
func ownDevices(d *draft, p *corev1.Pod) {
	for i := range p.Spec.ResourceClaims {
		if p.Spec.ResourceClaims[i].ResourceClaimTemplateName == nil {
			continue
		}
		c := d.deviceClaim(p, p.Name+"-own", *p.Spec.ResourceClaims[i].ResourceClaimTemplateName)
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: new(true)}}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "own", ResourceClaimName: new(c.Name)}}
		if p.Spec.NodeName != "" {
			d.allocate(c, p)
		}
	}
}

// sharedDevices lets pods of an app in a namespace share one claim by its name.
func sharedDevices(d *draft, p *corev1.Pod) {
	if !d.chance(0.5) {
		return
	}
	name := "shared-gpus-of-" + p.Labels["app"]
	var c *resourcev1.ResourceClaim
	for _, other := range d.w.Devices.Claims {
		if other.Namespace == p.Namespace && other.Name == name {
			c = other
		}
	}
	if c == nil {
		c = d.deviceClaim(p, name, name)
	}
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "shared", ResourceClaimName: new(name)})
	main(p).Claims = append(main(p).Claims, corev1.ResourceClaim{Name: "shared"})
	if p.Spec.NodeName != "" {
		d.allocate(c, p)
	}
}

// deviceClaim makes a claim; claims of one template and namespace ask for the same and share what they ask.
func (d *draft) deviceClaim(p *corev1.Pod, name, template string) *resourcev1.ResourceClaim {
	key := p.Namespace + "/" + template
	if d.asked == nil {
		d.asked = map[string]resourcev1.DeviceClaim{}
	}
	if _, ok := d.asked[key]; !ok {
		d.asked[key] = d.request()
	}
	c := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID("uid-of-device-claim-" + p.Namespace + "-" + name), ResourceVersion: "1"},
		Spec:       resourcev1.ResourceClaimSpec{Devices: d.asked[key]},
	}
	d.w.Devices.Claims = append(d.w.Devices.Claims, c)
	return c
}

// allocate gives the claim the first devices of the pod's node that nobody has, whatever it asks for, and lets the pod use it.
func (d *draft) allocate(c *resourcev1.ResourceClaim, p *corev1.Pod) {
	if c.Status.Allocation == nil {
		taken := map[string]bool{}
		for _, other := range d.w.Devices.Claims {
			if a := other.Status.Allocation; a != nil {
				for _, r := range a.Devices.Results {
					taken[r.Pool+"/"+r.Device] = true
				}
			}
		}
		for _, s := range d.w.Devices.Slices {
			for _, device := range s.Spec.Devices {
				if *s.Spec.NodeName != p.Spec.NodeName || taken[s.Spec.Pool.Name+"/"+device.Name] {
					continue
				}
				c.Status.Allocation = &resourcev1.AllocationResult{
					Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
						{Request: "r0", Driver: gpuDriver, Pool: s.Spec.Pool.Name, Device: device.Name},
					}},
					NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
						{Key: metadataName, Operator: corev1.NodeSelectorOpIn, Values: []string{p.Spec.NodeName}},
					}}}},
				}
				break
			}
			if c.Status.Allocation != nil {
				break
			}
		}
	}
	if c.Status.Allocation != nil {
		reserve(c, p)
	}
}

func reserve(c *resourcev1.ResourceClaim, p *corev1.Pod) {
	c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
}

// missingDeviceClaim has pods claim devices by a claim that is not there, or that is not made of its template yet.
func missingDeviceClaim(d *draft, p *corev1.Pod) {
	if !d.chance(0.5) {
		return
	}
	c := corev1.PodResourceClaim{Name: "missing", ResourceClaimName: new("nobody-made-it")}
	if d.chance(0.4) {
		c.ResourceClaimName, c.ResourceClaimTemplateName = nil, new("nobody-made-it-yet")
	}
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, c)
	main(p).Claims = append(main(p).Claims, corev1.ResourceClaim{Name: c.Name})
}
