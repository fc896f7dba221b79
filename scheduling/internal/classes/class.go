package classes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/resources"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// Class is what is known of a [cluster.Class]. Pods that are absent have one as well: somebody may ask about them.
//
//	live rises by        when                                  falls when
//	1 for each pod       the snapshot has it, anywhere         a later snapshot has it no more
//	1                    somebody asks, and live is 0          the next snapshot begins: see [Classes.Turn]
//
// Terms of anti-affinity count while their class is live, whether or not a pod of it has a node. Who waits now may be placed next and keep
// others away. Plans take for granted that a pod minds nobody, so this must be known before.
type Class struct {
	ID      int32
	Of      *cluster.Class
	Spec    *Spec
	Volumes *storage.Pods
	Absent  bool // expendable: its pods count nowhere

	// live is how many pods of the class that count the snapshot has, and 1 more once it was asked about. A checker that is made anew knows
	// the class from then on, so one that follows earlier ones must judge by it from then on and not before.
	live int
	hits []*relations.Selector // that match its pods, in order; see [Classes.Current]
	seen int                   // selectors that hits takes into account
	owns []part                // what its pods' anti-affinity counts in
	own  []part                // of owns: its own pods are among those whom they keep away
	kind *Kind                 // of its pods when they were asked about last, nil when they never were
}

// enliven has so many pods more of the class be there.
func (cl *Class) enliven(n int) {
	before := cl.live > 0
	if cl.live += n; before == (cl.live > 0) {
		return
	}
	for _, k := range cl.owns {
		if before {
			k.Live(-k.sign)
		} else {
			k.Live(k.sign)
		}
	}
}

// Held is what one pod takes of a resource once it is there; nothing when it is absent.
func (cl *Class) Held(of resources.Dimension) int64 {
	if cl.Absent {
		return 0
	}
	return resources.Held(cl.Spec.Needs, of)
}

// Spec is what a pod spec says to kube-scheduler, whatever the namespace and labels of its pods.
type Spec struct {
	Needs  []resources.Need
	Served bool                   // some of them are for resources that devices serve on some nodes: see [devices.Served]
	Ports  []corev1.ContainerPort // of the host

	// What depends on the node alone, prepared when a pod of the spec is first asked about.
	Tolerations *nodes.Tolerations
	Selection   *nodes.Selection // nil when every node will do
	Features    *nodes.Demand    // of the node's kubelet, nil for none
	likeness    []byte           // the same for specs that ask for the same in all of this, and whose pods have the same priority
}

// specs are those that are known. Classes whose SpecKey is equal share one.
type specs struct {
	table *nodes.Table
	rules *nodes.Rules
	byKey map[cluster.Key]*Spec
}

// newSpecs knows none.
func newSpecs(t *nodes.Table, rules *nodes.Rules) specs {
	return specs{table: t, rules: rules, byKey: map[cluster.Key]*Spec{}}
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
	made := &Spec{Needs: resources.Needs(asked, held), Ports: util.GetHostPorts(object)}
	made.Served = s.table.Served(made.Needs)
	s.byKey[class.SpecKey] = made
	return made
}

// prepare works out what the spec says of nodes.
func (s *specs) prepare(spec *Spec, class *cluster.Class) {
	if spec.Tolerations == nil {
		spec.Tolerations = s.rules.Tolerations(class.Spec.Tolerations)
		spec.Selection = s.rules.Selection(class.Spec)
		spec.Features = s.rules.Demand(class.Spec)
		spec.likeness = spec.describe(class.Priority())
	}
}

// describe is what a spec asks for. Its length can be read off its beginning.
func (s *Spec) describe(priority int32) []byte {
	selection, features := -1, -1
	if s.Selection != nil {
		selection = int(s.Selection.ID)
	}
	if s.Features != nil {
		features = int(s.Features.ID)
	}
	key := appendAll(nil, int(s.Tolerations.ID), selection, features, int(priority), len(s.Needs), len(s.Ports))
	for _, n := range s.Needs {
		key = appendAll(key, int(n.Dim), int(n.Asked), int(n.Held))
	}
	for _, p := range s.Ports {
		key = append(appendAll(key, int(p.HostPort)), fmt.Sprintf("%q %q", p.Protocol, p.HostIP)...)
	}
	return key
}
