package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// A disruption budget that holds a pod of a machine which stops soon is looked at again so often; otherwise in the next cycle that comes
// anyway.
const (
	stopsSoon = time.Minute
	asksAgain = time.Second
)

// notices are what the cloud has announced to machines.
type notices struct {
	*node.View
	*orders
}

// Heed has pods leave machines about which the cloud has announced that they stop, in time and as disruption budgets let them, and answers
// the agents there: load balancers leave the node out, and once nothing is on it that has to be waited for the cloud may go on. What
// somebody keeps from changing is heeded all the same, since the machine stops anyway.
//
//	on the node                                     does
//	an answer, and no notice                        takes the answer back (scenario agent-notice-withdrawn)
//	a notice that stops the machine                 evicts what may go, and answers whenever the answer becomes another one
//	the same, and the kubelet is silent             nothing
//	the same, and the machine is off already        nothing: the notice has come true (evicted-full-group-agents)
//	a notice that stops nothing, or is no agent's   nothing: who has a node's token can write one (notice-unclear)
//
// The answer goes to the agent on the node by an annotation. Only the agent agrees to the notice in Azure.
func (nt *notices) Heed() {
	for _, n := range nt.Memo.Noticed {
		answer, answered := cluster.AnswerOf(n.Object)
		if !cluster.Noticed(n.Object) {
			nt.act(action.AnswerNotice{Node: n.Name(), UID: n.Object.UID, Because: reason.New(reason.NodeStays, reason.Node(n.Name()))})
		}
		if notice, stops := stopping(n); stops {
			// Pods are evicted in each cycle, although the answer stays the same while some are left.
			becomes := cluster.NoticeAnswer{ID: notice.ID, Empty: !nt.expel(n, notice)}
			if !answered || answer != becomes {
				nt.act(action.AnswerNotice{Node: n.Name(), UID: n.Object.UID, Notice: becomes.ID, Empty: becomes.Empty, Exclude: nt.Policy.Removal.Delay.Exclusion > 0, Because: node.Noticed(n)})
			}
		}
	}
}

// stopping is the notice that stands on a node whose machine is to stop and has not yet, false when none does: pods there leave for it.
func stopping(n *cluster.Node) (cluster.Notice, bool) {
	notice, _ := cluster.NoticeOf(n.Object)
	return notice, notice.ID != "" && notice.Stops() && !cluster.Silent(n.Object) && !n.CameTrue()
}

// expel evicts the pods of the node whose time has come, and says whether there are any that have to be waited for.
//
// The budget of emptied nodes (S-19) does not hold these evictions, since Azure stops the machine anyway; they count in it. Each pod:
//
//	pod                                       does                                                     occupied
//	would stop with the machine, or is over   nothing: evicted, it would return (pod-returns-noticed)  no
//	told to end already                       waits for it                                             yes
//	the policy keeps it                       waits until its grace and a little are left, then        yes
//	                                          evicts it (agent-work-goes-on)
//	a disruption budget holds it              waits, and looks each second in the last minute          yes
//	any other                                 evicts it, with a grace that ends before the deadline    yes
//
// A notice that has begun has the zero deadline: then only budgets and pods that are ending are waited for.
func (nt *notices) expel(n *cluster.Node, notice cluster.Notice) (occupied bool) {
	for _, p := range n.Pods {
		if nt.Policy.StopsWith(p, nt.Where(n), nt.Now) || p.Finished() {
			continue
		}
		if occupied = true; p.Leaving() {
			continue
		}
		if _, works := nt.Policy.WorksOn(p, nt.Where(n), nt.Now, notice.Deadline); works {
			nt.Wake(nt.Policy.LastCall(p, notice.Deadline))
			continue
		}
		if nt.BudgetRefuses(p) != nil {
			if notice.Deadline.Sub(nt.Now) < stopsSoon {
				nt.Wake(nt.Now.Add(asksAgain))
			}
			continue
		}
		nt.Disrupt(p)
		// The node that these pods go to is not emptied next: see evictions.received.
		nt.Memory.Emptied = memory.With(nt.Memory.Emptied, n.Name(), memory.Emptied{Group: n.Group, At: nt.Now})
		nt.act(action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name(), Grace: nt.Policy.GraceBefore(p, nt.Now, notice.Deadline), Notice: notice.ID, Because: node.Noticed(n)})
	}
	return occupied
}
