package guard

import (
	"time"

	"sluice.dev/sluice/cluster"
)

// What is asked of a node whose machine is gone and was never marked as leaving.
const (
	silentFor = time.Minute      // its kubelet
	listsLag  = 10 * time.Minute // a younger node may be younger than the list
)

// checkMark holds marks on nodes whose machines do not leave and that are not on their way out themselves, or are not theirs for certain.
func checkMark(w Mark, e Evidence) error {
	n := e.Newest.Node(w.Node)
	switch {
	case n == nil || n.Object.UID != w.UID:
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	case w.Parked && (n.Parked != w.Machine || !n.Rests()):
		return refuse("S-14", "machine %s of node %s is not switched off for sure, or a person has a hand in that node", w.Machine, w.Node)
	case w.Parked:
	case n.Instance == nil || n.Instance.Machine() != w.Machine:
		return refuse("S-12", "node %s is not for certain machine %s", w.Node, w.Machine)
	case n.Instance.State != cluster.StateDeleting && n.Marked != w.Machine:
		return refuse("S-14", "machine %s of node %s does not leave", w.Machine, w.Node)
	}
	return paused(n.Group, e)
}

// checkDeleteNode holds the Node object of any machine but the one confirmed gone: the machine that the node was marked with, or has the
// unique id of, is absent from a complete list read after the node was cordoned or fell silent, and no machine that is listed could be the
// node. As long as the kubelet reports, the cloud must have been seen to delete the machine: lists may lie, and agree.
func checkDeleteNode(w DeleteNode, e Evidence) error {
	n := e.Newest.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	}
	if n.Was() != w.Machine || w.Machine.UID == "" {
		return refuse("S-14", "nothing says that node %s was machine %s", w.Node, w.Machine)
	}
	if err := checkAttachments(w, e); err != nil {
		return err
	}
	if err := paused(w.Machine.Group, e); err != nil {
		return err
	}
	if err := checkSeen(w.Node, e); err != nil {
		return err
	}
	g := e.Newest.Group(w.Machine.Group)
	if err := checkWhole(w.Machine.Group, g); err != nil {
		return err
	}
	if n.Parked.UID != "" {
		return refuse("S-14", "machine %s is parked, and comes back as node %s", n.Parked, w.Node)
	}
	removal, on := cluster.RemovalOf(n.Object)
	resting := g.Parks && !g.HasDeparted(w.Machine.UID) && !n.Replaced() // for all that anybody knows: lists may lie
	switch silent := cluster.NotReadySince(n.Object).Time; {
	case on && resting && g.Hides(w.Machine.UID):
		return refuse("S-14", "nobody saw the machine of node %s leave, and group %s parks machines", w.Node, g.ID)
	case on && !g.Read.At.After(removal.Since):
		return refuse("S-14", "group %s has not been read since node %s was cordoned", g.ID, w.Node)
	case on && cluster.Speaks(n.Object) && !g.HasDeparted(w.Machine.UID):
		return refuse("S-14", "the kubelet of node %s reports, and nobody saw its machine leave", w.Node)
	case on && !resting:
	case !on && cluster.ControlPlane(n.Object):
		return refuse("S-17", "node %s is a control-plane node", w.Node)
	case cluster.Ready(n.Object):
		return refuse("S-14", "node %s is Ready, and was not cordoned for the removal of its machine", w.Node)
	case !resting && n.Marked.UID != "" && !g.Read.At.After(silent):
		return refuse("S-14", "group %s has not been read since node %s fell silent", g.ID, w.Node)
	case !resting && n.Marked.UID != "":
	case n.Replaced() && !g.Read.At.After(silent):
		return refuse("S-14", "group %s has not been read since node %s fell silent, whose name another machine has", g.ID, w.Node)
	case n.Replaced():
	case g.Read.At.Sub(silent) < silentFor || g.Read.At.Sub(n.Object.CreationTimestamp.Time) < listsLag:
		return refuse("S-14", "node %s has not been silent for %s, or is younger than %s, and nobody saw its machine leave", w.Node, silentFor, listsLag)
	case cluster.Speaks(n.Object) && !g.HasDeparted(w.Machine.UID):
		return refuse("S-14", "the kubelet of node %s reports that it is not Ready, and nobody saw its machine leave", w.Node)
	case resting && g.Read.At.Sub(e.Started) < listsLag:
		return refuse("S-14", "this process began less than %s ago, and does not know whether the machine of node %s is parked", listsLag, w.Node)
	default:
		for _, other := range e.Newest.Groups {
			if err := checkWhole(other.ID, other); err != nil {
				return err
			}
		}
	}
	for _, other := range e.Newest.Groups {
		for _, in := range other.Instances {
			if in.UID == w.Machine.UID || n.CouldBe(in) && !(n.Outlived() && in.Succeeds(n.Object)) {
				return refuse("S-14", "machine %s still exists and could be node %s", in.Machine(), w.Node)
			}
		}
	}
	return nil
}

// checkWhole holds what rests on the absence of a machine from a list that may lack some.
func checkWhole(id cluster.GroupID, g *cluster.Group) error {
	if g == nil || !g.Read.Complete || g.Problem != "" {
		return refuse("S-14", "group %s has not been read completely", id)
	}
	if g.Standing() < g.Capacity {
		return refuse("S-14", "group %s lists %d machines of its %d", g.ID, g.Standing(), g.Capacity)
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
