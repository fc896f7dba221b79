package classes

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Enter makes a node present, with the pods that are on it.
func (c *Classes) Enter(h nodes.Handle) {
	c.Nodes.Enter(h)
	c.Relations.Join(h)
	c.CountAll(h, c.Nodes.Pods(h), 1)
}

// Leave makes a node absent, with its pods. They are counted off while the node is still in its domains, in the reverse order of Enter.
func (c *Classes) Leave(h nodes.Handle) {
	c.CountAll(h, c.Nodes.Pods(h), -1)
	c.Relations.Leave(h)
	c.Nodes.Leave(h)
}

// CountAll counts the pods of these entries so many times.
func (c *Classes) CountAll(h nodes.Handle, pods []nodes.Entry, times int32) {
	for i := range pods {
		c.Count(h, &pods[i], times*pods[i].N)
	}
}

// Count adds n pods such as the entry's to what the node gives and to the counters that they are in, or takes them off when n is negative.
// Selectors that the class has not met yet come first: a counter that was filled since would keep pods that leave now.
func (c *Classes) Count(h nodes.Handle, e *nodes.Entry, n int32) {
	cl := c.Current(c.all[e.Class])
	c.Nodes.Take(h, cl.Spec.Needs, n)
	for _, s := range cl.hits {
		s.Count(h, e, n, c.Clock.Last())
	}
	for _, k := range cl.owns {
		k.Add(h, k.sign*n, c.Clock.Last())
	}
	c.Storage.Use(cl.Volumes, n)
}

// countLate fills new counters with the pods that are there, in one pass for all of them. Which counters count a pod is worked out once for
// each class: a cluster has many more pods than classes. What is counted here is no change of the world, so it bears the number 0: nobody
// need be asked again because of pods that were there all the time.
func (c *Classes) countLate() {
	late := c.Relations.Late()
	if len(late) == 0 {
		return
	}
	by := map[*relations.Selector][]*relations.Counter{}
	for _, k := range late {
		by[k.Of()] = append(by[k.Of()], k)
	}
	counted := make([][]*relations.Counter, len(c.all)) // those that count pods of the class
	known := make([]bool, len(c.all))
	for h := range nodes.Handle(c.Nodes.Size()) {
		if !c.Nodes.Present(h) {
			continue
		}
		for _, e := range c.Nodes.Pods(h) {
			if !known[e.Class] {
				known[e.Class] = true
				for _, s := range c.Current(c.all[e.Class]).hits {
					counted[e.Class] = append(counted[e.Class], by[s]...)
				}
			}
			for _, k := range counted[e.Class] {
				if k.Counts(&e) {
					k.Add(h, e.N, 0)
				}
			}
		}
	}
}

// Utilization is the larger share of the node's allocatable cpu or memory that these pods request, cpu when they are equal. On a node that
// has GPUs it is the share of these, whatever else is used; 0 while its driver offers none yet.
//
// The share may exceed 1. Pods that are absent use nothing. A node that does not say what it can allocate is used up (1): nothing is known
// to be free. It is a function of the arguments alone: what is pretended does not count.
func (c *Classes) Utilization(node *corev1.Node, pods []*cluster.Pod) (corev1.ResourceName, float64) {
	for _, name := range cluster.GPUs {
		capacity, offers := node.Status.Capacity[name]
		allocatable := node.Status.Allocatable[name]
		if !allocatable.IsZero() {
			return name, share(c.held(c.Nodes.Dimension(name), pods), allocatable.Value())
		}
		if offers && !capacity.IsZero() {
			return name, 0
		}
	}
	cpu := share(c.held(resources.CPU, pods), node.Status.Allocatable.Cpu().MilliValue())
	memory := share(c.held(resources.Memory, pods), node.Status.Allocatable.Memory().Value())
	if memory > cpu {
		return corev1.ResourceMemory, memory
	}
	return corev1.ResourceCPU, cpu
}

// held is what the pods take of a resource together.
func (c *Classes) held(of resources.Dimension, pods []*cluster.Pod) int64 {
	var sum int64
	for _, p := range pods {
		sum += c.Of(p.Class).Held(of)
	}
	return sum
}

// share is how much of the allocatable is used. Of nothing, everything is.
func share(used, allocatable int64) float64 {
	if allocatable <= 0 {
		return 1
	}
	return float64(used) / float64(allocatable)
}
