package cluster

import (
	"cmp"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// New joins one observation: nodes with machines and pods, groups with templates learned from their Ready nodes. It takes
// ownership of nothing: objects are shared, groups are copied. The order of groups does not matter; that of objects is theirs.
func New(at time.Time, objects Objects, groups []*Group) *Snapshot {
	s := &Snapshot{
		Time:    plain(at),
		Objects: objects,
		given:   groups,
		index:   make(map[string]int, len(objects.Nodes)),
		groups:  make(map[GroupID]*Group, len(groups)),
	}
	for _, o := range objects.Nodes {
		s.Nodes = append(s.Nodes, &Node{Object: o})
	}
	sort.Slice(s.Nodes, func(i, j int) bool { return s.Nodes[i].Name() < s.Nodes[j].Name() })
	for i, n := range s.Nodes {
		s.index[n.Name()] = i
	}
	s.assignPods()
	for _, g := range groups {
		own := *g
		own.Read.At, own.Failure = plain(g.Read.At), plainFailure(g.Failure)
		own.Instances, own.Parked = plainInstances(g.Instances), plainInstances(g.Parked)
		s.Groups = append(s.Groups, &own)
		s.groups[own.ID] = &own
	}
	sort.Slice(s.Groups, func(i, j int) bool { return s.Groups[i].ID < s.Groups[j].ID })
	s.joinMachines()
	s.embedded = embeddedIn(objects.Nodes)
	for _, g := range s.Groups {
		s.learnTemplate(g)
	}
	s.labelUnknown(func(g *Group) *corev1.Node { return g.Template }, func(g *Group, next *corev1.Node) { g.Template = next })
	s.awaitDevices()
	return s
}

// plain is t in UTC without a monotonic reading, so that a snapshot read back from paper compares and subtracts alike.
func plain(t time.Time) time.Time { return t.UTC().Round(0) }

// plainInstances are copies of machines, not joined to any node, sorted by ID; nil for none.
func plainInstances(all []*Instance) []*Instance {
	var out []*Instance
	for _, in := range all {
		copied := *in
		copied.Node, copied.Created, copied.Started, copied.Failure = "", plain(in.Created), plain(in.Started), plainFailure(in.Failure)
		copied.Diagnosis = plainDiagnosis(in.Diagnosis)
		out = append(out, &copied)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func plainFailure(f *Failure) *Failure {
	if f == nil {
		return nil
	}
	out := *f
	out.At = plain(f.At)
	return &out
}

func plainDiagnosis(d *Diagnosis) *Diagnosis {
	if d == nil {
		return nil
	}
	out := *d
	out.At = plain(d.At)
	return &out
}

// Bears says whether the node tells an id that is this machine's alone: the machine's unique id, or its provider id in any letter case.
func (i *Instance) Bears(n *corev1.Node) bool {
	return sameUID(i.UID, n.Status.NodeInfo.SystemUUID) || SameProviderID(i.ProviderID, n.Spec.ProviderID)
}

// named says whether the node has the machine's computer name.
func (i *Instance) named(n *corev1.Node) bool {
	return i.ComputerName != "" && (strings.EqualFold(i.ComputerName, n.Name) || strings.EqualFold(i.ComputerName, n.Labels[corev1.LabelHostname]))
}

// denies says that the node tells both ids, and both are those of another machine of the same cloud.
func (i *Instance) denies(n *corev1.Node) bool {
	uuid, id := n.Status.NodeInfo.SystemUUID, n.Spec.ProviderID
	return uuid != "" && i.UID != "" && !sameUID(i.UID, uuid) && sameScheme(i.ProviderID, id) && !SameProviderID(i.ProviderID, id)
}

// MayBe says whether the node could be this machine, as far as the two alone tell: by one of its ids, by its computer name or by a private
// address. Any one of them is enough (S-12), but for the address of a node that is older than the machine, or that tells the ids of another
// one: addresses are given out again, and twice in networks that are apart. A new machine takes over an old node by its name alone.
func (i *Instance) MayBe(n *corev1.Node) bool {
	if i.Bears(n) {
		return true
	}
	if i.named(n) {
		return true
	}
	if i.Succeeds(n) || i.denies(n) {
		return false
	}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		for _, ip := range i.PrivateIPs {
			if ip == a.Address {
				return true
			}
		}
	}
	return false
}

// CouldBe says whether the node could be the machine (S-12), which may be of a later read: [Instance.MayBe], unless only an address says
// so, and the ids that the node tells make it another machine.
func (n *Node) CouldBe(in *Instance) bool {
	if in.Bears(n.Object) || in.named(n.Object) {
		return true
	}
	other := n.Instance != nil && n.Instance.UID != in.UID && n.Instance.Bears(n.Object)
	return !other && in.MayBe(n.Object)
}

// Is says whether the node is this machine for certain: by its unique id where the node tells one.
func (i *Instance) Is(n *corev1.Node) bool {
	if uuid := n.Status.NodeInfo.SystemUUID; uuid != "" {
		return sameUID(i.UID, uuid)
	}
	return i.MayBe(n)
}

// Succeeds says that the node is of an earlier machine than this one, of the same name, id or address: it is older, and its unique id
// is another one. Such a node is no more than a suspect.
func (i *Instance) Succeeds(n *corev1.Node) bool {
	uuid := n.Status.NodeInfo.SystemUUID
	return uuid != "" && i.UID != "" && !sameUID(i.UID, uuid) && n.CreationTimestamp.Time.Before(i.Created.Add(-time.Minute))
}

// joinMachines gives every node the one machine that it could be. Names and addresses count only where no id tells: see [joins.suspects].
// Where a node could be several machines, or a machine several nodes, or the node is older than the machine, both stay apart: the node has
// Suspects and no Instance, and nothing is done to either. The node of a parked machine is no other machine's, whatever name or address it
// shares with one: it has neither.
func (s *Snapshot) joinMachines() {
	s.joins = newJoins(s)
	for _, n := range s.Nodes {
		if s.join(n); n.Instance != nil {
			n.Instance.Node = n.Name()
		}
	}
}

// join joins one node. What its machine says of it is left to the caller.
func (s *Snapshot) join(n *Node) {
	n.Marked, _ = ParseMachine(n.Object.Annotations[MachineAnnotation])
	n.Parked = s.joins.parkedAs(n.Object)
	n.Group, n.Instance, n.Suspects, n.Numbered = n.Parked.Group, nil, nil, false
	if n.Parked.UID == "" {
		n.Suspects = s.joins.suspects(n.Object)
	}
	if len(n.Suspects) == 0 {
		n.Group = cmp.Or(n.Marked.Group, n.Group, s.joins.missingAs(n.Object), s.joins.owner(n.Object.Spec.ProviderID))
		n.Numbered = n.Group == "" && s.joins.hostnames[numbered(n.Name())]
		return
	}
	n.Group = n.Suspects[0].Group
	if in := n.Suspects[0]; len(n.Suspects) == 1 && len(s.joins.claimants(in)) == 1 && !in.Succeeds(n.Object) {
		n.Instance, n.Suspects = in, nil
	}
}
