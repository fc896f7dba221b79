package plan

import (
	"slices"
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
// named on its node, so that whoever leads once it is gone knows whose the node was, and one that stays after all is not.
func marked(n *cluster.Node) (changed bool) {
	if _, on := cluster.RemovalOf(n.Object); on || n.Instance == nil || cluster.ControlPlane(n.Object) {
		return false
	}
	if n.Instance.State == cluster.StateDeleting {
		return n.Marked != n.Instance.Machine()
	}
	return n.Marked.UID != ""
}

// mark has the marks written that are to be changed.
func (d *decision) mark() {
	for _, n := range d.planner.marked {
		about := reason.Node(n.Name())
		if d.groups[n.Group].paused != nil {
			continue
		}
		if n.Instance.State == cluster.StateDeleting {
			why := reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID, "fate", d.groups[n.Group].fate())
			d.ladder = append(d.ladder, Mark{n.Name(), n.Object.UID, n.Instance.Machine(), why})
			continue
		}
		d.ladder = append(d.ladder, Uncordon{n.Name(), n.Object.UID, reason.New(reason.NodeStays, about)})
	}
}

// bury deletes the Node object of a machine that is gone, with what it left behind (S-14). That it is gone is said by a complete list: one
// that was read after sluice cordoned the node for it, or after the kubelet fell silent of a machine that was seen to leave. A node whose
// machine nobody saw leave has to be silent; one that nobody cordoned, for a while besides, and older than any list that still passes for new.
func (d *decision) bury(st *nodeState) {
	about, was := reason.Node(st.Name()), st.Was()
	missing := reason.New(reason.NodeMachineMissing, about, "group", was.Group)
	g := d.groups[was.Group]
	if g == nil {
		d.judgeNode(st, NodeHold, missing)
		return
	}
	if blocked := g.blockedRead(); blocked != nil {
		d.judgeNode(st, NodeHold, *blocked)
		return
	}
	if g.paused != nil {
		d.judgeNode(st, NodeHold, missing, *g.paused)
		return
	}
	if st.controls && !st.onLadder { // nobody says that its vote in etcd went with its machine (S-17)
		d.judgeNode(st, NodeHold, reason.New(reason.ControlPlaneGone, about, "group", g.ID))
		return
	}
	outcome, gone, whole := NodeGone, reason.New(reason.NodeMachineGone, about, "instance", was.ID, "group", g.ID), g.Standing() >= g.Capacity
	switch silent := cluster.NotReadySince(st.Object).Time; {
	case slices.ContainsFunc(g.Parked, func(in *cluster.Instance) bool { return in.ID == was.ID && in.UID == was.UID }):
		gone = reason.New(reason.NodeMachineParked, about, "instance", was.ID)
		whole = whole && st.onLadder && !st.ready && g.Read.At.After(st.removal.Since) && g.adding == 0 // a growth may start it
		if due := d.m.Since.Add(listsLag); d.m.Since.After(silent) && !g.HasDeparted(was.UID) && g.Read.At.Before(due) {
			whole = false // the process before this one may have started it
			d.wake(due)
		}
		doubted := d.m.Groups[g.ID].Doubted
		if due := doubted.Add(listsLag); doubted.After(silent) && g.Read.At.Before(due) {
			whole = false // a growth may have started it of which no answer tells
			d.wake(due)
		}
	case st.onLadder:
		if whole = whole && g.Read.At.After(st.removal.Since); cluster.Speaks(st.Object) && !g.HasDeparted(was.UID) {
			outcome, gone, whole = NodeHold, missing, false // the lists lie, or its kubelet will fall silent
		}
	case st.Marked.UID != "":
		whole = whole && !st.ready && g.Read.At.After(silent)
	default:
		outcome, gone = NodeHold, missing
		due := silent.Add(silentFor)
		if old := st.Object.CreationTimestamp.Add(listsLag); old.After(due) {
			due = old
		}
		grew := later(d.m.Groups[g.ID].Requested, d.m.Groups[g.ID].Doubted)
		if d.m.Since.After(grew) {
			grew = d.m.Since // the process before this one may have grown the group
		}
		if g.Parks && grew.After(silent) && !g.HasDeparted(was.UID) { // which may have started the machine
			if again := grew.Add(listsLag); again.After(due) {
				due = again
			}
		}
		d.wake(due)
		whole = whole && (!cluster.Speaks(st.Object) || !st.ready && g.HasDeparted(was.UID)) && was.UID != "" && !g.Read.At.Before(due) && d.allWhole()
	}
	if whole {
		outcome = NodeGone
		d.ladder = append(d.ladder, DeleteNode{st.Name(), st.Object.UID, was, d.attachments()[st.Name()], gone})
	}
	d.judgeNode(st, outcome, gone)
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
