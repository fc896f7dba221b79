package scheduling

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Needs is what a pod of the class takes of a node, by dimension: pods, thousandths of cores, bytes of memory and of ephemeral
// storage, then other resources in the order in which this checker met them. What is missing at the end is zero.
func (c *Checker) Needs(of *cluster.Class) []int64 {
	var out []int64
	for _, n := range c.class(of).spec.needs {
		for int(n.dim) >= len(out) {
			out = append(out, 0)
		}
		out[n.dim] = max(n.asked, n.held)
	}
	return out
}

// Resources are the resources by dimension as in [Checker.Needs]. The slice must not be changed; later ones may be longer.
func (c *Checker) Resources() []corev1.ResourceName { return c.dims.names }

// Free is what the node has left, by dimension as in [Checker.Needs].
func (c *Checker) Free(h Handle) []int64 {
	c.columns()
	out := make([]int64, len(c.free))
	for d := range c.free {
		out[d] = c.free[d][h]
	}
	return out
}

// Depends says whether other pods, and not only what they take, decide where pods of the class go: by spread, affinity or
// anti-affinity, of its own or of theirs towards it. Pods with volumes and pods that claim devices do: claims are shared, and nodes have
// so many of each.
func (c *Checker) Depends(of *cluster.Class) bool {
	return c.minds(c.kindFor(of))
}

func (c *Checker) minds(k *kind) bool {
	if k.depends() || k.volumes != nil || k.devices != nil {
		return true
	}
	for _, s := range k.hits {
		for _, n := range s.owners {
			if n.lives > 0 {
				return true
			}
		}
	}
	return false
}

// Kind numbers the classes as kube-scheduler tells their pods apart: of two that have one number, each node refuses both or none, for the
// same reasons. The number of a class may change as other classes are met.
func (c *Checker) Kind(of *cluster.Class) int { return int(c.kindFor(of).id) }

// Suits says whether the node as such would do for pods of the class: its resources, taints, labels, host ports and volumes, whoever else is near.
func (c *Checker) Suits(of *cluster.Class, h Handle) bool { return c.suits(c.kindFor(of), h) }

// Asked is pods of a class of which several things are asked one after the other, while nothing changes.
type Asked struct {
	c *Checker
	k *kind
}

// Ask prepares to ask about pods of the class.
func (c *Checker) Ask(of *cluster.Class) Asked { return Asked{c, c.kindFor(of)} }

// Suits is [Checker.Suits].
func (a Asked) Suits(h Handle) bool { return a.c.suits(a.k, h) }

// Fits says whether [Checker.Room] is more than 0.
func (a Asked) Fits(h Handle) bool { return a.c.judge(a.k, h, nil) == welcome && a.c.room(a.k, h) > 0 }

// Alone says whether two of the pods never share the node: they ask for the same host port, or keep each other away from it.
func (a Asked) Alone(h Handle) bool { return a.c.loner(a.k, h) }

func (c *Checker) suits(k *kind, h Handle) bool {
	for _, n := range k.spec.needs {
		if n.asked > 0 && n.asked > c.free[n.dim][h] {
			return false
		}
	}
	const stands = verdictTaints | verdictSchedule
	return k.refused == "" && c.tolerated(k.spec.tolerations, h)&stands == stands && c.selected(k.spec.selection, h) &&
		(len(k.spec.ports) == 0 || !c.taken(k.spec, h)) && (k.volumes == nil || c.mountable(k.volumes, h))
}

func (c *Checker) loner(k *kind, h Handle) bool {
	for i := range k.spec.ports {
		for j := range k.spec.ports {
			if clash(&k.spec.ports[i], &k.spec.ports[j]) {
				return true
			}
		}
	}
	for i, n := range k.apart {
		if k.selves[i] && n.topology.of[h] >= 0 {
			return true
		}
	}
	return false
}
