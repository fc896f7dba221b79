package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// Attachment names a VolumeAttachment for ever.
type Attachment struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// Attachments are the volumes that are attached to nodes, or are to be, by the nodes' names, in the order of their own.
func (s *Snapshot) Attachments() map[string][]Attachment {
	all := map[string][]Attachment{}
	for _, a := range s.Objects.VolumeAttachments {
		all[a.Spec.NodeName] = append(all[a.Spec.NodeName], Attachment{a.Name, a.UID})
	}
	return all
}

// Was is the machine that a node without one was, as far as it shows: the one that it was marked with, unless its unique id is another's,
// or the one of its group with its unique id, whose id within the group is not known then. The UID is "" when nothing tells.
func (n *Node) Was() Machine {
	uid := strings.ToLower(n.Object.Status.NodeInfo.SystemUUID)
	if n.Marked.UID != "" && (uid == "" || sameUID(n.Marked.UID, uid)) {
		return n.Marked
	}
	return Machine{Group: n.Group, UID: uid}
}

// MayDelete is why the object of a node without a machine may not be deleted; nil when it may: the machine that it was is gone for certain,
// as the ledger of machines has it, and no kubelet speaks for it.
func (n *Node) MayDelete(ledger *fleet.View) *fleet.Refusal {
	was := n.Was()
	if ledger == nil {
		return &fleet.Refusal{Property: "S-14", Code: reason.MachineNotGone, UID: fleet.UID(was.UID)} // nobody keeps one
	}
	r := ledger.MayDeleteNode(fleet.GroupID(was.Group), fleet.UID(was.UID), fleet.UID(Swapped(was.UID)))
	if r == nil && Speaks(n.Object) {
		return &fleet.Refusal{Property: "S-14", Code: reason.MachineLeaving, UID: fleet.UID(was.UID)}
	}
	return r
}

// Rests says whether the node's machine is parked for sure, and whether sluice may say so on the node: its kubelet is not Ready, and no
// person has a hand in it.
func (n *Node) Rests() bool {
	_, on := RemovalOf(n.Object)
	return n.Parked.UID != "" && !Ready(n.Object) && on == n.Object.Spec.Unschedulable && !Kept(n.Object) && (on || !ControlPlane(n.Object))
}

// Startable is the group with those of its parked machines passed over whose nodes a person has cordoned: they would take no pod.
func (s *Snapshot) Startable(g *Group) *Group {
	held := map[string]bool{}
	for _, n := range s.Nodes {
		if _, on := RemovalOf(n.Object); n.Parked.UID != "" && n.Parked.Group == g.ID && n.Object.Spec.Unschedulable && !on {
			held[n.Parked.UID] = true
		}
	}
	if len(held) == 0 {
		return g
	}
	out := *g
	out.Parked = slices.Clone(g.Parked)
	for i, in := range out.Parked {
		if held[in.UID] {
			passed := *in
			passed.Passed, out.Parked[i] = true, &passed
		}
	}
	return &out
}

// Replaced says that the node has outlived its machine, and that one of those which have yet to come has its name: there are no two of a
// name.
func (n *Node) Replaced() bool {
	return n.Outlived() && slices.ContainsFunc(n.Suspects, func(in *Instance) bool { return strings.EqualFold(in.ComputerName, n.Name()) })
}

// Outlived says that the machine that the node was, by its mark or its unique id, is none of those listed, and that all those which could
// be the node by their name or address are younger than it: they have yet to come.
func (n *Node) Outlived() bool {
	was := n.Was()
	if was.UID == "" || len(n.Suspects) == 0 {
		return false
	}
	for _, in := range n.Suspects {
		if sameUID(in.UID, was.UID) || !in.Succeeds(n.Object) {
			return false
		}
	}
	return true
}
