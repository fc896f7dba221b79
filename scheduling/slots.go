package scheduling

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
)

// noRoom is what a node has free that is not there.
const noRoom = math.MinInt64 / 2

// slot makes a place for a node, which [Checker.enter] then brings to life.
func (c *Checker) slot(s slot) Handle {
	h := Handle(len(c.slots))
	c.slots = append(c.slots, s)
	if s.template != nil {
		c.taints = append(c.taints, s.template.taints)
	} else {
		c.taints = append(c.taints, c.taintKind(s.node))
	}
	for d := range c.free {
		c.free[d] = append(c.free[d], 0)
	}
	c.blocks.reach(h, len(c.free))
	for _, t := range c.topologies {
		t.of = append(t.of, -1)
		t.put(c, h)
	}
	for _, sc := range c.scopes {
		sc.counts = append(sc.counts, false)
	}
	return h
}

// drop gives up the last place, whose node has left.
func (c *Checker) drop() {
	n := len(c.slots) - 1
	c.slots[n] = slot{}
	c.slots, c.taints = c.slots[:n], c.taints[:n]
	for d := range c.free {
		c.free[d] = c.free[d][:n]
	}
	for _, t := range c.topologies {
		t.of = t.of[:n]
	}
	for _, s := range c.scopes {
		s.counts = s.counts[:n]
	}
	for _, l := range c.lenses {
		if len(l.of) > n {
			l.of = l.of[:n]
		}
	}
}

// columns makes room for dimensions that were met since the last time.
func (c *Checker) columns() {
	if len(c.free) == len(c.dims.names) {
		return
	}
	for len(c.free) < len(c.dims.names) {
		c.free = append(c.free, make([]int64, len(c.slots), cap(c.slots)))
	}
	c.blocks.reach(Handle(len(c.slots)-1), len(c.free))
}

// allocatable is what the node has to give, and the dimensions it is in. It holds until it is asked for again.
func (c *Checker) allocatable(h Handle) []amount {
	if t := c.slots[h].template; t != nil {
		return t.allocatable
	}
	c.offers = c.dims.add(c.offers[:0], c.slots[h].node.Status.Allocatable)
	return c.offers
}

// enter counts a node that has come, with its pods.
func (c *Checker) enter(h Handle) {
	s := &c.slots[h]
	s.present = true
	c.byName[s.name] = h
	c.names = nil
	all := c.allocatable(h)
	c.columns()
	for d := range c.free {
		c.setFree(dimension(d), h, 0)
	}
	for _, a := range all {
		c.setFree(a.dim, h, a.n)
	}
	for _, sc := range c.scopes {
		sc.join(c, h)
	}
	for i := range s.pods {
		c.count(h, &s.pods[i], s.pods[i].n)
	}
}

// leave forgets a node and its pods.
func (c *Checker) leave(h Handle) {
	s := &c.slots[h]
	for i := range s.pods {
		c.count(h, &s.pods[i], -s.pods[i].n)
	}
	for _, sc := range c.scopes {
		sc.leave(h)
	}
	s.present = false
	delete(c.byName, s.name)
	c.names = nil
	c.setFree(dimPods, h, noRoom)
}

// count adds n pods such as the entry's to what the node gives and to the counters that they are in, or takes them off.
func (c *Checker) count(h Handle, e *entry, n int32) {
	cl := c.classes[e.class]
	for _, need := range cl.spec.needs {
		c.setFree(need.dim, h, c.free[need.dim][h]-need.held*int64(n))
	}
	if cl.seen < len(c.selectors) {
		c.current(cl)
	}
	for _, s := range cl.hits {
		for _, k := range s.counters {
			if k.scope == nil || !e.leaving() {
				k.add(h, n, c.last)
			}
		}
	}
	for _, k := range cl.owns {
		k.add(h, n, c.last)
	}
	if len(cl.mounts) > 0 {
		c.use(cl, n)
	}
}

// Template is what machines of a group are opened like: see [Checker.Open].
type Template struct {
	node        *corev1.Node
	pods        []entry
	allocatable []amount
	taints      int32
	digest      uint64 // of the node object
	attaches    int    // volumes, 0 for no limit
	slices      []*resourcev1.ResourceSlice
}

// Attaching says how many volumes a machine can attach, as its kubelet will say it for each driver that counts; 0 for no limit.
func (t *Template) Attaching(volumes int) *Template {
	t.attaches = volumes
	return t
}

// Template prepares a node object and the pods that every machine like it will carry, such as [Checker.Daemons] of [Future]. The object
// must be such as [Future] makes them but for its name, and is shared.
func (c *Checker) Template(node *corev1.Node, pods ...*cluster.Pod) *Template {
	t := &Template{node: Future(node, ""), allocatable: c.dims.amounts(node.Status.Allocatable)}
	t.taints = c.taintKind(t.node)
	t.digest = mixObject(0, t.node)
	t.pods = slices.Clip(c.entries(nil, pods))
	return t
}

// Digest tells templates apart that offer something else to pods which do not mind others: the node object, what a machine attaches, and
// the pods that it carries. It is a function of their contents alone, the same for every checker.
func (c *Checker) Digest(t *Template) uint64 {
	sum := mix(t.digest, uint64(t.attaches))
	for i := range t.pods {
		key := c.classes[t.pods[i].class].of.Key
		sum = mixString(mix(sum, uint64(t.pods[i].n)), string(key[:]))
	}
	return sum
}
