package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// Place pretends that the pod runs on the node, whether it fits there or not. The node must be present: losing a pod silently
// would make room that is not there, so anything else panics.
func (c *Checker) Place(p *cluster.Pod, node string) (undo func()) {
	old, ok := c.nodes[node]
	if !ok {
		panic(fmt.Sprintf("scheduling: place %s/%s: node %q is not present", p.Namespace, p.Name, node))
	}
	info := old.SnapshotConcrete()
	info.AddPodInfo(c.known(p).info)
	return c.pretend(old, info)
}

// Evict pretends that the pod of that namespace and name has left the node. A pod that is not there changes nothing.
func (c *Checker) Evict(p *cluster.Pod, node string) (undo func()) {
	old, ok := c.nodes[node]
	if !ok {
		return c.record(func() {})
	}
	leaves := func(other fwk.PodInfo) bool {
		o := other.GetPod()
		return o.Namespace == p.Namespace && o.Name == p.Name
	}
	i := slices.IndexFunc(old.Pods, leaves)
	if i < 0 {
		return c.record(func() {})
	}
	// Counting anew rather than taking off: a host port may be held by more pods than one.
	info := framework.NewNodeInfo()
	info.SetNode(old.Node())
	for j, other := range old.Pods {
		if j != i {
			info.AddPodInfo(other)
		}
	}
	return c.pretend(old, info)
}

// Remove pretends that the node is gone, with its pods. A node that is not present changes nothing.
func (c *Checker) Remove(node string) (undo func()) {
	old, ok := c.nodes[node]
	if !ok {
		return c.record(func() {})
	}
	return c.pretend(old, nil)
}

// Add pretends that the node has joined with these pods on it. Its name must not be that of a node that is present now: two
// nodes in one would hide a machine, so that panics. [Future] makes a node of a template, [Checker.Daemons] its first pods.
func (c *Checker) Add(node *corev1.Node, pods ...*cluster.Pod) (undo func()) {
	if _, ok := c.nodes[node.Name]; ok {
		panic(fmt.Sprintf("scheduling: add node %q: it is present", node.Name))
	}
	return c.pretend(nil, c.info(node, pods))
}

// pretend puts one view of a node in the place of another. Was is nil when the node joins, is when it leaves.
func (c *Checker) pretend(was, is *framework.NodeInfo) (undo func()) {
	names, infos, now, repelling := c.names, c.infos, c.now, c.repelling
	var revert func()
	switch {
	case was == nil:
		name := is.Node().Name
		i, _ := slices.BinarySearch(names, name)
		c.names, c.infos = inserted(names, i, name), inserted[fwk.NodeInfo](infos, i, is)
		c.nodes[name] = is
		revert = func() { delete(c.nodes, name) }
	case is == nil:
		name := was.Node().Name
		i, _ := slices.BinarySearch(names, name)
		c.names, c.infos = deleted(names, i), deleted(infos, i)
		delete(c.nodes, name)
		revert = func() { c.nodes[name] = was }
	default:
		name := was.Node().Name
		i, _ := slices.BinarySearch(names, name)
		c.infos[i], c.nodes[name] = is, is
		revert = func() { infos[i], c.nodes[name] = was, was }
	}
	undo = c.record(func() {
		revert()
		c.names, c.infos, c.now, c.repelling = names, infos, now, repelling
	})
	if was == nil || is == nil {
		c.now.nodes = c.last
	}
	before, after := counted(was), counted(is)
	if was != nil && is != nil || before.pods+after.pods > 0 {
		c.now.pods = c.last
	}
	if before.repelling != after.repelling {
		c.now.repelling = c.last
		c.repelling += after.repelling - before.repelling
	}
	return undo
}

// record begins a new epoch and takes down what ends it. The undo takes back all that was recorded from here on, last first.
func (c *Checker) record(revert func()) (undo func()) {
	c.last++
	mark, epoch := len(c.journal), c.last
	c.journal = append(c.journal, whatIf{epoch, revert})
	return func() {
		if mark >= len(c.journal) || c.journal[mark].epoch != epoch {
			return
		}
		for i := len(c.journal) - 1; i >= mark; i-- {
			c.journal[i].revert()
			c.journal[i] = whatIf{}
		}
		c.journal = c.journal[:mark]
	}
}

type count struct{ pods, repelling int }

func counted(n *framework.NodeInfo) count {
	if n == nil {
		return count{}
	}
	return count{len(n.Pods), len(n.PodsWithRequiredAntiAffinity)}
}

// inserted and deleted leave s as it is.
func inserted[T any](s []T, i int, v T) []T {
	out := make([]T, 0, len(s)+1)
	out = append(out, s[:i]...)
	out = append(out, v)
	return append(out, s[i:]...)
}

func deleted[T any](s []T, i int) []T {
	out := make([]T, 0, len(s)-1)
	return append(append(out, s[:i]...), s[i+1:]...)
}
