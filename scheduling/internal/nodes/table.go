package nodes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/scheduling/internal/plugins"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Table is all nodes, real and pretended. A node that leaves keeps its row until what made it is taken back.
//
// Every resource that the table has met has a column, so what was numbered by [Table.Amounts] can be looked up at once.
type Table struct {
	dims   *resources.Dimensions
	rows   []row
	byName map[string]Handle // of those that are present
	order  []Handle          // of the snapshot's nodes, by name
	free   free
	views  views
	offers []resources.Amount // memory for [Table.Allocatable]
	served []resources.Dimension
}

// NewTable makes a table with room for so many nodes.
func NewTable(nodes int) *Table {
	return &Table{
		dims: resources.NewDimensions(), rows: make([]row, 0, nodes), byName: make(map[string]Handle, nodes),
		views: views{lenses: map[string]*Lens{}, taintKinds: map[string]int32{}, featureKinds: map[string]int32{}},
	}
}

// Serve says which resources devices serve on nodes that have none of them allocatable: such a node has plenty left of it, since its
// devices are counted elsewhere. It is to be called before nodes are there.
func (t *Table) Serve(names []corev1.ResourceName) {
	for _, name := range names {
		if d := t.Dimension(name); d != resources.NotCounted {
			t.served = append(t.served, d)
		}
	}
}

// Served says whether one of the needs is for a resource that devices serve on some nodes.
func (t *Table) Served(needs []resources.Need) bool {
	return len(t.served) > 0 && slices.ContainsFunc(needs, func(n resources.Need) bool {
		return n.Asked > 0 && slices.Contains(t.served, n.Dim)
	})
}

// Known is how much the table has to remember.
func (t *Table) Known() int { return len(t.rows) + len(t.views.taintKinds) + len(t.views.featureKinds) }

// Resources.

// Amounts appends what a list says of resources that kube-scheduler counts, without zeros and in no order.
func (t *Table) Amounts(to []resources.Amount, list corev1.ResourceList) []resources.Amount {
	to = t.dims.Append(to, list)
	t.widen()
	return to
}

// Dimension is the resource's number.
func (t *Table) Dimension(name corev1.ResourceName) resources.Dimension {
	d := t.dims.Number(name)
	t.widen()
	return d
}

// widen makes a column for each resource that was met since the last time.
func (t *Table) widen() {
	if len(t.free.left) < len(t.dims.Names()) {
		t.free.reach(len(t.rows), len(t.dims.Names()))
	}
}

// Resources are the resources by dimension. The slice must not be changed; later ones may be longer.
func (t *Table) Resources() []corev1.ResourceName { return t.dims.Names() }

// Allocatable is what the node has to give. It holds until it is asked for again.
func (t *Table) Allocatable(h Handle) []resources.Amount {
	if of := t.rows[h].template; of != nil {
		return of.allocatable
	}
	t.offers = t.Amounts(t.offers[:0], t.rows[h].node.Status.Allocatable)
	return t.offers
}

// Left is what the node has free of one resource. Of one that devices serve there it is more than a pod can ask for.
func (t *Table) Left(d resources.Dimension, h Handle) int64 { return t.free.left[d][h] }

// Free is what the node has left, by dimension as in [Table.Left]. The slice belongs to the caller.
func (t *Table) Free(h Handle) []int64 {
	out := make([]int64, len(t.free.left))
	for d := range out {
		out[d] = t.free.left[d][h]
	}
	return out
}

// Take gives n times what is held of these needs to pods, or takes it back when n is negative.
func (t *Table) Take(h Handle, needs []resources.Need, n int32) {
	for i := range needs {
		d := needs[i].Dim
		t.free.set(d, h, t.free.left[d][h]-needs[i].Held*int64(n))
	}
}

// Lacks says whether the node does not have what is asked for.
func (t *Table) Lacks(h Handle, needs []resources.Need) bool {
	for i := range needs {
		if n := &needs[i]; n.Exceeds(t.free.left[n.Dim][h]) {
			return true
		}
	}
	return false
}

// Full says that no node of the block of this one has what is asked for. It says so only where [Table.Lacks] does for each of them.
func (t *Table) Full(h Handle, needs []resources.Need) bool {
	return t.free.full(needs, Block(h), len(t.rows))
}

// Nodes.

// Template prepares a node object and the pods that every machine like it will carry. The object must be such as [Future] makes them
// but for its name, and is shared. Keys tell the classes of the pods apart, in the order of the pods.
func (t *Table) Template(node *corev1.Node, pods []Entry, keys []string) *Template {
	next := Future(node, "")
	return &Template{
		node: next, pods: slices.Clip(pods), allocatable: t.Amounts(nil, node.Status.Allocatable),
		taints: t.views.taintKind(next), features: t.views.featureKind(next), contents: plugins.Encoded(next) + strings.Join(keys, ""),
	}
}

// Node makes a row for a node object and its pods, which [Table.Enter] then brings to life.
func (t *Table) Node(node *corev1.Node, pods []Entry) Handle {
	return t.add(row{name: node.Name, node: node, pods: pods})
}

// Machine makes a row for a machine such as the template says. It copies nothing: the node object is made when somebody asks for it.
func (t *Table) Machine(name string, of *Template) Handle {
	return t.add(row{name: name, template: of, pods: of.pods})
}

// add makes a row, whose node is absent.
func (t *Table) add(r row) Handle {
	h := Handle(len(t.rows))
	t.rows = append(t.rows, r)
	t.free.reach(len(t.rows), len(t.dims.Names()))
	t.views.see(h, &t.rows[h])
	return h
}

// Drop gives up the last row, whose node has left.
func (t *Table) Drop() {
	last := len(t.rows) - 1
	t.rows[last] = row{}
	t.rows = t.rows[:last]
}

// Enter makes a node present that has all of its allocatable left.
func (t *Table) Enter(h Handle) {
	r := &t.rows[h]
	r.present = true
	t.byName[r.name] = h
	all := t.Allocatable(h)
	for d := range t.free.left {
		t.free.set(resources.Dimension(d), h, 0)
	}
	for _, d := range t.served {
		t.free.set(d, h, resources.Plenty)
	}
	for _, a := range all {
		t.free.set(a.Dim, h, a.N)
	}
}

// Leave makes a node absent.
func (t *Table) Leave(h Handle) {
	t.rows[h].present = false
	delete(t.byName, t.rows[h].name)
	t.free.set(resources.Pods, h, NoRoom)
}

// Replace gives the node another object. It is absent meanwhile.
func (t *Table) Replace(h Handle, node *corev1.Node) {
	t.rows[h].become(node)
	t.views.see(h, &t.rows[h])
}

// Order says which nodes are those of the snapshot, in the order of their names.
func (t *Table) Order(all []Handle) { t.order = all }

// Ordered are the snapshot's nodes.
func (t *Table) Ordered() []Handle { return t.order }

// Handles are all nodes that are present, in the order of their names. The slice belongs to the caller.
func (t *Table) Handles() []Handle {
	own := make([]bool, len(t.rows))
	all := make([]Handle, 0, len(t.byName))
	for _, h := range t.order {
		own[h] = true
		if t.rows[h].present {
			all = append(all, h)
		}
	}
	ordered := len(all)
	for h := range t.rows {
		if !own[h] && t.rows[h].present {
			all = append(all, Handle(h))
		}
	}
	if len(all) > ordered {
		slices.SortFunc(all, func(a, b Handle) int { return strings.Compare(t.rows[a].name, t.rows[b].name) })
	}
	return all
}

// Handle is the handle of the node of that name; false when it is not present.
func (t *Table) Handle(name string) (Handle, bool) {
	h, ok := t.byName[name]
	return h, ok
}

// Size is beyond all handles of nodes that are present.
func (t *Table) Size() int { return len(t.rows) }

// Present says whether the node is there.
func (t *Table) Present(h Handle) bool { return t.rows[h].present }

// Name is the node's name.
func (t *Table) Name(h Handle) string { return t.rows[h].name }

// Object is the node's object, which is made for a machine that was opened.
func (t *Table) Object(h Handle) *corev1.Node { return t.rows[h].object() }

// Like is what a machine was opened like, nil for a node.
func (t *Table) Like(h Handle) *Template { return t.rows[h].template }

// Pods.

// Pods are the pods on the node. They are never changed below the length of the slice.
func (t *Table) Pods(h Handle) []Entry { return t.rows[h].pods }

// SetPods has other pods on the node. A longer version of the slice must not be in use: what is added is written behind its end.
func (t *Table) SetPods(h Handle, pods []Entry) { t.rows[h].pods = pods }

// AddPods has more pods on the node, behind the others.
func (t *Table) AddPods(h Handle, e Entry) { t.rows[h].pods = append(t.rows[h].pods, e) }

// DropPods takes the last pods off the node.
func (t *Table) DropPods(h Handle) {
	r := &t.rows[h]
	r.pods = r.pods[:len(r.pods)-1]
}

// How nodes look.

// Topology is the shared record of a label. It covers nodes that join later.
func (t *Table) Topology(key string) *Topology { return t.views.topology(key, t.rows) }

// Lens is the shared record of what reads these labels, which are sorted, and the node's name if so.
func (t *Table) Lens(keys []string, name bool) *Lens { return t.views.lens(keys, name) }

// Look is the node's kind as the lens shows it: a small number.
func (t *Table) Look(l *Lens, h Handle) int32 { return l.look(h, &t.rows[h]) }

// Taints is the kind of the node's taints and its cordon: a small number.
func (t *Table) Taints(h Handle) int32 { return t.views.taints[h] }

// Features is the kind of the features that the node's kubelet declares: a small number, below 0 for those that nobody knows.
func (t *Table) Features(h Handle) int32 { return t.views.features[h] }
