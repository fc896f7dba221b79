package plan

import (
	"cmp"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// marked notes of a node by its machine's state that the mark on it is to be changed: that of a machine which is parked is cordoned, and one that stays
// bears no mark of its removal by somebody else.
func marked(n *cluster.Node) (changed bool) {
	removal, on := cluster.RemovalOf(n.Object)
	_, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case n.Parked.UID != "":
		return n.Rests() && removal.Why != cluster.Parked
	case on || n.Instance == nil || cluster.ControlPlane(n.Object):
		return false
	}
	return n.Instance.State != cluster.StateDeleting && (n.Marked.UID != "" || incumbent)
}

// mark has the marks written that are to be changed.
func (d *removing) mark() {
	for _, n := range d.facts.marked {
		about := reason.Node(n.Name())
		why := reason.New(reason.NodeStays, about)
		switch since, incumbent := cluster.IncumbentSince(n.Object); {
		case d.groups[n.Group].paused != nil:
			continue
		case n.Parked.UID != "":
			why = reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)
			d.ladder = append(d.ladder, Mark{n.Name(), n.Object.UID, n.Parked, d.now.Truncate(time.Second), why})
			continue
		case incumbent && since.After(d.leads()):
			continue // cluster-autoscaler runs beside, and ends what it has begun
		case incumbent:
			why = leftByIncumbent(n, since)
		}
		d.ladder = append(d.ladder, Uncordon{n.Name(), n.Object.UID, why})
	}
}

// bury deletes the Node object of a machine that is gone, with what it left behind (S-14). One that somebody has deleted already, and that finalizers
// hold, is there until they are gone.
func (d *removing) bury(st *nodeState) {
	about, was := reason.Node(st.Name()), st.Was()
	unlisted := reason.New(reason.NodeMachineMissing, about, "group", was.Group)
	gone := reason.New(reason.NodeMachineGone, about, "instance", cmp.Or(string(was.ID), was.UID), "group", was.Group)
	hold := func(because ...reason.Reason) { d.judgeNode(st, NodeHold, because...) }
	g, held, kept := d.groups[was.Group], finalized(st.Node), st.MayDelete(d.fleet)
	switch {
	case held != "":
		hold(reason.New(reason.NodeFinalized, about, "age", age(d.now, *st.Object.DeletionTimestamp), "finalizers", held))
	case g == nil:
		hold(unlisted)
	case g.paused != nil:
		hold(unlisted, *g.paused)
	case st.controls && !st.onLadder: // nobody says that its vote in etcd went with its machine (S-17)
		hold(reason.New(reason.ControlPlaneGone, about, "group", g.ID))
	case kept != nil && kept.Code == fleet.IsLeaving:
		d.judgeNode(st, NodeGone, gone)
	case kept != nil:
		hold(unlisted)
	case d.s.Objects.Lacks.Has(cluster.DeleteNodes): // it is for the cloud controller to take away
		hold(gone, reason.New(reason.NodeObjectStays, about, "right", cluster.DeleteNodes))
	default:
		d.ladder = append(d.ladder, DeleteNode{st.Name(), st.Object.UID, was, d.attachments()[st.Name()], gone})
		d.judgeNode(st, NodeGone, gone)
	}
}

// departed says whether nothing but the Node object may be left of the node: its machine is gone, or on its way out and in no list. It counts as no node.
func (d *view) departed(n *cluster.Node) bool {
	if n.Instance != nil || n.Parked.UID != "" {
		return false
	}
	kept := n.MayDelete(d.fleet)
	return kept == nil || kept.Code == fleet.IsLeaving
}

// finalized are the finalizers that hold the Node object although somebody has deleted it, in one word, "" for one that nobody has deleted.
func finalized(n *cluster.Node) string {
	if n.Object.DeletionTimestamp == nil {
		return ""
	}
	return strings.Join(n.Object.Finalizers, ", ")
}
