package plan

import (
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// What is asked of a node whose machine is missing and was not seen to leave: its kubelet has been silent for so long, and it is older than
// the oldest list that a cloud may have handed out as new.
const (
	silentFor = time.Minute
	listsLag  = 10 * time.Minute
)

// marked notes of a node by its machine's state that the mark on it is to be changed: a machine that leaves by another hand than sluice's is
// named on its node, so that whoever leads once it is gone knows whose the node was, and one that stays after all is not. That of a machine which is
// parked is cordoned.
func marked(n *cluster.Node) (changed bool) {
	removal, on := cluster.RemovalOf(n.Object)
	_, incumbent := cluster.IncumbentSince(n.Object)
	switch {
	case n.Parked.UID != "":
		return n.Rests() && removal.Why != cluster.Parked
	case on || n.Instance == nil || cluster.ControlPlane(n.Object):
		return false
	}
	if n.Instance.State == cluster.StateDeleting {
		return n.Marked != n.Instance.Machine()
	}
	return n.Marked.UID != "" || incumbent
}

// mark has the marks written that are to be changed.
func (d *decision) mark() {
	for _, n := range d.planner.marked {
		about := reason.Node(n.Name())
		switch {
		case d.groups[n.Group].paused != nil:
			continue
		case n.Parked.UID != "":
			why := reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)
			d.ladder = append(d.ladder, Mark{n.Name(), n.Object.UID, n.Parked, d.now.Truncate(time.Second), why})
			continue
		}
		if n.Instance.State == cluster.StateDeleting {
			why := reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID, "fate", fate(d.parks(d.groups[n.Group], n)))
			d.ladder = append(d.ladder, Mark{Node: n.Name(), UID: n.Object.UID, Machine: n.Instance.Machine(), Because: why})
			continue
		}
		why := reason.New(reason.NodeStays, about)
		if since, incumbent := cluster.IncumbentSince(n.Object); incumbent && since.After(d.leads()) {
			continue // cluster-autoscaler runs beside, and ends what it has begun
		} else if incumbent {
			why = leftByIncumbent(n, since)
		}
		d.ladder = append(d.ladder, Uncordon{n.Name(), n.Object.UID, why})
	}
}

// bury deletes the Node object of a machine that is gone, with what it left behind (S-14). That it is gone is said by a complete list: one
// that was read after sluice cordoned the node for it, or after the kubelet fell silent of a machine that was seen to leave. A node whose
// machine nobody saw leave has to be silent; one that nobody cordoned, for a while besides, and older than any list that still passes for new, unless
// another machine has its name by now, and waits for it. One that somebody has deleted already, and that finalizers hold, is there until they are gone.
func (d *decision) bury(st *nodeState) {
	about, was := reason.Node(st.Name()), st.Was()
	if held := finalized(st.Node); held != "" {
		d.judgeNode(st, NodeHold, reason.New(reason.NodeFinalized, about, "age", age(d.now, *st.Object.DeletionTimestamp), "finalizers", held))
		return
	}
	unlisted := reason.New(reason.NodeMachineMissing, about, "group", was.Group)
	g := d.groups[was.Group]
	if g == nil {
		d.judgeNode(st, NodeHold, unlisted)
		return
	}
	if blocked := g.blockedRead(); blocked != nil {
		d.judgeNode(st, NodeHold, *blocked)
		return
	}
	if g.paused != nil {
		d.judgeNode(st, NodeHold, unlisted, *g.paused)
		return
	}
	if st.controls && !st.onLadder { // nobody says that its vote in etcd went with its machine (S-17)
		d.judgeNode(st, NodeHold, reason.New(reason.ControlPlaneGone, about, "group", g.ID))
		return
	}
	outcome, gone, whole := NodeGone, reason.New(reason.NodeMachineGone, about, "instance", was.ID, "group", g.ID), g.Standing() >= g.Capacity
	seen := !g.Parks || g.HasDeparted(was.UID) || st.Replaced() // else the machine may be switched off still, whatever lists say
	switch silent := cluster.NotReadySince(st.Object).Time; {
	case st.onLadder && seen:
		if whole = whole && g.Read.At.After(st.removal.Since); cluster.Speaks(st.Object) && !g.HasDeparted(was.UID) {
			outcome, gone, whole = NodeHold, unlisted, false // the lists lie, or its kubelet will fall silent
		}
	case st.Marked.UID != "" && seen:
		whole = whole && !st.ready && g.Read.At.After(silent)
	default:
		outcome, gone = NodeHold, unlisted
		due := silent.Add(silentFor)
		if old := st.Object.CreationTimestamp.Add(listsLag); old.After(due) {
			due = old
		}
		switch {
		case st.Replaced():
			due = silent.Add(time.Second)
		case !seen:
			due = later(due, d.m.Since.Add(listsLag))
			whole = whole && !g.Hides(was.UID)
		}
		d.wake(due)
		whole = whole && (!cluster.Speaks(st.Object) || !st.ready && g.HasDeparted(was.UID)) && was.UID != "" && !g.Read.At.Before(due) && d.allWhole()
	}
	switch {
	case whole && d.leftBehind(st.Node):
		d.judgeNode(st, NodeHold, gone, reason.New(reason.NodeObjectStays, about, "right", cluster.DeleteNodes))
		return
	case whole:
		outcome = NodeGone
		d.ladder = append(d.ladder, DeleteNode{st.Name(), st.Object.UID, was, d.attachments()[st.Name()], gone})
	}
	d.judgeNode(st, outcome, gone)
}

// finalized are the finalizers that hold the Node object although somebody has deleted it, in one word, "" for one that nobody has deleted.
func finalized(n *cluster.Node) string {
	if n.Object.DeletionTimestamp == nil {
		return ""
	}
	return strings.Join(n.Object.Finalizers, ", ")
}

// allWhole says whether every group's list is complete, so that a machine which is in none of them is in no group.
func (d *decision) allWhole() bool {
	for _, g := range d.groups {
		if g.blockedRead() != nil || g.Standing() < g.Capacity+g.adding {
			return false
		}
	}
	return true
}
