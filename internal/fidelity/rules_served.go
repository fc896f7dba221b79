package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Extended resources that device classes serve: one by the name that a class gives it, and those that have their name of a class.
const (
	served    corev1.ResourceName = "example.com/gpu"
	servedBig                     = corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + bigGPU)
)

// servedResources has the class of any device serve an extended resource. Sometimes another class would as well: the younger one does then,
// and kube-scheduler knows the other by its own name or not, as they happened to come.
func servedResources(d *draft) {
	deviceSlices(d)
	for _, c := range d.w.Devices.Classes {
		if c.Name == anyGPU || d.chance(0.3) {
			c.Spec.ExtendedResourceName = new(string(served))
		}
		if d.chance(0.5) {
			c.CreationTimestamp = metav1.NewTime(Start.Add(-hour))
		}
	}
}

// devicePlugin announces the resource on some machines, as before there were claims; now and then nothing is left of it.
func devicePlugin(d *draft, n *corev1.Node) {
	if d.chance(0.3) {
		set(&n.Status.Allocatable, served, pick(d, "0", "1", "2"))
	}
}

// wantsServedResources asks for devices in the requests of containers, of init containers among them.
func wantsServedResources(d *draft, p *corev1.Pod) {
	ask := func(r *corev1.ResourceRequirements, name corev1.ResourceName, n string) {
		set(&r.Requests, name, n)
		set(&r.Limits, name, n)
	}
	byClass := !slices.ContainsFunc(d.w.Devices.Classes, func(c *resourcev1.DeviceClass) bool {
		return c.Name == bigGPU && c.Spec.ExtendedResourceName != nil
	})
	name := served
	if byClass && d.chance(0.25) {
		name = servedBig
	}
	ask(main(p), name, pick(d, "0", "1", "1", "2"))
	if byClass && d.chance(0.2) {
		ask(main(p), servedBig, "1")
	}
	if len(p.Spec.InitContainers) > 0 && d.chance(0.5) {
		ask(&p.Spec.InitContainers[0].Resources, served, pick(d, "1", "3"))
	}
}

// holdsServedResources gives a pod that runs the claim that kube-scheduler made for what it asks for, unless a device plugin serves it.
func holdsServedResources(d *draft, p *corev1.Pod) {
	if q := main(p).Requests[served]; q.IsZero() {
		return
	}
	for _, n := range d.w.Nodes {
		if q := n.Status.Allocatable[served]; n.Name == p.Spec.NodeName && !q.IsZero() {
			return
		}
	}
	c := d.deviceClaim(p, p.Name+"-extended-resources-1", "served")
	c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: new(true)}}
	d.allocate(c, p)
}
