package kubesim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reconcileClaimsOf makes the resource claims of a new pod from their templates.
func (c *Cluster) reconcileClaimsOf(e *entry) {
	pod := e.obj.(*corev1.Pod)
	var made []corev1.PodResourceClaimStatus
	for _, r := range pod.Spec.ResourceClaims {
		if r.ResourceClaimTemplateName == nil || slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == r.Name }) {
			continue
		}
		t := c.entryOf("resourceclaimtemplates", key(pod.Namespace, *r.ResourceClaimTemplateName))
		if t == nil {
			continue
		}
		template := t.obj.(*resourcev1.ResourceClaimTemplate).Spec
		claim := &resourcev1.ResourceClaim{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		claim.Namespace, claim.GenerateName = pod.Namespace, pod.Name+"-"+r.Name+"-"
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}
		created, err := c.create(kindOf(claim), claim, false)
		if err != nil {
			return // refused in a namespace that is going, as the pod will be
		}
		name := created.obj.GetName()
		made = append(made, corev1.PodResourceClaimStatus{Name: r.Name, ResourceClaimName: &name})
	}
	if made != nil {
		revised(c, c.entryOf("pods", e.key), func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, made...) })
	}
}

// deviceClaimsOf returns the resource claims of a pod, or why there are none.
func (c *Cluster) deviceClaimsOf(pod *corev1.Pod) (claims []*resourcev1.ResourceClaim, why string) {
	for _, r := range pod.Spec.ResourceClaims {
		name := r.ResourceClaimName
		for _, s := range pod.Status.ResourceClaimStatuses {
			if s.Name == r.Name {
				name = s.ResourceClaimName
			}
		}
		if name == nil {
			return nil, fmt.Sprintf("pod %q: ResourceClaim not created yet", key(pod.Namespace, pod.Name))
		}
		e := c.entryOf("resourceclaims", key(pod.Namespace, *name))
		if e == nil {
			return nil, fmt.Sprintf("resourceclaim.resource.k8s.io %q not found", *name)
		}
		claims = append(claims, e.obj.(*resourcev1.ResourceClaim))
	}
	return claims, ""
}

// deviceRefusal returns why a node cannot give the pod its devices, "" if it can.
func (f *fit) deviceRefusal(r *room) string {
	if len(f.devices) == 0 {
		return ""
	}
	if _, ok := f.cluster.allocateAll(f.devices, r.node); !ok {
		return "cannot allocate all claims"
	}
	return ""
}

// allocateAll finds devices on a node for those of the claims that have none.
// An allocation is nil for a claim that has its devices already.
func (c *Cluster) allocateAll(claims []*resourcev1.ResourceClaim, node *corev1.Node) ([]*resourcev1.AllocationResult, bool) {
	taken := c.takenDevices()
	all := make([]*resourcev1.AllocationResult, len(claims))
	for i, claim := range claims {
		if a := claim.Status.Allocation; a != nil {
			if a.NodeSelector != nil && !selects(a.NodeSelector, node) {
				return nil, false
			}
			continue
		}
		var ok bool
		if all[i], ok = c.allocate(claim, node, taken); !ok {
			return nil, false
		}
	}
	return all, true
}

// giveDevices writes into the claims of a pod what it gets on its node, and
// that it is what uses them. It is false when another pod of its gang has taken
// them since it was asked.
func (c *Cluster) giveDevices(f *fit, node *corev1.Node) bool {
	all, ok := c.allocateAll(f.devices, node)
	if !ok {
		return false
	}
	pod := f.st.pod
	for i, claim := range f.devices {
		revised(c, c.entryOf("resourceclaims", keyOf(claim)), func(claim *resourcev1.ResourceClaim) {
			if all[i] != nil {
				claim.Status.Allocation = all[i]
			}
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		})
	}
	return true
}

// freeDevices takes a pod that is over out of its claims, and the devices from
// a claim that no pod uses any more.
func (c *Cluster) freeDevices(pod *corev1.Pod) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return
	}
	for _, e := range slices.Clone(c.tables["resourceclaims"].inNamespace(pod.Namespace)) {
		claim := e.obj.(*resourcev1.ResourceClaim)
		mine := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }
		if !slices.ContainsFunc(claim.Status.ReservedFor, mine) {
			continue
		}
		revised(c, e, func(claim *resourcev1.ResourceClaim) {
			if claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, mine); len(claim.Status.ReservedFor) == 0 {
				claim.Status.Allocation, claim.Status.ReservedFor = nil, nil
			}
		})
	}
}

// publishDevices announces the devices of a machine, as their drivers do.
func (c *Cluster) publishDevices(m *machine) {
	n := c.entryOf("nodes", m.Name)
	for i := range m.Devices {
		s := m.Devices[i].DeepCopy()
		s.Name = fmt.Sprintf("%s-%s", m.Name, s.Spec.Driver)
		s.Spec.NodeName, s.Spec.Pool = &m.Name, resourcev1.ResourcePool{Name: m.Name, Generation: 1, ResourceSliceCount: 1}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: m.Name, UID: n.obj.GetUID()}}
		if c.entryOf("resourceslices", s.Name) == nil {
			c.born(s)
		}
	}
}
