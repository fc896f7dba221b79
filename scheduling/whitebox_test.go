package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// What tests ask of a checker, and no plan does.

// Nodes are the names of all nodes present now, sorted.
func (c *Checker) Nodes() []string {
	names := []string{}
	for _, h := range c.Handles() {
		names = append(names, c.Name(h))
	}
	return names
}

// Node is the node object of that name; nil when it is not present.
func (c *Checker) Node(name string) *corev1.Node {
	h, ok := c.Handle(name)
	if !ok {
		return nil
	}
	return c.world.Nodes.Object(h)
}

// Evict pretends that the pod of that namespace and name has left the node. A pod that is not there changes nothing.
func (c *Checker) Evict(p *cluster.Pod, node string) (undo func()) {
	is := func(e *nodes.Entry) bool {
		return e.Pod != nil && (e.Pod == p || e.Pod.Namespace == p.Namespace && e.Pod.Name == p.Name)
	}
	h, ok := c.Handle(node)
	if !ok || !slices.ContainsFunc(c.world.Nodes.Pods(h), func(e nodes.Entry) bool { return is(&e) }) {
		return c.Mark()
	}
	c.world.Depart(h, is)
	return c.world.Undo()
}

// Fits says whether [Checker.Refusals] would be nil, without saying why not.
func (c *Checker) Fits(p *cluster.Pod, node string) bool {
	h, ok := c.Handle(node)
	return ok && !c.elsewhere(p, node) && c.world.Answer(c.world.Classes.Kind(p.Class), h, p) == classes.Welcome
}
