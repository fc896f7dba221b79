package remove

import (
	"cmp"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// machines are those without a node, and Node objects without a machine.
type machines struct {
	*node.View
	*orders
	nodes     *nodes
	traffic   *traffic
	growth    *grow.Growth
	deletions *deletions
}

// CleanUpMachines judges machines that have no node, and deletes those that failed to start or never joined, unless a node
// could be theirs (S-12) or the group would fall below its minimum.
func (mc *machines) CleanUpMachines() {
	for _, g := range mc.Snapshot.Groups {
		st := mc.nodes.groups[g.ID]
		for _, in := range st.Unregistered {
			mc.judgeMachine(st, in)
		}
	}
}

func (mc *machines) judgeMachine(g *Outgoing, in *cluster.Instance) {
	about := reason.Instance(string(g.ID), string(in.ID))
	if taken := mc.NameTaken(in); taken != nil {
		mc.Judge(about, action.MachineHold, *taken)
		return
	}
	if n := mc.Suspect(in); n != nil {
		mc.Judge(about, action.MachineHold, reason.New(reason.MachineAmbiguous, about, "node", n.Name()))
		return
	}
	var why reason.Reason
	switch {
	case in.State == cluster.StateDeleting:
		return
	case g.Servers:
		mc.Judge(about, action.MachineHold, mc.Controlled(g.ID))
		return
	case in.State == cluster.StateStopped && !mc.Overdue(g.GroupFacts, in):
		mc.Judge(about, action.MachineHold, reason.New(reason.MachineStopped, about))
		return
	case in.State == cluster.StateFailed:
		f := cluster.Failure{Code: "Failed", Message: "the cloud gave no reason"}
		if in.Failure != nil {
			f = *in.Failure
		}
		why = reason.New(reason.MachineFailed, about, "code", f.Code, "message", f.Message)
	case mc.Snapshot.Orphan(in.ComputerName) != nil:
		p := mc.Snapshot.Orphan(in.ComputerName)
		mc.Judge(about, action.MachineHold, reason.New(reason.MachineCarriesPods, about, "pod", p.String()))
		return
	case mc.Overdue(g.GroupFacts, in):
		why = mc.NeverJoined(about, in)
	case !mc.Comes(g.GroupFacts, in):
		mc.Judge(about, action.MachineHold, mc.NeverJoined(about, in))
		return
	case mc.growth.Late.LateBy(g.Order, in) != nil:
		mc.Judge(about, action.MachineComing, *mc.growth.Late.LateBy(g.Order, in))
		return
	default:
		mc.Judge(about, action.MachineComing, reason.New(reason.MachineComing, about, "age", max(0, mc.Now.Sub(in.Created)).Truncate(time.Second), "limit", mc.Policy.Growth.Node.ProvisionTime))
		return
	}
	switch {
	case in.Protected:
		mc.Judge(about, action.MachineHold, why, reason.New(reason.MachineProtected, about))
	case g.Paused != nil:
		mc.Judge(about, action.MachineHold, why, *g.Paused)
	case g.BlockedRead() != nil:
		mc.Judge(about, action.MachineHold, why, *g.BlockedRead())
	case mc.Foreign(g.GroupFacts) != nil:
		mc.Judge(about, action.MachineHold, why, *mc.Foreign(g.GroupFacts))
	case mc.deletions.rests(g) != nil:
		mc.Judge(about, action.MachineHold, why, *mc.deletions.rests(g))
	case mc.growth.Failures.Inspected(g.Order, in) != nil:
		mc.Judge(about, action.MachineHold, why, *mc.growth.Failures.Inspected(g.Order, in))
	case mc.Needed(g.GroupFacts, mc.Unregistered(in), g.Contract.Leave, 1) != nil:
		mc.Judge(about, action.MachineHold, why, *mc.Needed(g.GroupFacts, mc.Unregistered(in), g.Contract.Leave, 1))
	default:
		e := mc.Unregistered(in)
		if r := e.May(g.Contract.Leave); r != nil {
			mc.Judge(about, action.MachineHold, append([]reason.Reason{why}, mc.HeldBy(about, g.GroupFacts, r)...)...)
			return
		}
		mc.removes(g, e, action.Leaving{Machine: in.Machine(), Because: why})
		mc.traffic.lose(g, e)
		mc.Judge(about, action.MachineDeleting, why)
	}
}

// Mark has the marks written that are to be changed.
func (mc *machines) Mark() {
	for _, n := range mc.Memo.Marked {
		about := reason.Node(n.Name())
		why := reason.New(reason.NodeStays, about)
		switch since, incumbent := cluster.IncumbentSince(n.Object); {
		case mc.nodes.groups[n.Group].Paused != nil:
			continue
		case n.Parked.UID != "":
			why = reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)
			mc.act(action.Mark{Node: n.Name(), UID: n.Object.UID, Machine: n.Parked, Parked: mc.Now.Truncate(time.Second), Because: why})
			continue
		case incumbent && since.After(mc.Leads()):
			continue // cluster-autoscaler runs beside, and ends what it has begun
		case incumbent:
			why = node.LeftByIncumbent(n, since)
		}
		mc.act(action.Uncordon{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
}

// deleteNode deletes the Node object of a machine that is gone, with what it left behind (S-14). One that somebody has deleted already, and
// that finalizers hold, is there until they are gone.
func (mc *machines) deleteNode(st *candidate) {
	about, was := reason.Node(st.Name()), st.Was()
	unlisted := reason.New(reason.NodeMachineMissing, about, "group", was.Group)
	gone := reason.New(reason.NodeMachineGone, about, "instance", cmp.Or(string(was.ID), was.UID), "group", was.Group)
	hold := func(because ...reason.Reason) { mc.nodes.judge(st, action.NodeHold, because...) }
	g, held, kept := mc.nodes.groups[was.Group], node.Finalized(st.Node), st.MayDelete(mc.Fleet)
	switch {
	case held != "":
		hold(reason.New(reason.NodeFinalized, about, "age", node.Age(mc.Now, *st.Object.DeletionTimestamp), "finalizers", held))
	case g == nil:
		hold(unlisted)
	case g.Paused != nil:
		hold(unlisted, *g.Paused)
	case st.Controls && !st.Leaves: // nobody says that its vote in etcd went with its machine (S-17)
		hold(reason.New(reason.ControlPlaneGone, about, "group", g.ID))
	case kept != nil && kept.Code == reason.MachineLeaving:
		mc.nodes.judge(st, action.NodeGone, gone)
	case kept != nil:
		hold(unlisted)
	case mc.Snapshot.Objects.Lacks.Has(cluster.DeleteNodes): // it is for the cloud controller to take away
		hold(gone, reason.New(reason.NodeObjectStays, about, "right", cluster.DeleteNodes))
	default:
		mc.act(action.DeleteNode{Node: st.Name(), UID: st.Object.UID, Machine: was, Attachments: mc.Attachments()[st.Name()], Because: gone})
		mc.nodes.judge(st, action.NodeGone, gone)
	}
}
