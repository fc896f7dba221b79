package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

func (o *Oracle) putDevices() {
	d := o.w.Devices
	for _, c := range d.Classes {
		o.shelf.put(c)
	}
	for _, s := range d.Slices {
		o.shelf.put(s)
	}
	for _, c := range d.Claims {
		o.shelf.put(c)
	}
}

// settleDevices reserves what the pod's claims are given on the node, as DynamicResources does when it reserves and binds. A pod that
// does not fit there is given nothing: the caller has reported it. The claim that DynamicResources makes for extended resources stays in
// flight, where its devices count as taken: nobody else ever asks for it.
func (o *Oracle) settleDevices(p *corev1.Pod, node string) {
	if len(p.Spec.ResourceClaims) == 0 && !wantsServed(p) || o.Why(p, node) != "" {
		return
	}
	if s := o.framework.RunReservePluginsReserve(o.ctx, o.asked.state, p, node); !s.IsSuccess() {
		o.must(s.AsError(), "reserve for pod "+keyOf(p))
	}
	for i := range p.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(p, &p.Spec.ResourceClaims[i])
		o.must(err, "name a claim of pod "+keyOf(p))
		was, err := o.claims.Get(p.Namespace, *name)
		o.must(err, "read claim "+*name)
		c := was.DeepCopy()
		if c.Status.Allocation == nil {
			c.Status.Allocation = o.claims.GetPendingAllocation(c.UID)
		}
		reserve(c, p)
		c.ResourceVersion = next(c.ResourceVersion)
		o.shelf.put(c)
		o.claims.MaybeRemoveClaimPendingAllocation(c.UID, true)
	}
}

// wantsServed says whether a container asks for a resource that device classes may serve.
func wantsServed(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool {
		_, one := c.Resources.Requests[served]
		_, other := c.Resources.Requests[servedBig]
		return one || other
	})
}
