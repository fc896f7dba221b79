package remove

import (
	"cmp"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// Mark has the marks written that are to be changed.
func (d *Removal) Mark() {
	for _, n := range d.Memo.Marked {
		about := reason.Node(n.Name())
		why := reason.New(reason.NodeStays, about)
		switch since, incumbent := cluster.IncumbentSince(n.Object); {
		case d.groups[n.Group].Paused != nil:
			continue
		case n.Parked.UID != "":
			why = reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)
			d.Ladder = append(d.Ladder, action.Mark{Node: n.Name(), UID: n.Object.UID, Machine: n.Parked, Parked: d.Now.Truncate(time.Second), Because: why})
			continue
		case incumbent && since.After(d.Leads()):
			continue // cluster-autoscaler runs beside, and ends what it has begun
		case incumbent:
			why = node.LeftByIncumbent(n, since)
		}
		d.Ladder = append(d.Ladder, action.Uncordon{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
}

// bury deletes the Node object of a machine that is gone, with what it left behind (S-14). One that somebody has deleted already, and that finalizers
// hold, is there until they are gone.
func (d *Removal) bury(st *candidate) {
	about, was := reason.Node(st.Name()), st.Was()
	unlisted := reason.New(reason.NodeMachineMissing, about, "group", was.Group)
	gone := reason.New(reason.NodeMachineGone, about, "instance", cmp.Or(string(was.ID), was.UID), "group", was.Group)
	hold := func(because ...reason.Reason) { d.judgeNode(st, action.NodeHold, because...) }
	g, held, kept := d.groups[was.Group], node.Finalized(st.Node), st.MayDelete(d.Fleet)
	switch {
	case held != "":
		hold(reason.New(reason.NodeFinalized, about, "age", node.Age(d.Now, *st.Object.DeletionTimestamp), "finalizers", held))
	case g == nil:
		hold(unlisted)
	case g.Paused != nil:
		hold(unlisted, *g.Paused)
	case st.Controls && !st.OnLadder: // nobody says that its vote in etcd went with its machine (S-17)
		hold(reason.New(reason.ControlPlaneGone, about, "group", g.ID))
	case kept != nil && kept.Code == fleet.IsLeaving:
		d.judgeNode(st, action.NodeGone, gone)
	case kept != nil:
		hold(unlisted)
	case d.Snapshot.Objects.Lacks.Has(cluster.DeleteNodes): // it is for the cloud controller to take away
		hold(gone, reason.New(reason.NodeObjectStays, about, "right", cluster.DeleteNodes))
	default:
		d.Ladder = append(d.Ladder, action.DeleteNode{Node: st.Name(), UID: st.Object.UID, Machine: was, Attachments: d.Attachments()[st.Name()], Because: gone})
		d.judgeNode(st, action.NodeGone, gone)
	}
}
