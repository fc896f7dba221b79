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
//
// Here nothing is drained: a machine without a node is judged by its state and by time, a Node object by the ledger of machines.
type machines struct {
	*node.View
	*orders
	nodes     *nodes
	traffic   *traffic
	growth    *grow.Growth
	deletions *deletions
}

// CleanUpMachines judges machines that have no node, and deletes those that failed to start or never joined. It deletes none that a node
// could be (S-12), and none that its group's min needs.
//
// It runs before nodes are judged, and counts what it deletes: a group's min and budgets then let fewer nodes go.
func (mc *machines) CleanUpMachines() {
	for _, g := range mc.Snapshot.Groups {
		st := mc.nodes.groups[g.ID]
		for _, in := range st.Unregistered {
			mc.judgeMachine(st, in)
		}
	}
}

// judgeMachine says what a machine without a node is, and has it deleted when nothing keeps it. The first row that holds decides:
//
//	evidence                                told                  then
//	an earlier machine's node has its name  MachineNameTaken      held: K3s lets no second machine of a name join (scenario name-reused-k3s)
//	a node could be this machine            MachineAmbiguous      held: work may run on it (S-12, node-ambiguous)
//	it is being deleted                     nothing               its group counts it
//	its group is one of servers             GroupControlPlane     held: an etcd member may have no node (S-17, k3s-servers)
//	switched off                            MachineStopped        held: a person did it (machine-stopped)
//	Azure calls it failed                   MachineFailed         may go
//	a pod is bound to a node of its name    MachineCarriesPods    held: the Node object was deleted, the pod may run (node-object-deleted)
//	it has had its time                     MachineNeverJoined    may go; MachineLost if it was a node
//	it was a node, and has time left        MachineLost           held: its kubelet may register again (node-object-deleted-pods-wait);
//	                                                              of many lost, pods count on it (node-objects-deleted-all)
//	it takes three times the longest boot   MachineLate           coming: its pods ask other groups (late-next-group)
//	none of these                           MachineComing         coming
//
// A switched-off spot machine that Azure took away has a time to join as others have, and may go after it: it takes up the room of one
// that runs (scenario spot-taken-before-it-joined).
//
// A machine that may go is kept by the first of these, which is told beside what it is:
//
//	kept by                           since
//	its protection in Azure           a person wants to look into it (scenario machine-failed-protected)
//	a pause of its group              a person wants it
//	a read that is missing or wrong   the list may be
//	another cluster                   the machine may work there (S-22, machines-of-another-cluster)
//	its group's deletions             one is under way, or the last one failed
//	inspection                        it is the last of several that never joined (S-35, breaker-opens)
//	its group's min                   never-joins-at-min; --force-delete-unregistered-nodes lifts it (never-joins-forced)
//	the safety contract               many were lost together (S-43), or the budget is spent (S-19)
//
// What the machine's boot log shows comes last, and changes nothing (scenario never-joins-token).
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
	judge := func(outcome action.Outcome, because ...reason.Reason) {
		mc.Judge(about, outcome, append(because, node.Diagnosed(about, in)...)...)
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
		// Azure does not always say why a machine failed.
		f := cluster.Failure{Code: "Failed", Message: "the cloud gave no reason"}
		if in.Failure != nil {
			f = *in.Failure
		}
		why = reason.New(reason.MachineFailed, about, "code", f.Code, "message", f.Message)
	case mc.Snapshot.Orphan(in.ComputerName) != nil:
		p := mc.Snapshot.Orphan(in.ComputerName)
		held := mc.lost(about, g, in)
		mc.Judge(about, action.MachineHold, append([]reason.Reason{reason.New(reason.MachineCarriesPods, about, "pod", p.String())}, held...)...)
		return
	case mc.Overdue(g.GroupFacts, in):
		why = mc.NeverJoined(about, in)
		mc.lost(about, g, in) // the group says so, also while a pause or something else below keeps the machine
	case mc.Lost(in):
		held := mc.lost(about, g, in)
		why = mc.NeverJoined(about, in)
		if len(held) > 0 { // then they say when it goes: its time as a machine that never joined ends earlier
			why = reason.New(reason.MachineLost, about, "age", mc.Waited(in))
		}
		judge(action.MachineHold, append([]reason.Reason{why}, held...)...)
		return
	case !mc.Comes(g.GroupFacts, in):
		judge(action.MachineHold, mc.NeverJoined(about, in))
		return
	case mc.growth.Late.LateBy(g.Order, in) != nil:
		judge(action.MachineComing, *mc.growth.Late.LateBy(g.Order, in))
		return
	default:
		judge(action.MachineComing, reason.New(reason.MachineComing, about, "age", max(0, mc.Now.Sub(in.Created)).Truncate(time.Second), "limit", mc.Policy.Growth.Node.ProvisionTime))
		return
	}
	switch {
	case in.Protected:
		judge(action.MachineHold, why, reason.New(reason.MachineProtected, about))
	case g.Paused != nil:
		judge(action.MachineHold, why, *g.Paused)
	case g.BlockedRead() != nil:
		judge(action.MachineHold, why, *g.BlockedRead())
	case mc.Foreign(g.GroupFacts) != nil:
		judge(action.MachineHold, why, *mc.Foreign(g.GroupFacts))
	case mc.deletions.rests(g) != nil:
		judge(action.MachineHold, why, *mc.deletions.rests(g))
	case mc.growth.Failures.Inspected(g.Order, in) != nil:
		judge(action.MachineHold, why, *mc.growth.Failures.Inspected(g.Order, in))
	case mc.Needed(g.GroupFacts, mc.Unregistered(in), g.Contract.Leave, 1) != nil:
		judge(action.MachineHold, why, *mc.Needed(g.GroupFacts, mc.Unregistered(in), g.Contract.Leave, 1))
	default:
		e := mc.Unregistered(in)
		if r := e.May(g.Contract.Leave); r != nil {
			judge(action.MachineHold, append([]reason.Reason{why}, mc.HeldBy(about, g.GroupFacts, r)...)...)
			return
		}
		mc.removes(g, e, action.Leaving{Machine: in.Machine(), Because: why})
		mc.traffic.lose(g, e)
		judge(action.MachineDeleting, why)
	}
}

// lost says of a machine that was a node, in the cycle that sees it, what the safety contract holds for it and for its group; nothing of one
// that was none, or that a person acknowledged. Else a loss of many is silence until their time is over.
func (mc *machines) lost(about reason.Ref, g *Outgoing, in *cluster.Instance) []reason.Reason {
	if !mc.Lost(in) {
		return nil
	}
	if mc.Comes(g.GroupFacts, in) {
		g.lost++
	}
	r := mc.Unregistered(in).May(g.Contract.Leave)
	if r == nil || !node.IsLoss(r.Code) {
		return nil
	}
	return mc.HeldBy(about, g.GroupFacts, r)
}

// Mark has the marks written that are to be changed.
//
//	evidence, the first that holds               does            why
//	the group is paused                          nothing         a person wants it left alone
//	the machine is parked                        taints it       no pod is to wait there; the Node object stays (scenario k3s-parked)
//	cluster-autoscaler tainted it since we lead  nothing         it runs beside sluice and ends what it began (switch-over-both-lead)
//	cluster-autoscaler tainted it before         gives it back   nobody would end that removal (switch-over-left-half-way)
//	only the mark of a removal is left           takes it off    the machine stays
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
//
//	evidence, the first that holds                    verdict  why it is not deleted
//	somebody deleted it, and finalizers hold it       hold     K3s removes the node's password first (scenario k3s-finalizer-waits)
//	its group is not managed                          hold     nobody reads which machines it has
//	its group is paused                               hold
//	it was control plane, not tainted by sluice       hold     its member of etcd may remain (control-plane-machine-removed)
//	its machine leaves, or its kubelet reports        gone     S-14: both have to be over
//	its machine is not gone for certain               hold     a list may be wrong (lists-lie-while-leaving)
//	the right to delete nodes is missing              hold     the cloud controller deletes it (rights-of-the-incumbent)
//	none of these                                     gone     it is deleted, by UID
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
