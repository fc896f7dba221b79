package classes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Spec is what a pod spec says to kube-scheduler, whatever the namespace and labels of its pods.
type Spec struct {
	Needs []resources.Need
	Ports []corev1.ContainerPort // of the host, with protocol and address filled in

	// What depends on the node alone, prepared when a pod of the spec is first asked about.
	Tolerations *nodes.Tolerations
	Selection   *nodes.Selection // nil when every node will do
	likeness    int32            // the same for specs that ask for the same in all of this, and whose pods have the same priority
}

// specs are those that are known. Classes whose SpecKey is equal share one.
type specs struct {
	table      *nodes.Table
	rules      *nodes.Rules
	byKey      map[cluster.Key]*Spec
	likenesses map[string]int32
}

func newSpecs(t *nodes.Table, rules *nodes.Rules) specs {
	return specs{table: t, rules: rules, byKey: map[cluster.Key]*Spec{}, likenesses: map[string]int32{}}
}

// of is the class's spec.
func (s *specs) of(class *cluster.Class) *Spec {
	if known, ok := s.byKey[class.SpecKey]; ok {
		return known
	}
	object := class.Object()
	held := s.table.Amounts(nil, resources.Requests(object))
	asked := held
	if class.Held != nil {
		asked = s.table.Amounts(nil, resources.Wanted(object))
	}
	made := &Spec{Needs: resources.Needs(asked, held)}
	for _, p := range util.GetHostPorts(object) {
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.HostIP == "" {
			p.HostIP = AnyAddress
		}
		made.Ports = append(made.Ports, p)
	}
	s.byKey[class.SpecKey] = made
	return made
}

// prepare works out what the spec says of nodes.
func (s *specs) prepare(spec *Spec, class *cluster.Class) {
	if spec.Tolerations == nil {
		spec.Tolerations = s.rules.Tolerations(class.Spec.Tolerations)
		spec.Selection = s.rules.Selection(class.Spec)
		spec.likeness = s.likenessOf(spec, class.Priority())
	}
}

// likenessOf numbers what a spec asks for.
func (s *specs) likenessOf(spec *Spec, priority int32) int32 {
	selection := int32(-1)
	if spec.Selection != nil {
		selection = spec.Selection.ID
	}
	key := appendAll(nil, int(spec.Tolerations.ID), int(selection), int(priority), len(spec.Needs))
	for _, n := range spec.Needs {
		key = appendAll(key, int(n.Dim), int(n.Asked), int(n.Held))
	}
	for _, p := range spec.Ports {
		key = append(appendAll(key, int(p.HostPort)), fmt.Sprintf("%s %q", p.Protocol, p.HostIP)...)
	}
	if known, ok := s.likenesses[string(key)]; ok {
		return known
	}
	id := int32(len(s.likenesses))
	s.likenesses[string(key)] = id
	return id
}

// AnyAddress is the host address that stands for all.
const AnyAddress = "0.0.0.0"

// Clash says whether two host ports cannot both be given away: the same number and protocol, on one address or on all.
func Clash(a, b *corev1.ContainerPort) bool {
	same := a.HostIP == b.HostIP || a.HostIP == AnyAddress || b.HostIP == AnyAddress
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol && same
}
