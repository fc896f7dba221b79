package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/whatif"
)

// Nodes.

// Handles are the handles of all nodes present now, in the order of their names. The slice belongs to the caller.
func (c *Checker) Handles() []Handle { return c.world.Nodes.Handles() }

// Handle is the handle of the node of that name; false when it is not present.
func (c *Checker) Handle(node string) (Handle, bool) { return c.world.Nodes.Handle(node) }

// Size is beyond all handles of nodes that are present.
func (c *Checker) Size() int { return c.world.Nodes.Size() }

// Name is the name of a node.
func (c *Checker) Name(h Handle) string { return c.world.Nodes.Name(h) }

// Pods are the pods on the node now: those of the snapshot by namespace and name, then those placed, in the order of placing. Pods that
// were placed by number have no name. Nil when the node has none or is not present. The slice belongs to the caller.
func (c *Checker) Pods(node string) []*cluster.Pod {
	h, ok := c.Handle(node)
	if !ok {
		return nil
	}
	var pods []*cluster.Pod
	for _, e := range c.world.Nodes.Pods(h) {
		p := e.Pod
		if p == nil {
			p = &cluster.Pod{Class: c.world.Classes.At(e.Class).Of, Node: node}
		}
		for range e.N {
			pods = append(pods, p)
		}
	}
	return pods
}

// Slices are the device slices of that node alone.
func (c *Checker) Slices(node string) []*resourcev1.ResourceSlice {
	return c.world.Devices.Slices(node)
}

// Resources.

// Resources are the resources by dimension as in [Checker.Needs]. The slice must not be changed; later ones may be longer.
func (c *Checker) Resources() []corev1.ResourceName { return c.world.Nodes.Resources() }

// Free is what the node has left, by dimension as in [Checker.Needs]. Of what its devices serve it is more than a pod can ask for: whether
// there are devices is for [Checker.Room] to say. The slice belongs to the caller.
func (c *Checker) Free(h Handle) []int64 { return c.world.Nodes.Free(h) }

// Needs is what a pod of the class takes of a node, by dimension: pods, thousandths of cores, bytes of memory and of ephemeral
// storage, then other resources in the order in which this checker met them. What is missing at the end is zero.
func (c *Checker) Needs(of *cluster.Class) []int64 {
	var out []int64
	for _, n := range c.world.Classes.Of(of).Spec.Needs {
		out = nodes.Reach(out, n.Dim, 0)
		out[n.Dim] = max(n.Asked, n.Held)
	}
	return out
}

// Utilization is the larger share of the node's allocatable cpu or memory that these pods request, cpu when they are equal. On
// a node that has GPUs it is the share of these, whatever else is used; 0 while its driver offers none yet. The share may
// exceed 1. Pods below the cutoff of [Expendable] use nothing. A node that does not say what it can allocate is used up (1): nothing is
// known to be free.
//
// It is a function of its arguments alone: what is pretended does not count. Amounts are kube-scheduler's integers.
func (c *Checker) Utilization(node *corev1.Node, pods []*cluster.Pod) (corev1.ResourceName, float64) {
	return c.world.Classes.Utilization(node, pods)
}

// Load is [Checker.Utilization] of a node with all its pods, and whether one of them that is no daemon is being deleted.
func (c *Checker) Load(n *cluster.Node) (of corev1.ResourceName, used float64, leaving bool) {
	for _, p := range n.Pods {
		leaving = leaving || p.Leaving() && !p.Daemon()
	}
	of, used = c.Utilization(n.Object, n.Pods)
	return of, used, leaving
}

// Answers.

// elsewhere says whether the pod names another node, one that does not exist: it goes nowhere else. A pod that runs on a node of the
// snapshot is free to go.
func (c *Checker) elsewhere(p *cluster.Pod, node string) bool {
	return p.Node != "" && p.Node != node && c.snapshot.Node(p.Node) == nil
}

// Refusals says why the pod cannot run on the node, all causes in kube-scheduler's order; nil when it can. Each is about the
// node. A pod that runs on a node of the snapshot is judged as the pod that would replace it, free to go elsewhere; what it
// uses where it runs still counts there until it is evicted. A node that is not present refuses everything.
func (c *Checker) Refusals(p *cluster.Pod, node string) []reason.Reason {
	h, ok := c.Handle(node)
	if !ok {
		return []reason.Reason{reason.New(reason.SchedulerRefused, reason.Node(node), "plugin", "NodeName", "message", "there is no such node")}
	}
	return c.world.Refusals(p, h, c.elsewhere(p, node))
}

// Causes is how many causes [Checker.Refusals] would have, without their words, for a node that is present.
func (c *Checker) Causes(p *cluster.Pod, h Handle) int {
	return c.world.Causes(p, h, c.elsewhere(p, c.Name(h)))
}

// Kind numbers the classes as kube-scheduler tells their pods apart: of two that have one number, each node refuses both or none, for the
// same reasons. The number of a class may change as other classes are met.
func (c *Checker) Kind(of *cluster.Class) int { return int(c.world.Classes.Kind(of).ID) }

// Depends says whether other pods, and not only what they take, decide where pods of the class go: by spread, affinity or
// anti-affinity, of its own or of theirs towards it. Pods with volumes and pods that claim devices do: claims are shared, and nodes have
// so many of each.
func (c *Checker) Depends(of *cluster.Class) bool { return c.world.Classes.Kind(of).Depends() }

// Room is how many more pods of the class the node takes one after the other as things stand; 0 when it takes none. Where pods of the
// class mind each other, by spread, anti-affinity or host ports, it is 1 at most: ask again after placing one.
func (c *Checker) Room(of *cluster.Class, h Handle) int { return c.Ask(of).room(h) }

// Suits says whether the node as such would do for pods of the class: its resources, taints, labels, host ports and volumes, whoever else
// is near.
func (c *Checker) Suits(of *cluster.Class, h Handle) bool { return c.Ask(of).Suits(h) }

// Asked is pods of a class of which several things are asked one after the other, while nothing changes.
type Asked struct {
	w *whatif.World
	k *classes.Kind
}

// Ask prepares to ask about pods of the class.
func (c *Checker) Ask(of *cluster.Class) Asked { return Asked{c.world, c.world.Classes.Kind(of)} }

// Suits is [Checker.Suits].
func (a Asked) Suits(h Handle) bool { return a.w.Suits(a.k, h) }

// Fits says whether [Checker.Room] is more than 0.
func (a Asked) Fits(h Handle) bool { return a.room(h) > 0 }

// Alone says whether two of the pods never share the node: they ask for the same host port, or keep each other away from it.
func (a Asked) Alone(h Handle) bool { return a.w.Alone(a.k, h) }

// room is [Checker.Room].
func (a Asked) room(h Handle) int {
	if a.w.Answer(a.k, h, nil) != classes.Welcome {
		return 0
	}
	return a.w.Room(a.k, h)
}

// What-ifs.

// Mark takes note of what is pretended now. The undo takes back all that was pretended since.
func (c *Checker) Mark() (undo func()) { return c.world.Mark() }

// Place pretends that the pod runs on the node, whether it fits there or not. The node must be present: losing a pod silently
// would make room that is not there, so anything else panics.
func (c *Checker) Place(p *cluster.Pod, node string) (undo func()) {
	h, ok := c.Handle(node)
	if !ok {
		panic(fmt.Sprintf("scheduling: place %s: node %q is not present", p, node))
	}
	c.world.Place(h, nodes.Entry{Pod: p, Class: c.world.Classes.Of(p.Class).ID, N: 1})
	return c.world.Undo()
}

// PlaceMany pretends that n pods of the class run on the node, whether they fit there or not. They have no names.
func (c *Checker) PlaceMany(of *cluster.Class, n int, h Handle) {
	c.world.Place(h, nodes.Entry{Class: c.world.Classes.Of(of).ID, N: int32(n)})
}

// Remove pretends that the node is gone, with its pods. A node that is not present changes nothing.
func (c *Checker) Remove(node string) (undo func()) {
	h, ok := c.Handle(node)
	if !ok {
		return c.Mark()
	}
	c.world.Remove(h)
	return c.world.Undo()
}

// Add pretends that the node has joined with these pods on it. Its name must not be that of a node that is present now: two
// nodes in one would hide a machine, so that panics. [Future] makes a node of a template, [Checker.Daemons] its first pods.
func (c *Checker) Add(node *corev1.Node, pods ...*cluster.Pod) (undo func()) {
	c.absent(node.Name)
	c.world.Add(node, c.world.Classes.Entries(nil, pods))
	return c.world.Undo()
}

// absent panics when a node of that name is present.
func (c *Checker) absent(node string) {
	if _, ok := c.Handle(node); ok {
		panic(fmt.Sprintf("scheduling: add node %q: it is present", node))
	}
}

// Template prepares a node object and the pods that every machine like it will carry, such as [Checker.Daemons] of [Future]. The object
// must be such as [Future] makes them but for its name, and is shared.
func (c *Checker) Template(node *corev1.Node, pods ...*cluster.Pod) *Template {
	carried := c.world.Classes.Entries(nil, pods)
	return c.world.Nodes.Template(node, carried, c.world.Classes.Keys(carried))
}

// Digest tells templates apart that offer something else to pods which do not mind others: the node object, what a machine attaches, and
// the pods that it carries. It is a function of their contents alone, the same for every checker.
func (c *Checker) Digest(t *Template) uint64 { return t.Digest() }

// Open pretends that a machine such as the template says has joined under that name, which must be new. It copies nothing: the node
// object is made when somebody asks for it, and the pods that it carries are the template's own.
func (c *Checker) Open(t *Template, name string) Handle {
	c.absent(name)
	return c.world.Open(t, name)
}

// Searches.

// Row makes a row of nodes. Nodes that leave are passed over.
func (c *Checker) Row(nodes ...Handle) *Row { return &Row{c: c, nodes: nodes} }

// Destinations are nodes that are present, in the order in which pods of leaving nodes try them.
func (c *Checker) Destinations(nodes ...Handle) *Destinations { return newDestinations(c, nodes) }
