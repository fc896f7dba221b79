package cluster

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// changes are a snapshot on the way from the last one to the next: what the two share is copied before it is changed.
type changes struct {
	*Snapshot
	last *Snapshot

	again map[string]bool  // nodes to be joined again, by name
	learn map[GroupID]bool // groups whose template is to be found again
}

// turnGroups turns to what the cloud says now of groups and their machines.
func (c *changes) turnGroups() {
	c.Groups = slices.Clone(c.last.Groups)
	for i, given := range c.given {
		before := c.last.given[i]
		at := slices.IndexFunc(c.Groups, func(g *Group) bool { return g.ID == given.ID })
		old := c.Groups[at]
		if given != before && !slices.Equal(given.Departed, before.Departed) {
			c.turnDeparted(given, before)
		}
		sameMachines := given == before || slices.EqualFunc(before.Instances, given.Instances, sameInstance)
		switch same := sameGroup(before, given); {
		case same && sameMachines:
			if read := plain(given.Read.At); !read.Equal(old.Read.At) {
				own := *old
				own.Read.At = read
				c.Groups[at] = &own
			}
		default:
			own := c.copied(given, old)
			c.Groups[at] = own
			if !sameMachines {
				c.turnMachines(own, given, old)
			}
		}
	}
	c.groups = make(map[GroupID]*Group, len(c.Groups))
	for _, g := range c.Groups {
		c.groups[g.ID] = g
	}
}

// copied is the group as it is told of, with the machines that it had.
func (c *changes) copied(given, old *Group) *Group {
	own := *given
	own.Read.At, own.Failure = plain(given.Read.At), plainFailure(given.Failure)
	own.Instances, own.Parked = old.Instances, old.Parked
	c.learn[given.ID] = true
	return &own
}

// turnDeparted has nodes of machines that have left joined again, since their group may be known by that alone.
func (c *changes) turnDeparted(given, before *Group) {
	for _, uid := range before.Departed {
		delete(c.joins.departed, uid)
	}
	for _, uid := range given.Departed {
		c.joins.departed[uid] = given.ID
	}
	for _, uid := range slices.Concat(before.Departed, given.Departed) {
		hashed(byUID, uid, func(key uint64) {
			for _, name := range c.joins.nodes[key] {
				c.again[name] = true
			}
		})
	}
}

// turnMachines exchanges the machines that changed. Nodes that could be one of them are to be joined again.
func (c *changes) turnMachines(own, given, old *Group) {
	fresh := plainInstances(given.Instances)
	gone := func(in *Instance) {
		c.mark(in)
		c.joins.dropMachine(in)
	}
	j := 0
	for i, in := range fresh {
		for j < len(old.Instances) && old.Instances[j].ID < in.ID {
			gone(old.Instances[j])
			j++
		}
		if j < len(old.Instances) && old.Instances[j].ID == in.ID {
			if sameInstance(in, old.Instances[j]) {
				fresh[i] = old.Instances[j]
				j++
				continue
			}
			gone(old.Instances[j])
			j++
		}
		c.joins.addMachine(in)
		c.mark(in)
	}
	for ; j < len(old.Instances); j++ {
		gone(old.Instances[j])
	}
	own.Instances = fresh
	for _, n := range c.last.Nodes {
		if n.Instance == nil && len(n.Suspects) == 0 { // it may be told apart by those who are there
			c.again[n.Name()] = true
		}
	}
}

// mark notes that the nodes are to be joined again that the machine could be, and those that could be the same machines as these.
func (c *changes) mark(in *Instance) {
	for _, n := range c.joins.near(in) {
		c.again[n.Name()] = true
		for _, other := range c.joins.candidates(n.Object) {
			for _, rival := range c.joins.near(other) {
				c.again[rival.Name()] = true
			}
		}
	}
}

// turnNodes turns to the nodes that there are now. Those that stayed as they were are the same pointers.
func (c *changes) turnNodes() {
	if sameSlice(c.last.Objects.Nodes, c.Objects.Nodes) {
		return
	}
	var gone, come []*Node
	leave := func(n *Node) {
		for _, in := range c.joins.candidates(n.Object) {
			c.mark(in)
		}
		c.joins.dropNode(n.Object)
		c.learn[n.Group] = true
	}
	nodes := make([]*Node, len(c.Objects.Nodes))
	var fresh []*Node // to be joined
	i, last := 0, c.last.Nodes
	for k, o := range c.Objects.Nodes {
		for i < len(last) && last[i].Name() < o.Name {
			leave(last[i])
			gone = append(gone, last[i])
			i++
		}
		if i == len(last) || last[i].Name() != o.Name {
			nodes[k] = &Node{Object: o}
			come, fresh = append(come, nodes[k]), append(fresh, nodes[k])
			continue
		}
		was := last[i]
		i++
		if nodes[k] = was; was.Object == o {
			continue
		}
		own := *was
		own.Object = o
		nodes[k] = &own
		if !sameIdentity(was.Object, o) {
			leave(was)
			fresh = append(fresh, &own)
		}
		c.learn[was.Group] = c.learn[was.Group] || !sameMake(was.Object, o)
	}
	for ; i < len(last); i++ {
		leave(last[i])
		gone = append(gone, last[i])
	}
	c.Nodes = nodes
	if len(gone)+len(come) > 0 {
		c.index = make(map[string]int, len(nodes))
		for k, n := range nodes {
			c.index[n.Name()] = k
		}
	}
	for _, n := range fresh {
		c.joins.addNode(n.Object)
		c.again[n.Name()] = true
	}
	for _, n := range fresh {
		for _, in := range c.joins.candidates(n.Object) {
			c.mark(in)
		}
	}
	c.turnOrphans(gone, come)
}

// turnOrphans makes strays of the pods whose nodes have gone, and gives those to nodes that came which are bound to them.
func (c *changes) turnOrphans(gone, come []*Node) {
	if len(gone)+len(come) == 0 {
		return
	}
	var t turnover
	for _, n := range gone {
		t.come = append(t.come, n.Pods...)
	}
	by := make(map[string]*Node, len(come))
	for _, n := range come {
		by[n.Name()] = n
	}
	for _, p := range c.orphans {
		if n := by[p.Node]; n != nil {
			n.Pods = append(n.Pods, p)
			t.gone = append(t.gone, p)
		}
	}
	if len(t.gone)+len(t.come) > 0 {
		c.orphans = exchanged(c.orphans, t.gone, t.come, byName)
		c.nameOrphans()
	}
}

// rejoin joins nodes again.
func (c *changes) rejoin() {
	if len(c.again) == 0 {
		return
	}
	if sameSlice(c.Nodes, c.last.Nodes) {
		c.Nodes = slices.Clone(c.Nodes)
	}
	of := map[*Instance]*Node{} // machines in question, with the nodes that they are
	var joined []*Node
	for _, name := range slices.Sorted(maps.Keys(c.again)) {
		if was := c.last.Node(name); was != nil && was.Instance != nil {
			of[was.Instance] = nil
		}
		i, there := c.index[name]
		if !there {
			continue
		}
		was, own := c.Nodes[i], *c.Nodes[i]
		if c.join(&own); own.Group == was.Group && own.Marked == was.Marked && own.Numbered == was.Numbered && own.Instance == nil && was.Instance == nil && len(own.Suspects)+len(was.Suspects) == 0 {
			continue // it is nobody's, as before
		}
		own.Awaits = nil
		c.learn[was.Group], c.learn[own.Group] = true, true
		c.Nodes[i] = &own
		joined = append(joined, &own)
	}
	for _, n := range joined {
		if n.Instance != nil {
			of[n.Instance] = n
		}
	}
	for in, n := range of {
		name := ""
		if n != nil {
			name = n.Name()
		}
		if in.Node != name {
			c.exchange(in, name, joined)
		}
	}
}

// exchange puts a copy of the machine, which is that node, in its place.
func (c *changes) exchange(in *Instance, node string, joined []*Node) {
	g := c.groups[in.Group]
	i := slices.Index(g.Instances, in)
	if i < 0 {
		return // it has gone
	}
	own := *in
	own.Node = node
	if old := c.last.Group(g.ID); sameSlice(g.Instances, old.Instances) {
		g = c.mine(g)
		g.Instances = slices.Clone(g.Instances)
	}
	g.Instances[i] = &own
	for _, n := range joined {
		if n.Instance == in {
			n.Instance = &own
		}
		for k, other := range n.Suspects {
			if other == in {
				n.Suspects[k] = &own
			}
		}
	}
}

// mine is the group, copied if the last snapshot has it too.
func (c *changes) mine(g *Group) *Group {
	if c.last.Group(g.ID) != g {
		return g
	}
	own := *g
	c.groups[g.ID] = &own
	c.Groups[slices.Index(c.Groups, g)] = &own
	return &own
}

// relearn finds the templates of groups again whose nodes changed, or of which the cloud says something else, and what nodes of theirs
// await.
func (c *changes) relearn() {
	for _, given := range c.given {
		if !c.learn[given.ID] {
			continue
		}
		old := c.last.Group(given.ID)
		g := c.mine(c.groups[given.ID])
		g.Template, g.Learned, g.Drift, g.Joined = given.Template, given.Learned, given.Drift, given.Joined
		c.learnTemplate(g)
		if reflect.DeepEqual(g.Template, old.Template) {
			g.Template = old.Template
		}
		if reflect.DeepEqual(g.Learned, old.Learned) {
			g.Learned = old.Learned
		}
	}
	if len(c.learn) == 0 {
		return
	}
	c.labelUnknown(c.described, func(g *Group, next *corev1.Node) {
		if old := c.last.Group(g.ID).Template; sameTemplate(next, old) {
			next = old
		}
		if next != g.Template {
			c.mine(g).Template = next
		}
	})
	for i, n := range c.Nodes {
		if n.Group == "" || !c.learn[n.Group] {
			continue
		}
		if awaits := c.awaits(n); !maps.EqualFunc(awaits, n.Awaits, func(a, b resource.Quantity) bool { return a.Equal(b) }) {
			if sameSlice(c.Nodes, c.last.Nodes) {
				c.Nodes = slices.Clone(c.Nodes)
			}
			own := *n
			own.Awaits = awaits
			c.Nodes[i] = &own
		}
	}
}

// described is the cloud's description of a group's next node.
func (c *changes) described(g *Group) *corev1.Node {
	for _, given := range c.given {
		if given.ID == g.ID {
			return g.Passing.without(given.Template)
		}
	}
	return g.Template
}

// sameIdentity says whether two views of a node tell the same of the machine that it is.
func sameIdentity(a, b *corev1.Node) bool {
	return a.Status.NodeInfo.SystemUUID == b.Status.NodeInfo.SystemUUID && a.Spec.ProviderID == b.Spec.ProviderID &&
		a.Labels[corev1.LabelHostname] == b.Labels[corev1.LabelHostname] && a.CreationTimestamp.Equal(&b.CreationTimestamp) &&
		a.Annotations[MachineAnnotation] == b.Annotations[MachineAnnotation] && slices.Equal(a.Status.Addresses, b.Status.Addresses)
}

// sameMake says whether two views of a node teach a group's template the same.
func sameMake(a, b *corev1.Node) bool {
	return Ready(a) == Ready(b) && a.CreationTimestamp.Equal(&b.CreationTimestamp) && maps.Equal(a.Labels, b.Labels) && reflect.DeepEqual(a.Spec.Taints, b.Spec.Taints) &&
		reflect.DeepEqual(a.Status.Capacity, b.Status.Capacity) && reflect.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
		a.Status.NodeInfo.OperatingSystem == b.Status.NodeInfo.OperatingSystem && a.Status.NodeInfo.Architecture == b.Status.NodeInfo.Architecture
}
