package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
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

// Was is the machine that a node without one was, as far as it shows: the one that it was marked with, or the one of its group with its
// unique id, whose id within the group is not known then. The UID is "" when nothing tells.
func (n *Node) Was() Machine {
	if n.Marked.UID != "" {
		return n.Marked
	}
	return Machine{Group: n.Group, UID: strings.ToLower(n.Object.Status.NodeInfo.SystemUUID)}
}

// Rests says whether the node's machine is parked for sure, and whether sluice may say so on the node: its kubelet is not Ready, and no person has a hand in it.
func (n *Node) Rests() bool {
	_, on := RemovalOf(n.Object)
	return n.Parked.UID != "" && !Ready(n.Object) && on == n.Object.Spec.Unschedulable && !Kept(n.Object) && (on || !ControlPlane(n.Object))
}

// Replaced says that the node has outlived its machine, and that one of those which have yet to come has its name: there are no two of a name.
func (n *Node) Replaced() bool {
	return n.Outlived() && slices.ContainsFunc(n.Suspects, func(in *Instance) bool { return strings.EqualFold(in.ComputerName, n.Name()) })
}

// Outlived says that the machine that the node was, by its mark or its unique id, is none of those listed, and that all those which could be the node by
// their name or address are younger than it: they have yet to come.
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
