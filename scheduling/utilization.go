package scheduling

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Utilization is the larger share of the node's allocatable cpu or memory that these pods request, cpu when they are equal. On
// a node that has GPUs it is the share of these, whatever else is used; 0 while its driver offers none yet. The share may
// exceed 1. Pods below the cutoff of [Expendable] use nothing. A node that does not say what it can allocate is used up (1): nothing is known to be free.
//
// It is a function of its arguments alone: what is pretended does not count. Amounts are kube-scheduler's integers.
func (c *Checker) Utilization(node *corev1.Node, pods []*cluster.Pod) (corev1.ResourceName, float64) {
	return c.utilization(node, pods, c.load(pods))
}

// Load is [Checker.Utilization] of a node with all its pods, and whether one of them that is no daemon is being deleted.
func (c *Checker) Load(n *cluster.Node) (of corev1.ResourceName, used float64, leaving bool) {
	var l load
	if h, ok := c.byName[n.Name()]; ok && c.slots[h].seen == n {
		l = c.slots[h].load
	} else {
		l = c.load(n.Pods)
	}
	of, used = c.utilization(n.Object, n.Pods, l)
	return of, used, l.leaving
}

// load is what pods come to on a node.
type load struct {
	milli, bytes int64 // cores in thousandths, memory
	leaving      bool  // one that is no daemon is being deleted
}

// count adds a pod of the class, or takes one away with -1. Those that are absent come to nothing.
func (l *load) count(of *class, times int64) {
	if !of.absent {
		l.milli, l.bytes = l.milli+times*of.spec.milli, l.bytes+times*of.spec.bytes
	}
}

func (c *Checker) load(pods []*cluster.Pod) load {
	var l load
	for _, p := range pods {
		l.count(c.class(p.Class), 1)
		l.leaving = l.leaving || p.Leaving() && !p.Daemon()
	}
	return l
}

func (c *Checker) utilization(node *corev1.Node, pods []*cluster.Pod, l load) (corev1.ResourceName, float64) {
	for _, name := range cluster.GPUs {
		capacity, offers := node.Status.Capacity[name]
		allocatable := node.Status.Allocatable[name]
		if !allocatable.IsZero() {
			return name, share(c.held(c.dims.number(name), pods), allocatable.Value())
		}
		if offers && !capacity.IsZero() {
			return name, 0
		}
	}
	cpu := share(l.milli, node.Status.Allocatable.Cpu().MilliValue())
	memory := share(l.bytes, node.Status.Allocatable.Memory().Value())
	if memory > cpu {
		return corev1.ResourceMemory, memory
	}
	return corev1.ResourceCPU, cpu
}

// held is what the pods take of a resource together.
func (c *Checker) held(of dimension, pods []*cluster.Pod) int64 {
	var sum int64
	for _, p := range pods {
		if cl := c.class(p.Class); !cl.absent {
			sum += cl.spec.held(of)
		}
	}
	return sum
}

func share(used, allocatable int64) float64 {
	if allocatable <= 0 {
		return 1
	}
	return float64(used) / float64(allocatable)
}
