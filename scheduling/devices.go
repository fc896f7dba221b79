package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// devices is what pods of a class claim of the hardware. Claims that are made from a template are the class's own: every pod that is
// placed is given devices anew, as the pod that the claim controller will make one for. Claims that pods share by name are given
// devices once.
type devices struct {
	pod     *corev1.Pod // with its claims by name
	refused string      // why no node will do, "" when it depends on the node
}

// given is a claim that was given devices.
type given struct {
	claim *resourcev1.ResourceClaim // as it is since
	was   *resourcev1.ResourceClaim // nil for a claim of the class's own
}

// devicesOf is what pods of the class claim, nil for nothing.
func (c *Checker) devicesOf(cl *class) *devices {
	if len(cl.of.Spec.ResourceClaims) == 0 {
		return nil
	}
	if cl.devices != nil {
		return cl.devices
	}
	if c.hardware == nil {
		c.hardware = hardwareOf(c.ctx, c.snapshot)
	}
	d := &devices{pod: cl.of.Object()}
	cl.devices = d
	d.pod.Name, d.pod.UID = fmt.Sprintf("%x", cl.of.Key), types.UID(fmt.Sprintf("%x", cl.of.Key))
	d.pod.Spec.ResourceClaims = nil
	for _, wanted := range cl.of.Spec.ResourceClaims {
		if wanted.ResourceClaimName == nil {
			made, known := c.hardware.made[cl.of.Key][wanted.Name]
			if !known {
				d.refused = "claim " + wanted.Name + " is not made yet"
				return d
			}
			if made == nil {
				continue // the template makes none
			}
			own := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cl.of.Namespace, Name: d.pod.Name + "/" + wanted.Name}, Spec: made.Spec}
			own.UID = types.UID(own.Name)
			c.hardware.claims[own.Namespace+"/"+own.Name] = own
			c.hardware.own[own.UID] = true
			wanted.ResourceClaimTemplateName, wanted.ResourceClaimName = nil, &own.Name
		}
		d.pod.Spec.ResourceClaims = append(d.pod.Spec.ResourceClaims, wanted)
	}
	return d
}

// unserved is why the node cannot give the pods' claims what they ask for, "" when it can.
func (c *Checker) unserved(d *devices, h Handle) string {
	_, why := c.serve(d, h)
	return why
}

// serve asks DynamicResources about the node.
func (c *Checker) serve(d *devices, h Handle) (fwk.CycleState, string) {
	if d.refused != "" {
		return nil, d.refused
	}
	c.hardware.here = c.published(h)
	state := framework.NewCycleState()
	_, status := c.hardware.plugin.PreFilter(c.ctx, state, d.pod, nil)
	if status.IsSkip() {
		return nil, ""
	}
	if status.IsSuccess() {
		status = c.hardware.plugin.Filter(c.ctx, state, d.pod, c.bare(h))
	}
	if !status.IsSuccess() {
		return nil, status.Message()
	}
	return state, ""
}

// give gives n pods of the class their devices on the node, as far as it has them.
func (c *Checker) give(cl *class, h Handle, n int32) []given {
	d := c.devicesOf(cl)
	if d == nil {
		return nil
	}
	var all []given
	for range n {
		state, why := c.serve(d, h)
		if why != "" || state == nil {
			break
		}
		c.hardware.signalled = nil
		if status := c.hardware.plugin.Reserve(c.ctx, state, d.pod, c.slots[h].name); !status.IsSuccess() {
			break
		}
		for _, claim := range c.hardware.signalled {
			g := given{claim: claim}
			if !c.hardware.own[claim.UID] {
				key := claim.Namespace + "/" + claim.Name
				g.was = c.hardware.claims[key]
				c.hardware.claims[key] = claim
			}
			c.hardware.hold(claim, true)
			all = append(all, g)
		}
	}
	return all
}

// ungive takes devices back.
func (c *Checker) ungive(all []given) {
	for i := len(all) - 1; i >= 0; i-- {
		c.hardware.hold(all[i].claim, false)
		if was := all[i].was; was != nil {
			c.hardware.claims[was.Namespace+"/"+was.Name] = was
		}
	}
}

// published are the slices with the devices of the node.
func (c *Checker) published(h Handle) []*resourcev1.ResourceSlice {
	s := &c.slots[h]
	if s.template == nil {
		return c.hardware.slices[s.name]
	}
	if s.slices == nil {
		for _, of := range s.template.slices {
			own := *of
			own.Name = s.name + "-" + of.Name
			own.Spec.NodeName, own.Spec.Pool.Name = &s.name, s.name+"-"+of.Spec.Pool.Name
			s.slices = append(s.slices, &own)
		}
	}
	return s.slices
}

// Publishing says which device slices a machine will have that are its own: copies of those of a node like it, such as
// [Checker.Slices] says.
func (t *Template) Publishing(slices ...*resourcev1.ResourceSlice) *Template {
	t.slices = slices
	return t
}

// Slices are the device slices of that node alone.
func (c *Checker) Slices(node string) []*resourcev1.ResourceSlice {
	var all []*resourcev1.ResourceSlice
	for _, s := range c.snapshot.Objects.ResourceSlices {
		if s.Spec.NodeName != nil && *s.Spec.NodeName == node {
			all = append(all, s)
		}
	}
	return all
}

// forget drops what is known of hardware and claims, for the next snapshot.
func (h *hardware) forget(classes []*class) {
	if h == nil {
		return
	}
	for _, cl := range classes {
		if cl.devices != nil {
			cl.devices, cl.kind = nil, nil
		}
	}
}

// claimsMade are the claims that were made for pods from templates, by class and by their name in the pod; nil for a template that
// makes none. Any pod of a class tells: what templates say does not depend on the pod.
func claimsMade(s *cluster.Snapshot, claims map[string]*resourcev1.ResourceClaim) map[cluster.Key]map[string]*resourcev1.ResourceClaim {
	all := map[cluster.Key]map[string]*resourcev1.ResourceClaim{}
	for _, p := range s.Objects.Pods {
		if len(p.Spec.ResourceClaims) == 0 {
			continue
		}
		for _, status := range p.Object().Status.ResourceClaimStatuses {
			var made *resourcev1.ResourceClaim
			if status.ResourceClaimName != nil {
				if made = claims[p.Namespace+"/"+*status.ResourceClaimName]; made == nil {
					continue
				}
			}
			if all[p.Key] == nil {
				all[p.Key] = map[string]*resourcev1.ResourceClaim{}
			}
			all[p.Key][status.Name] = made
		}
	}
	return all
}
