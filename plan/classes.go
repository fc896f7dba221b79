package plan

import (
	"sluice.dev/sluice/cluster"
)

// classes tells pods that are alike for scheduling, so that what was found for one need not be asked again for the next.
type classes struct {
	of map[*cluster.Pod]*class
	by map[cluster.Key]*class
}

// class is a [cluster.Class] within one cycle.
type class struct {
	pod *cluster.Pod // one of them
	// plain says that whether a node takes such a pod depends on that node alone, and that placing more pods never makes a
	// refused node acceptable.
	plain bool
}

func newClasses() *classes {
	return &classes{of: map[*cluster.Pod]*class{}, by: map[cluster.Key]*class{}}
}

// class is the class of a pod.
func (cs *classes) class(p *cluster.Pod) *class {
	if c := cs.of[p]; c != nil {
		return c
	}
	key := p.Key
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

func plain(p *cluster.Pod) bool {
	a := p.Spec.Affinity
	return len(p.Spec.TopologySpreadConstraints) == 0 && (a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil)
}
