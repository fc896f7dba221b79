package devices

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/plugins"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Claims is what pods of a class claim of the hardware. Claims that are made from a template are the class's own: every pod that is
// placed is given devices anew, as the pod that the claim controller will make one for. Claims that pods share by name are given
// devices once.
//
//	claim                         stands for                      placing a pod                       taking it back
//	by name                       itself                          allocates it, unless it is          it is as it was
//	of a template, made           those of every pod of the class takes devices for one more          frees them
//	of a template, not made       -                               nobody is placed: the pod waits     -
//	for extended resources        those of every pod of the class takes devices for one more          frees them
//
// A claim that stands for many never becomes allocated itself. Otherwise the second pod would be sent to where the first one is.
type Claims struct {
	hardware *hardware
	pod      *corev1.Pod           // with its claims by name
	served   []corev1.ResourceName // that its containers ask for and device classes serve
	refused  string                // why no node will do, "" when it depends on the node
}

// Given is a claim that was given devices.
type Given struct {
	claim *resourcev1.ResourceClaim // as it is since
	was   *resourcev1.ResourceClaim // nil for a claim of the class's own
}

// newClaims gives the class claims of its own in the place of those from templates. A template whose claim the controller has not made yet
// keeps the pod waiting everywhere, as DynamicResources would.
func newClaims(h *hardware, of *cluster.Class) *Claims {
	name := fmt.Sprintf("%x", of.Key)
	c := &Claims{hardware: h, pod: of.Object()}
	for name, asked := range resources.Wanted(c.pod) {
		if !asked.IsZero() && h.GetDeviceClass(name) != nil {
			c.served = append(c.served, name)
		}
	}
	c.pod.Name, c.pod.UID = name, types.UID(name) // nobody has reserved a claim for a pod of that name
	c.pod.Spec.ResourceClaims = nil
	for _, wanted := range of.Spec.ResourceClaims {
		if wanted.ResourceClaimName == nil {
			made, known := h.made[of.Key][wanted.Name]
			if !known {
				c.refused = "claim " + wanted.Name + " is not made yet"
				return c
			}
			if made == nil {
				continue // the template makes none
			}
			own := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name + "/" + wanted.Name}, Spec: made.Spec}
			own.UID = types.UID(own.Name)
			h.add(own)
			// By name the plugin asks neither for the pod's status nor for the claim's owner, which a class has not.
			wanted.ResourceClaimTemplateName, wanted.ResourceClaimName = nil, &own.Name
		}
		c.pod.Spec.ResourceClaims = append(c.pod.Spec.ResourceClaims, wanted)
	}
	return c
}

// serve asks the plugin about a node with these slices of its own. The state is nil where nothing is to be given. The plugin prepares anew
// for each node: what it prepares holds all slices and all that is taken, and one node's slices are few.
func (c *Claims) serve(own []*resourcev1.ResourceSlice, node *corev1.Node) (fwk.CycleState, string) {
	if c.refused != "" {
		return nil, c.refused
	}
	if len(c.pod.Spec.ResourceClaims) == 0 && c.allocatable(node) {
		return nil, "" // as the plugin would say at a higher price
	}
	h := c.hardware
	h.at(own)
	state := framework.NewCycleState()
	_, status := h.plugin.PreFilter(h.ctx, state, c.pod, nil)
	if status.IsSkip() {
		return nil, ""
	}
	if status.IsSuccess() {
		status = h.plugin.Filter(h.ctx, state, c.pod, plugins.Bare(node))
	}
	if !status.IsSuccess() {
		return nil, status.Message()
	}
	return state, ""
}

// allocatable says whether the node has some of each resource allocatable that devices could serve, so that none of them need do.
func (c *Claims) allocatable(node *corev1.Node) bool {
	return !slices.ContainsFunc(c.served, func(name corev1.ResourceName) bool {
		q := node.Status.Allocatable[name]
		return q.IsZero()
	})
}

// give gives one pod its devices on the node, nil when it has none for it.
func (c *Claims) give(own []*resourcev1.ResourceSlice, node *corev1.Node) []Given {
	state, _ := c.serve(own, node)
	if state == nil {
		return nil
	}
	return c.hardware.reserve(state, c.pod, node.Name)
}
