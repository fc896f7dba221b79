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
func (nt *notices) Heed() {
	for _, n := range nt.Memo.Noticed {
		answer, answered := cluster.AnswerOf(n.Object)
		if !cluster.Noticed(n.Object) {
			nt.act(action.AnswerNotice{Node: n.Name(), UID: n.Object.UID, Because: reason.New(reason.NodeStays, reason.Node(n.Name()))})
		}
		if notice, stops := stopping(n); stops {
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
		nt.Memory.Emptied = memory.With(nt.Memory.Emptied, n.Name(), memory.Emptied{Group: n.Group, At: nt.Now})
		nt.act(action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name(), Grace: nt.Policy.GraceBefore(p, nt.Now, notice.Deadline), Notice: notice.ID, Because: node.Noticed(n)})
	}
	return occupied
}
