package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Learned is what a node of a group turned out to be. It outlives the group's last node.
type Learned struct {
	Node *corev1.Node `json:"node"`           // as [Group.Template] has it
	Size string       `json:"size,omitempty"` // that the group had then: a group of another size has nothing to learn from it
	Of   types.UID    `json:"of,omitempty"`   // the Node object
	// Doubts are taints that one node bore on which somebody may have put them: it was old when it was first seen, or the taint came
	// later. They are taken for the group's while that node is there, and for good when another one bears them.
	Doubts []Doubt `json:"doubts,omitempty"`
}

// Doubt is a taint and the one node that is known to have borne it.
type Doubt struct {
	Taint corev1.Taint `json:"taint"`
	Of    types.UID    `json:"of"`
}

// Lessons are what nodes have taught of each group. They are never changed: [Lessons.Keep] makes new ones.
type Lessons map[GroupID]*Learned

// Keep is what was known with what a snapshot has learned of its groups. A group that is not there now may come back.
func (l Lessons) Keep(groups []*Group) Lessons {
	own := false
	for _, g := range groups {
		if g.Learned == nil || l[g.ID] == g.Learned {
			continue
		}
		if !own {
			l, own = maps.Clone(l), true
			if l == nil {
				l = Lessons{}
			}
		}
		l[g.ID] = g.Learned
	}
	return l
}

// devicesWithin is how long a node has for its device plugins to announce what the machine carries, such as GPUs. A node that
// has not announced it by then does not have it.
const devicesWithin = 15 * time.Minute

// arrivesWithin is how long a node has for the taints that its group's nodes have from the start: kubelet registers with them, or a controller
// sets them when it sees the node. What comes later, somebody has put on this one node, and the group's next machine will not bear it.
const arrivesWithin = 5 * time.Minute

// learnTemplate replaces the cloud's idea of the group's next node by what a node of the group really is: the oldest Ready one of
// the group's size, so that the answer does not change as nodes come and go, or the last one that there was. What differs is the group's Drift.
//
// It gives the same answer when it is asked again of a group that has learned already, as replay does.
func (s *Snapshot) learnTemplate(g *Group) {
	g.Template = g.Passing.without(g.Template)
	offered := g.Template
	if best := s.exemplar(g); best != nil {
		g.Learned = g.Learned.from(best, g, s.Time.Sub(best.CreationTimestamp.Time) > arrivesWithin)
	} else if l := g.Learned; l != nil && l.Node != nil && offered != nil && !s.hasNodes(g) {
		g.Learned = l.sure(offered.Spec.Taints)
	}
	if g.Learned == nil || g.Learned.Node == nil || g.Learned.Size != g.Size {
		g.Learned = nil
		return
	}
	next := g.Passing.without(g.Learned.Node).DeepCopy()
	if offered != nil { // machines of one group may go to several zones: the cloud knows where the next one goes
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		for k, v := range offered.Labels {
			if strings.HasSuffix(k, "/zone") {
				next.Labels[k] = v
			}
		}
		if d := drift(offered, next); len(d) > 0 {
			g.Drift = d
		}
	}
	g.Template = next
}

// from is what a Ready node of the group teaches after what was known before, which may be nil. The node is late when it has been there for
// longer than its group's taints take to arrive.
func (l *Learned) from(n *corev1.Node, g *Group, late bool) *Learned {
	now := &Learned{Node: templateOf(n, g.Passing), Size: g.Size, Of: n.UID}
	var before []corev1.Taint // those that were believed
	again := false            // the node is the one that was learned from last
	if l != nil && l.Node != nil {
		before, again = l.Node.Spec.Taints, l.Of == n.UID
		now.Doubts = slices.Clone(l.Doubts)
	}
	if taints := &now.Node.Spec.Taints; again && late {
		*taints = slices.DeleteFunc(*taints, func(t corev1.Taint) bool { return !slices.ContainsFunc(before, same(t)) })
	}
	now.Doubts = slices.DeleteFunc(now.Doubts, func(d Doubt) bool {
		return d.Of != n.UID && slices.ContainsFunc(now.Node.Spec.Taints, same(d.Taint)) // two nodes bore it
	})
	for _, t := range now.Node.Spec.Taints {
		known := slices.ContainsFunc(before, same(t)) || l != nil && slices.ContainsFunc(l.Doubts, of(t))
		if !known && (again || late) {
			now.Doubts = append(now.Doubts, Doubt{t, n.UID})
		}
	}
	return now
}

// sure is what is left when the group has no node: without the taints that are in doubt, but for those that the cloud describes.
func (l *Learned) sure(described []corev1.Taint) *Learned {
	doubtful := func(t corev1.Taint) bool {
		return slices.ContainsFunc(l.Doubts, of(t)) && !slices.ContainsFunc(described, same(t))
	}
	if !slices.ContainsFunc(l.Node.Spec.Taints, doubtful) {
		return l
	}
	own := *l
	own.Node = l.Node.DeepCopy()
	own.Node.Spec.Taints = slices.DeleteFunc(own.Node.Spec.Taints, doubtful)
	return &own
}

// of finds the doubt about a taint.
func of(t corev1.Taint) func(Doubt) bool {
	return func(d Doubt) bool { return same(t)(d.Taint) }
}

// hasNodes says whether a machine of the group is a node.
func (s *Snapshot) hasNodes(g *Group) bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.Group == g.ID && n.Instance != nil })
}

// exemplar is the node that a group's template is learned from, nil when there is none. A machine of a size that the group had before
// teaches nothing, nor does a young node that has not announced its devices yet; and an older one that lost them does only when no
// other has them.
func (s *Snapshot) exemplar(g *Group) *corev1.Node {
	var best, bare *corev1.Node
	whole := len(lacking(&corev1.Node{}, g.Template)) == 0 // there is nothing that a node could lack
	for _, n := range s.Nodes {
		if n.Group != g.ID || whole && best != nil && !n.Object.CreationTimestamp.Before(&best.CreationTimestamp) {
			continue
		}
		if n.Instance == nil || !Ready(n.Object) || !n.Instance.sized(g) {
			continue
		}
		into := &best
		if len(lacking(n.Object, g.Template)) > 0 {
			if s.Time.Sub(n.Object.CreationTimestamp.Time) < devicesWithin {
				s.turnsAt(n.Object.CreationTimestamp.Add(devicesWithin))
				continue
			}
			into = &bare
		}
		if *into == nil || n.Object.CreationTimestamp.Before(&(*into).CreationTimestamp) {
			*into = n.Object
		}
	}
	return cmp.Or(best, bare)
}

// sized says whether the machine is of the size that the group's next one will have, as far as the cloud says.
func (i *Instance) sized(g *Group) bool {
	return i.Size == "" || g.Size == "" || strings.EqualFold(i.Size, g.Size)
}

// awaitDevices finds the nodes of a group that are too young to have announced their devices.
func (s *Snapshot) awaitDevices() {
	for _, n := range s.Nodes {
		n.Awaits = s.awaits(n)
	}
}

// awaits are the devices that the node has yet to announce; nil when there are none.
func (s *Snapshot) awaits(n *Node) corev1.ResourceList {
	g := s.groups[n.Group]
	if g == nil || n.Instance == nil || !n.Instance.sized(g) || s.Time.Sub(n.Object.CreationTimestamp.Time) >= devicesWithin {
		return nil
	}
	list := lacking(n.Object, g.Template)
	if list != nil {
		s.turnsAt(n.Object.CreationTimestamp.Add(devicesWithin))
	}
	return list
}

// turnsAt notes that time alone changes something then.
func (s *Snapshot) turnsAt(t time.Time) {
	if s.turns.IsZero() || t.Before(s.turns) {
		s.turns = t
	}
}

// lacking are the extended resources that a node such as the template has and this one does not show; nil when there are none.
func lacking(n, template *corev1.Node) corev1.ResourceList {
	var list corev1.ResourceList
	if template == nil {
		return nil
	}
	for name, q := range template.Status.Allocatable {
		if !extended(name) || q.IsZero() {
			continue
		}
		if have, ok := n.Status.Allocatable[name]; ok && !have.IsZero() {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = q
	}
	return list
}

// extended says whether a device plugin announces the resource: its name has a domain that is not Kubernetes' own.
func extended(name corev1.ResourceName) bool {
	domain, _, found := strings.Cut(string(name), "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// templateOf is the node without what is its own.
func templateOf(n *corev1.Node, passing Taints) *corev1.Node {
	t := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(n.Labels)},
		Status: corev1.NodeStatus{
			Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable,
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: n.Status.NodeInfo.OperatingSystem, Architecture: n.Status.NodeInfo.Architecture},
		},
	}
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for _, k := range hostLabels {
		delete(t.Labels, k)
	}
	if lasting := passing.Lasting(n.Spec.Taints); len(lasting) > 0 {
		t.Spec.Taints = lasting
	}
	return t
}
