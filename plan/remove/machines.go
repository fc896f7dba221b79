package remove

import (
	"cmp"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// CleanUpMachines judges machines that have no node, and deletes those that failed to start or never joined, unless a node
// could be theirs (S-12) or the group would fall below its minimum.
func (d *Removal) CleanUpMachines() {
	for _, g := range d.Snapshot.Groups {
		st := d.groups[g.ID]
		for _, in := range st.Nodeless {
			d.judgeMachine(st, in)
		}
	}
}

func (d *Removal) judgeMachine(g *Outgoing, in *cluster.Instance) {
	about := reason.Instance(string(g.ID), string(in.ID))
	if taken := d.NameTaken(in); taken != nil {
		d.Judge(about, action.MachineHold, *taken)
		return
	}
	if n := d.Suspect(in); n != nil {
		d.Judge(about, action.MachineHold, reason.New(reason.MachineAmbiguous, about, "node", n.Name()))
		return
	}
	var why reason.Reason
	switch {
	case in.State == cluster.StateDeleting:
		return
	case g.Servers:
		d.Judge(about, action.MachineHold, d.Controlled(g.ID))
		return
	case in.State == cluster.StateStopped && !d.Overdue(g.GroupFacts, in):
		d.Judge(about, action.MachineHold, reason.New(reason.MachineStopped, about))
		return
	case in.State == cluster.StateFailed:
		f := cluster.Failure{Code: "Failed", Message: "the cloud gave no reason"}
		if in.Failure != nil {
			f = *in.Failure
		}
		why = reason.New(reason.MachineFailed, about, "code", f.Code, "message", f.Message)
	case d.Snapshot.Stray(in.ComputerName) != nil:
		p := d.Snapshot.Stray(in.ComputerName)
		d.Judge(about, action.MachineHold, reason.New(reason.MachineCarriesPods, about, "pod", p.String()))
		return
	case d.Overdue(g.GroupFacts, in):
		why = d.NeverJoined(about, in)
	case !d.Comes(g.GroupFacts, in):
		d.Judge(about, action.MachineHold, d.NeverJoined(about, in))
		return
	case d.growth.LateBy(g.Order, in) != nil:
		d.Judge(about, action.MachineComing, *d.growth.LateBy(g.Order, in))
		return
	default:
		d.Judge(about, action.MachineComing, reason.New(reason.MachineComing, about, "age", max(0, d.Now.Sub(in.Created)).Truncate(time.Second), "limit", d.Policy.Growth.Node.ProvisionTime))
		return
	}
	switch {
	case in.Protected:
		d.Judge(about, action.MachineHold, why, reason.New(reason.MachineProtected, about))
	case g.Paused != nil:
		d.Judge(about, action.MachineHold, why, *g.Paused)
	case g.BlockedRead() != nil:
		d.Judge(about, action.MachineHold, why, *g.BlockedRead())
	case d.Foreign(g.GroupFacts) != nil:
		d.Judge(about, action.MachineHold, why, *d.Foreign(g.GroupFacts))
	case d.rests(g) != nil:
		d.Judge(about, action.MachineHold, why, *d.rests(g))
	case d.growth.Inspected(g.Order, in) != nil:
		d.Judge(about, action.MachineHold, why, *d.growth.Inspected(g.Order, in))
	case d.Needed(g.GroupFacts, d.Nodeless(in), g.Contract.Leave, 1) != nil:
		d.Judge(about, action.MachineHold, why, *d.Needed(g.GroupFacts, d.Nodeless(in), g.Contract.Leave, 1))
	default:
		e := d.Nodeless(in)
		if r := e.May(g.Contract.Leave); r != nil {
			d.Judge(about, action.MachineHold, append([]reason.Reason{why}, d.HeldBy(about, g.GroupFacts, r)...)...)
			return
		}
		d.removes(g, e, action.Leaving{Machine: in.Machine(), Because: why})
		g.leaving++
		g.Contract.Ladder.Add(e.Verb, e.Target)
		d.Judge(about, action.MachineDeleting, why)
	}
}

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
			d.act(action.Mark{Node: n.Name(), UID: n.Object.UID, Machine: n.Parked, Parked: d.Now.Truncate(time.Second), Because: why})
			continue
		case incumbent && since.After(d.Leads()):
			continue // cluster-autoscaler runs beside, and ends what it has begun
		case incumbent:
			why = node.LeftByIncumbent(n, since)
		}
		d.act(action.Uncordon{Node: n.Name(), UID: n.Object.UID, Because: why})
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
	case kept != nil && kept.Code == reason.MachineLeaving:
		d.judgeNode(st, action.NodeGone, gone)
	case kept != nil:
		hold(unlisted)
	case d.Snapshot.Objects.Lacks.Has(cluster.DeleteNodes): // it is for the cloud controller to take away
		hold(gone, reason.New(reason.NodeObjectStays, about, "right", cluster.DeleteNodes))
	default:
		d.act(action.DeleteNode{Node: st.Name(), UID: st.Object.UID, Machine: was, Attachments: d.Attachments()[st.Name()], Because: gone})
		d.judgeNode(st, action.NodeGone, gone)
	}
}
