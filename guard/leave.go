package guard

import (
	"cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// checkMark holds the cordon of a node whose machine is not parked for sure, or in which a person has a hand, and a takeover of a node that
// is not on its way out.
func checkMark(w Mark, e Evidence) error {
	n := e.Newest.Node(w.Node)
	about := reason.Node(w.Node)
	switch {
	case n == nil || n.Object.UID != w.UID:
		return refuse("S-14", reason.NodeReplaced, about)
	case w.Parked && (n.Parked != w.Machine || !n.Rests()):
		return refuse("S-14", reason.MachineNotOff, about)
	case w.Parked:
	case n.Instance == nil || n.Instance.Machine() != w.Machine || n.Marked != w.Machine:
		return refuse("S-12", reason.NodeMatchUnclear, about, "machine", w.Machine)
	}
	return paused(n.Group, e)
}

// checkDeleteNode holds the Node object of any machine but one that is gone for certain, as the ledger of machines has it, and that no
// machine in a list could be.
func checkDeleteNode(w DeleteNode, e Evidence) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", reason.NodeReplaced, about)
	}
	if n.Was() != w.Machine || w.Machine.UID == "" {
		return refuse("S-14", reason.NodeMatchUnclear, about, "machine", w.Machine)
	}
	if err := cmp.Or(checkAttachments(w, e), paused(w.Machine.Group, e), checkSeen(w.Node, e)); err != nil {
		return err
	}
	_, on := cluster.RemovalOf(n.Object)
	switch {
	case !on && cluster.ControlPlane(n.Object):
		return refuse("S-17", reason.NodeControlPlane, about)
	case e.Newest.Group(w.Machine.Group) == nil:
		return refuse("S-14", reason.NodeUnmanaged, about)
	case n.MayDelete(e.Fleet) != nil:
		return refuse("S-14", reason.MachineNotGone, about)
	}
	for _, g := range e.Newest.Groups {
		for _, in := range g.Instances {
			if in.UID == w.Machine.UID || n.CouldBe(in) && !(n.Outlived() && in.Succeeds(n.Object)) {
				return refuse("S-14", reason.MachineAmbiguous, instance(in), "node", w.Node)
			}
		}
	}
	return nil
}

// checkAttachments holds attachments of volumes to other nodes. One that is gone has nothing to be held.
func checkAttachments(w DeleteNode, e Evidence) error {
	for _, named := range w.Attachments {
		for _, a := range e.Newest.Objects.VolumeAttachments {
			if a.Name == named.Name && a.UID == named.UID && a.Spec.NodeName != w.Node {
				return refuse("S-37", reason.VolumeOfOtherNode, reason.Node(w.Node), "attachment", a.Name, "other", a.Spec.NodeName)
			}
		}
	}
	return nil
}
