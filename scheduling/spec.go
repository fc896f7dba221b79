package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	helper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"sluice.dev/sluice/cluster"
)

// spec is what a pod spec says to kube-scheduler, whatever the namespace and labels of its pods. Classes whose SpecKey is equal
// share it.
type spec struct {
	id    int32
	needs []need
	milli int64                  // of needs, the cores that are held, in thousandths
	bytes int64                  // the memory that is held
	ports []corev1.ContainerPort // of the host, with protocol and address filled in

	// What depends on the node alone, prepared when a pod of the spec is first asked about.
	tolerations *tolerations
	selection   *selection // nil when every node will do

	prepared bool
	likeness int32 // the same for specs that ask for the same in all of this, and whose pods have the same priority
}

// spec is the class's spec, shared by content.
func (c *Checker) spec(class *cluster.Class) *spec {
	if s, ok := c.specs[class.SpecKey]; ok {
		return s
	}
	object := class.Object()
	held := c.dims.amounts(Requests(&cluster.Pod{Class: class}))
	asked := held
	if class.Held != nil {
		// A pod that waits holds nothing yet: NodeResourcesFit reads its spec alone.
		asked = c.dims.amounts(helper.PodRequests(object, helper.PodResourcesOptions{
			SkipPodLevelResources: !utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources),
		}))
	}
	s := &spec{id: int32(len(c.specs)), needs: needs(asked, held)}
	s.milli, s.bytes = s.held(dimCPU), s.held(dimMemory)
	for _, p := range util.GetHostPorts(object) {
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.HostIP == "" {
			p.HostIP = anyAddress
		}
		s.ports = append(s.ports, p)
	}
	c.specs[class.SpecKey] = s
	return s
}

// held is what one pod takes of a resource once it is there.
func (s *spec) held(of dimension) int64 {
	for _, n := range s.needs {
		if n.dim == of {
			return n.held
		}
	}
	return 0
}

// prepare works out what the spec says of nodes.
func (c *Checker) prepare(s *spec, class *cluster.Class) {
	if s.prepared {
		return
	}
	s.prepared = true
	s.tolerations = c.toleration(class.Spec.Tolerations)
	s.selection = c.wanted(class.Spec)
	s.likeness = c.likenessOf(s, class.Priority())
}

// likenessOf numbers what a spec asks for.
func (c *Checker) likenessOf(s *spec, priority int32) int32 {
	selection := int32(-1)
	if s.selection != nil {
		selection = s.selection.id
	}
	key := fmt.Sprint(s.needs, s.tolerations.id, selection, priority)
	for _, p := range s.ports {
		key += fmt.Sprintf(" %d %s %q", p.HostPort, p.Protocol, p.HostIP)
	}
	if known, ok := c.likenesses[key]; ok {
		return known
	}
	id := int32(len(c.likenesses))
	c.likenesses[key] = id
	return id
}

// anyAddress is the host address that stands for all.
const anyAddress = "0.0.0.0"

// clash says whether two host ports cannot both be given away: the same number and protocol, on one address or on all.
func clash(a, b *corev1.ContainerPort) bool {
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol && (a.HostIP == b.HostIP || a.HostIP == anyAddress || b.HostIP == anyAddress)
}
