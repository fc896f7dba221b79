package guard

import (
	"cmp"

	"sluice.dev/sluice/cluster"
)

// checkMark holds the cordon of a node whose machine is not parked for sure, or in which a person has a hand, and a takeover of a node that is not on its way out.
func checkMark(w Mark, e Evidence) error {
	n := e.Newest.Node(w.Node)
	switch {
	case n == nil || n.Object.UID != w.UID:
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	case w.Parked && (n.Parked != w.Machine || !n.Rests()):
		return refuse("S-14", "machine %s of node %s is not switched off for sure, or a person has a hand in that node", w.Machine, w.Node)
	case w.Parked:
	case n.Instance == nil || n.Instance.Machine() != w.Machine || n.Marked != w.Machine:
		return refuse("S-12", "node %s is not on its way out as machine %s", w.Node, w.Machine)
	}
	return paused(n.Group, e)
}

// checkDeleteNode holds the Node object of any machine but one that is gone for certain, as the ledger of machines has it, and that no machine in a list could be.
func checkDeleteNode(w DeleteNode, e Evidence) error {
	n := e.Newest.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	}
	if n.Was() != w.Machine || w.Machine.UID == "" {
		return refuse("S-14", "nothing says that node %s was machine %s", w.Node, w.Machine)
	}
	if err := cmp.Or(checkAttachments(w, e), paused(w.Machine.Group, e), checkSeen(w.Node, e)); err != nil {
		return err
	}
	_, on := cluster.RemovalOf(n.Object)
	switch {
	case !on && cluster.ControlPlane(n.Object):
		return refuse("S-17", "node %s is a control-plane node", w.Node)
	case e.Newest.Group(w.Machine.Group) == nil:
		return refuse("S-14", "group %s of node %s is not managed", w.Machine.Group, w.Node)
	case n.MayDelete(e.Fleet) != nil:
		return refuse("S-14", "machine %s of node %s is not gone for certain", w.Machine, w.Node)
	}
	for _, g := range e.Newest.Groups {
		for _, in := range g.Instances {
			if in.UID == w.Machine.UID || n.CouldBe(in) && !(n.Outlived() && in.Succeeds(n.Object)) {
				return refuse("S-14", "machine %s still exists and could be node %s", in.Machine(), w.Node)
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
				return refuse("S-37", "volume attachment %s is to node %s, not to %s", a.Name, a.Spec.NodeName, w.Node)
			}
		}
	}
	return nil
}
