package plan

import (
	"fmt"
	"hash/fnv"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// classes tells pods that are alike for scheduling, so that what was found for one need not be asked again for the next.
type classes struct {
	of map[*corev1.Pod]*class
	by map[uint64]*class
}

// class is a set of pods that are alike: the same namespace, labels, controller and everything in the spec that scheduling reads.
type class struct {
	pod *corev1.Pod // one of them
	// plain says that whether a node takes such a pod depends on that node alone, and that placing more pods never makes a
	// refused node acceptable.
	plain bool
}

func newClasses() *classes {
	return &classes{of: map[*corev1.Pod]*class{}, by: map[uint64]*class{}}
}

// class is the class of a pod.
func (cs *classes) class(p *corev1.Pod) *class {
	if c := cs.of[p]; c != nil {
		return c
	}
	key := classKey(p)
	c := cs.by[key]
	if c == nil {
		c = &class{pod: p, plain: plain(p)}
		cs.by[key] = c
	}
	cs.of[p] = c
	return c
}

// searched is how far a list of nodes was searched for each plain class: the nodes before that have all refused it.
type searched map[*class]int

// first asks count nodes in their order for the first that accepts a pod of the class; -1 when all refuse.
func (s searched) first(c *class, count int, accepts func(i int) bool) int {
	for i := s[c]; i < count; i++ {
		if accepts(i) {
			return i
		}
		if c.plain {
			s[c] = i + 1
		}
	}
	return -1
}

func plain(p *corev1.Pod) bool {
	a := p.Spec.Affinity
	return len(p.Spec.TopologySpreadConstraints) == 0 && (a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil)
}

// classKey hashes what scheduling reads of a pod. Volumes that any node can mount are left out: their names differ from pod
// to pod of one controller.
func classKey(p *corev1.Pod) uint64 {
	spec := p.Spec
	spec.NodeName, spec.Hostname = "", ""
	spec.Volumes = nil
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			spec.Volumes = append(spec.Volumes, v)
		}
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00", p.Namespace)
	if o := cluster.Owner(p); o != nil {
		fmt.Fprintf(h, "%s\x00", o.UID)
	}
	keys := make([]string, 0, len(p.Labels))
	for k := range p.Labels {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(h, "%s\x01%s\x00", k, p.Labels[k])
	}
	raw, err := spec.Marshal()
	if err != nil { // a spec that the API server accepted always encodes; a lonely class is the safe answer
		fmt.Fprintf(h, "%s", p.UID)
	}
	_, _ = h.Write(raw)
	return h.Sum64()
}
