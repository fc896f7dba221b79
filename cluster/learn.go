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
	Born time.Time    `json:"born,omitzero"`  // when that was made: an older node has nothing to teach
	Late bool         `json:"late,omitempty"` // it had had the time in which what its group's nodes bear arrives
	Zone string       `json:"zone,omitempty"` // in which the cloud's description had it: what a label of the node says may be something else
	// Unconfirmed are taints that one node bore on which somebody may have put them: it was old when it was first seen, or the taint came
	// later. They are taken for the group's while that node bears them, and for good when another one does.
	Unconfirmed []UnconfirmedTaint `json:"doubts,omitempty"`
	// Waits is since when the node has borne startup taints from its start: when it was made, or when it was first seen, if there was no time
	// left for them then. It is zero once the node has been seen without any: those that come back say nothing of a new node. Stuck are those
	// that nobody took off in the time that there is for that. They are taken for the group's while that node is there, and for triedAgain
	// besides.
	Waits time.Time      `json:"waits,omitzero"`
	Stuck []corev1.Taint `json:"stuck,omitempty"`
	// Reported is what the cloud was last told of the group, Renewed what of it has changed since the machine was made that taught, sorted by
	// [Group.Reported]'s keys, and Changed when that was last seen. In these things the node teaches nothing: the cloud's description is
	// younger.
	Reported map[string]string `json:"told,omitzero"`
	Renewed  []string          `json:"renewed,omitempty"`
	Changed  time.Time         `json:"changed,omitzero"`
	// Bare is a younger node that never announced devices which this one has. A second one shows that new machines have none.
	Bare types.UID `json:"bare,omitempty"`
}

// UnconfirmedTaint is a taint and the one node that is known to have borne it.
type UnconfirmedTaint struct {
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

// arrivesWithin is how long a node has for the taints that its group's nodes have from the start: kubelet registers with them, or a
// controller sets them when it sees the node. What comes later, somebody has put on this one node, and the group's next machine will not
// bear it.
const arrivesWithin = 5 * time.Minute

// StartupWithin is how long a new node has until its startup taints are gone, if nobody says otherwise: see [Group.Patience]. Another
// machine is tried, although the last one kept such a taint and has gone, triedAgain later: who takes them off may do so again.
const (
	StartupWithin = 15 * time.Minute
	triedAgain    = time.Hour
)

// learnTemplate replaces the cloud's idea of the group's next node by what a node of the group really is: the youngest Ready one that there
// has been of the group's size. Older ones are of what the group was: believed beside it, or again once it has gone, they would have one
// machine after the other bought for a pod that no new one takes (S-34). What differs is the group's Drift.
//
// It gives the same answer when it is asked again of a group that has learned already, as replay does.
func (s *Snapshot) learnTemplate(g *Group) {
	g.Joined = g.Joined || g.Learned != nil || slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.Group == g.ID && (n.Instance != nil || n.Parked.UID != "") })
	g.ControlPlane = s.controls(g)
	g.Template = g.Passing.without(g.Template)
	offered := g.Template
	best, bare := s.exemplar(g)
	if g.Learned != nil {
		g.Learned = g.Learned.merge(g, s.Time)
	}
	switch l := g.Learned; {
	case best != nil && (l == nil || l.Node == nil || l.Size != g.Size || l.Of == best.Object.UID || !best.Object.CreationTimestamp.Time.Before(l.Born)):
		g.Learned = s.teach(best, bare, g)
	case l != nil && l.Node != nil && offered != nil:
		g.Learned = l.sure(offered.Spec.Taints, s.bears)
	}
	if g.Learned == nil || g.Learned.Node == nil || g.Learned.Size != g.Size {
		g.Learned = nil
		return
	}
	next := g.Passing.without(g.Learned.Node).DeepCopy()
	if offered != nil {
		offered = s.asLabelled(g, offered, g.Learned.Node.Labels)
		g.Learned.zone(next, offered)
		g.Learned.believe(next, offered)
		if d := drift(offered, next); len(d) > 0 {
			g.Drift = d
		}
	}
	if len(g.Learned.Stuck) > 0 && !slices.Contains(g.Learned.Renewed, AboutModel) { // after the drift: no description should speak of what somebody takes off
		until := g.Learned.Waits.Add(g.patience() + triedAgain)
		if s.has(g.Learned.Of) || s.Time.Before(until) {
			next.Spec.Taints = append(next.Spec.Taints, g.Learned.Stuck...)
			s.turnsAt(until)
		}
	}
	g.Template = next
}

// controls is what says that the group's machines are of the control plane: see [Group.ControlPlane].
func (s *Snapshot) controls(g *Group) Role {
	is := func(n *corev1.Node) bool { return n != nil && ControlPlane(n) }
	switch {
	case is(g.Template) || g.Learned != nil && is(g.Learned.Node) || slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.Group == g.ID && is(n.Object) }):
		return RoleOfNode
	case g.Own != "" && slices.ContainsFunc(g.Instances, func(in *Instance) bool { return in.UID == g.Own && in.Node == "" }):
		return RoleOfOwn
	case g.SignsIn && s.servers():
		return RoleOfIdentity
	}
	return ""
}

// servers says whether sluice's identity tells servers from others: some groups have it, some have not, and none that has it has or had a
// worker. An identity that everything has proves nothing.
func (s *Snapshot) servers() bool {
	all := true
	for _, g := range s.Groups {
		all = all && g.SignsIn
		if g.SignsIn && g.Learned != nil && g.Learned.Node != nil && !ControlPlane(g.Learned.Node) {
			return false
		}
	}
	return !all && !slices.ContainsFunc(s.Nodes, func(n *Node) bool {
		g := s.groups[n.Group]
		return g != nil && g.SignsIn && !ControlPlane(n.Object)
	})
}

// zone gives the group's next node the labels that say its zone: as the cloud describes them, where the node that taught bore what the
// cloud says of its machine's zone, and else as that node had them. Machines of one group may go to several zones: the cloud knows where
// the next one goes. A driver's label may yet come to a node that is young, unlike that of Kubernetes itself: a taint stands on the node
// until it has that.
func (l *Learned) zone(next, offered *corev1.Node) {
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	where := offered.Labels[corev1.LabelTopologyZone]
	for k, v := range offered.Labels {
		if !strings.HasSuffix(k, "/zone") {
			continue
		}
		promised := v
		if v == where {
			promised = l.Zone
		}
		switch bore, has := l.Node.Labels[k]; {
		case l.Zone == "" || bore == promised:
			next.Labels[k] = v
		case has: // another value, and the node has it
		case l.Late || k == corev1.LabelTopologyZone:
			delete(next.Labels, k)
		default:
			next.Labels[k] = v
		}
	}
}

// patience is how long the group's new nodes have until their startup taints are gone.
func (g *Group) patience() time.Duration { return cmp.Or(g.Patience, StartupWithin) }

// teach is what the youngest Ready node of the group teaches after what was known before. Bare is the youngest one that has not announced
// devices which that one has, nil for none.
func (s *Snapshot) teach(best, bare *Node, g *Group) *Learned {
	l, n := g.Learned, best.Object
	if bare != nil && n.CreationTimestamp.Before(&bare.Object.CreationTimestamp) {
		if l != nil && l.Bare != "" && l.Bare != bare.Object.UID {
			best, bare, n = bare, nil, bare.Object
		}
	} else {
		bare = nil
	}
	age := s.Time.Sub(n.CreationTimestamp.Time)
	now := l.from(n, g, age > arrivesWithin, func(t corev1.Taint) bool { return s.lacks(t, g, best) })
	if now.Zone = g.promised(best.Instance); l != nil && l.Of == n.UID && l.Zone != "" {
		now.Zone = l.Zone // the description may be what was learned already
	}
	if l != nil && l.Bare != "" && !n.CreationTimestamp.Time.After(l.Born) {
		now.Bare = l.Bare
	}
	if bare != nil {
		now.Bare = bare.Object.UID
	}
	now.after(l, g, best)
	if now.Late = age > arrivesWithin; !now.Late {
		s.turnsAt(n.CreationTimestamp.Add(arrivesWithin + 1))
	}
	awaited := g.Passing.Awaited(n.Spec.Taints)
	switch {
	case len(awaited) == 0:
		return now
	case l != nil && l.Of == n.UID:
		now.Waits = l.Waits
	case age >= g.patience():
		now.Waits = s.Time
	default:
		now.Waits = n.CreationTimestamp.Time
	}
	switch over := now.Waits.Add(g.patience()); {
	case now.Waits.IsZero():
	case s.Time.Before(over):
		s.turnsAt(over)
	default:
		now.Stuck = awaited
	}
	return now
}

// promised is the zone in which the cloud's description has the machine, "" when nobody knows: the machine's own where that is one of the
// zones that the description speaks of, and else the one that it speaks of.
func (g *Group) promised(in *Instance) string {
	if g.Template == nil {
		return ""
	}
	where := g.Template.Labels[corev1.LabelTopologyZone]
	if slices.Contains(g.Zones, in.Zone) || g.Spans() && in.Zone == "" {
		return in.Zone
	}
	return where
}

// lacks says whether another Ready node of the group does not bear the taint.
func (s *Snapshot) lacks(t corev1.Taint, g *Group, than *Node) bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool {
		return n != than && n.Group == g.ID && n.Instance != nil && n.Instance.sized(g) && Ready(n.Object) && !slices.ContainsFunc(n.Object.Spec.Taints, same(t))
	})
}

// from is what a Ready node of the group teaches after what was known before, which may be nil. The node is late when it has been there for
// longer than its group's taints take to arrive. A taint that others lack may be somebody's word on this node alone.
func (l *Learned) from(n *corev1.Node, g *Group, late bool, othersLack func(corev1.Taint) bool) *Learned {
	now := &Learned{Node: templateOf(n, g.Passing), Size: g.Size, Of: n.UID, Born: n.CreationTimestamp.Time}
	var before []corev1.Taint // those that were believed
	again := false            // the node is the one that was learned from last
	if l != nil && l.Node != nil {
		before, again = l.Node.Spec.Taints, l.Of == n.UID
		now.Unconfirmed = slices.Clone(l.Unconfirmed)
	}
	if taints := &now.Node.Spec.Taints; again && late {
		*taints = slices.DeleteFunc(*taints, func(t corev1.Taint) bool { return !slices.ContainsFunc(before, same(t)) })
	}
	now.Unconfirmed = slices.DeleteFunc(now.Unconfirmed, func(d UnconfirmedTaint) bool {
		return d.Of != n.UID && slices.ContainsFunc(now.Node.Spec.Taints, same(d.Taint)) // two nodes bore it
	})
	for _, t := range now.Node.Spec.Taints {
		known := slices.ContainsFunc(before, same(t)) || l != nil && slices.ContainsFunc(l.Unconfirmed, of(t))
		if !known && (again || late || othersLack(t)) {
			now.Unconfirmed = append(now.Unconfirmed, UnconfirmedTaint{t, n.UID})
		}
	}
	return now
}

// sure is what is left when the node that taught has gone, or is not Ready and does not bear all that it did: without the taints that are
// in doubt and that it bears no more, but for those that the cloud describes.
func (l *Learned) sure(described []corev1.Taint, bears func(UnconfirmedTaint) bool) *Learned {
	doubtful := func(t corev1.Taint) bool {
		i := slices.IndexFunc(l.Unconfirmed, of(t))
		return i >= 0 && !slices.ContainsFunc(described, same(t)) && !bears(l.Unconfirmed[i])
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
func of(t corev1.Taint) func(UnconfirmedTaint) bool {
	return func(d UnconfirmedTaint) bool { return same(t)(d.Taint) }
}

// has says whether a machine is that node.
func (s *Snapshot) has(node types.UID) bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool { return n.Object.UID == node && n.Instance != nil })
}

// bears says whether the node of a doubt is there and bears the taint.
func (s *Snapshot) bears(d UnconfirmedTaint) bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool {
		return n.Object.UID == d.Of && n.Instance != nil && slices.ContainsFunc(n.Object.Spec.Taints, same(d.Taint))
	})
}

// exemplar is the node that a group's template is learned from, the youngest of all, nil when there is none. A machine of a size that the
// group had before teaches nothing, nor does a young node that has not announced its devices yet. The youngest of the older ones that lack
// them is bare: it is the exemplar when no other has them.
func (s *Snapshot) exemplar(g *Group) (best, bare *Node) {
	whole := len(lacking(&corev1.Node{}, g.Template)) == 0 // there is nothing that a node could lack
	for _, n := range s.Nodes {
		if n.Group != g.ID || whole && best != nil && !best.Object.CreationTimestamp.Before(&n.Object.CreationTimestamp) {
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
		if *into == nil || (*into).Object.CreationTimestamp.Before(&n.Object.CreationTimestamp) {
			*into = n
		}
	}
	if best == nil {
		best, bare = bare, nil
	}
	return best, bare
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
			Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable, DeclaredFeatures: n.Status.DeclaredFeatures,
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
