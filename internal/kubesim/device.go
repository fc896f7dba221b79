package kubesim

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
)

// deviceID tells the devices of a cluster apart.
type deviceID struct{ driver, pool, name string }

// offered is a device that a node could use.
type offered struct {
	id         deviceID
	attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
	capacity   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity
}

// devicesAt returns the devices that a node can use, taken ones too, in order
// of slice and device: of every pool the newest generation. Devices that share
// counters, are tainted or say themselves where they are are left out.
func (c *Cluster) devicesAt(node *corev1.Node) []offered {
	newest := map[[2]string]int64{}
	for _, e := range c.tables["resourceslices"].sorted {
		s := e.obj.(*resourcev1.ResourceSlice).Spec
		pool := [2]string{s.Driver, s.Pool.Name}
		newest[pool] = max(newest[pool], s.Pool.Generation)
	}
	var all []offered
	for _, e := range c.tables["resourceslices"].sorted {
		s := e.obj.(*resourcev1.ResourceSlice).Spec
		here := s.NodeName != nil && *s.NodeName == node.Name || s.AllNodes != nil && *s.AllNodes || s.NodeSelector != nil && selects(s.NodeSelector, node)
		if !here || s.Pool.Generation != newest[[2]string{s.Driver, s.Pool.Name}] {
			continue
		}
		for _, d := range s.Devices {
			if len(d.ConsumesCounters) == 0 && len(d.Taints) == 0 {
				all = append(all, offered{deviceID{s.Driver, s.Pool.Name, d.Name}, d.Attributes, d.Capacity})
			}
		}
	}
	return all
}

func selects(s *corev1.NodeSelector, node *corev1.Node) bool {
	sel, err := nodeaffinity.NewNodeSelector(s)
	return err == nil && sel.Match(node)
}

// takenDevices returns the devices that claims hold.
func (c *Cluster) takenDevices() map[deviceID]bool {
	taken := map[deviceID]bool{}
	for _, e := range c.tables["resourceclaims"].sorted {
		if a := e.obj.(*resourcev1.ResourceClaim).Status.Allocation; a != nil {
			for _, r := range a.Devices.Results {
				taken[deviceID{r.Driver, r.Pool, r.Device}] = true
			}
		}
	}
	return taken
}

// ask is one request for devices, in the one form that both kinds come to.
type ask struct {
	name      string // as results name it: "request", or "request/subrequest"
	class     string
	selectors []resourcev1.DeviceSelector
	all       bool
	count     int
}

// asksOf returns the ways to satisfy a request, the preferred one first.
func asksOf(r resourcev1.DeviceRequest) []ask {
	if r.Exactly != nil {
		e := r.Exactly
		return []ask{{r.Name, e.DeviceClassName, e.Selectors, e.AllocationMode == resourcev1.DeviceAllocationModeAll, int(max(e.Count, 1))}}
	}
	var all []ask
	for _, s := range r.FirstAvailable {
		all = append(all, ask{r.Name + "/" + s.Name, s.DeviceClassName, s.Selectors, s.AllocationMode == resourcev1.DeviceAllocationModeAll, int(max(s.Count, 1))})
	}
	return all
}

// allocation is the search for the devices of one claim on one node.
type allocation struct {
	cluster *Cluster
	spec    resourcev1.DeviceClaim
	offers  []offered
	taken   map[deviceID]bool
	chosen  []resourcev1.DeviceRequestAllocationResult
	devices []offered // those chosen
}

// allocate finds devices for a claim on a node, false if there are none. What
// it finds is added to taken.
func (c *Cluster) allocate(claim *resourcev1.ResourceClaim, node *corev1.Node, taken map[deviceID]bool) (*resourcev1.AllocationResult, bool) {
	a := &allocation{cluster: c, spec: claim.Spec.Devices, offers: c.devicesAt(node), taken: taken}
	if !a.from(0) {
		return nil, false
	}
	return &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: a.chosen},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}}}}}},
	}, true
}

// from satisfies the requests from the i-th on, taking back what leads nowhere.
func (a *allocation) from(i int) bool {
	if i == len(a.spec.Requests) {
		return true
	}
	for _, want := range asksOf(a.spec.Requests[i]) {
		fit := slices.DeleteFunc(slices.Clone(a.offers), func(o offered) bool { return !a.cluster.satisfies(o, want) })
		n := want.count
		if want.all {
			n = len(fit)
		}
		if n > 0 && a.choose(i, want, fit, n) {
			return true
		}
	}
	return false
}

// choose takes n more of the devices for the i-th request, then goes on.
func (a *allocation) choose(i int, want ask, fit []offered, n int) bool {
	if n == 0 {
		return a.from(i + 1)
	}
	for k, o := range fit {
		if len(fit)-k < n {
			return false
		}
		if a.taken[o.id] {
			continue
		}
		a.taken[o.id] = true
		a.chosen = append(a.chosen, resourcev1.DeviceRequestAllocationResult{Request: want.name, Driver: o.id.driver, Pool: o.id.pool, Device: o.id.name})
		a.devices = append(a.devices, o)
		if a.agree() && a.choose(i, want, fit[k+1:], n-1) {
			return true
		}
		delete(a.taken, o.id)
		a.chosen, a.devices = a.chosen[:len(a.chosen)-1], a.devices[:len(a.devices)-1]
	}
	return false
}

// agree reports whether the chosen devices have the attributes in common that
// the claim wants them to.
func (a *allocation) agree() bool {
	for _, c := range a.spec.Constraints {
		if c.MatchAttribute == nil {
			continue
		}
		var common *resourcev1.DeviceAttribute
		for i, r := range a.chosen {
			request, _, _ := strings.Cut(r.Request, "/")
			if len(c.Requests) > 0 && !slices.Contains(c.Requests, r.Request) && !slices.Contains(c.Requests, request) {
				continue
			}
			value, ok := attribute(a.devices[i], string(*c.MatchAttribute))
			if !ok || common != nil && !sameAttribute(*common, value) {
				return false
			}
			common = &value
		}
	}
	return true
}

// attribute returns an attribute by its full name; the driver's own may be
// written without the driver.
func attribute(o offered, name string) (resourcev1.DeviceAttribute, bool) {
	if v, ok := o.attributes[resourcev1.QualifiedName(name)]; ok {
		return v, true
	}
	v, ok := o.attributes[resourcev1.QualifiedName(strings.TrimPrefix(name, o.id.driver+"/"))]
	return v, ok
}

func sameAttribute(a, b resourcev1.DeviceAttribute) bool {
	return equal(a.IntValue, b.IntValue) && equal(a.BoolValue, b.BoolValue) && equal(a.StringValue, b.StringValue) && equal(a.VersionValue, b.VersionValue)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// satisfies reports whether the selectors of a request and of its class want a
// device.
func (c *Cluster) satisfies(o offered, want ask) bool {
	class := c.entryOf("deviceclasses", want.class)
	if class == nil {
		return false
	}
	for _, s := range slices.Concat(class.obj.(*resourcev1.DeviceClass).Spec.Selectors, want.selectors) {
		if s.CEL == nil {
			continue
		}
		compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(s.CEL.Expression, cel.Options{})
		if compiled.Error != nil {
			return false
		}
		ok, _, err := compiled.DeviceMatches(context.Background(), cel.Device{Driver: o.id.driver, Attributes: o.attributes, Capacity: o.capacity})
		if err != nil || !ok {
			return false
		}
	}
	return true
}
