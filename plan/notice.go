package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// expelledFor is how long after a kubelet fell silent places are kept for the pods of its announced machine. By then Kubernetes has deleted
// them itself, by its default tolerations of an unreachable node, and those that are made again wait for places of their own.
const expelledFor = 5 * time.Minute

// A disruption budget that holds a pod of a machine which stops soon is looked at again so often; otherwise in the next cycle that comes anyway.
const (
	stopsSoon = time.Minute
	asksAgain = time.Second
)

// demandPlaces puts the pods that are expelled behind those that wait.
func (d *placing) demandPlaces() {
	more := d.expelled()
	if len(more) == 0 {
		return
	}
	of := map[*cluster.Class]*demand{}
	for _, dm := range d.demands {
		if dm.judged {
			of[dm.of] = dm
		}
	}
	first := len(d.waiting)
	d.waiting, d.driven = slices.Concat(d.waiting, more), len(more)
	for i, p := range more {
		d.podVerdicts = append(d.podVerdicts, Verdict{Subject: reason.Pod(p.Namespace, p.Name)})
		dm := of[p.Class]
		if dm == nil {
			dm = &demand{of: p.Class, eldest: first + i, judged: true}
			of[p.Class] = dm
			d.demands = append(d.demands, dm)
		}
		dm.pods = append(dm.pods, first+i)
	}
}

// expelled are the pods that leave machines about which the cloud has announced that they stop: they want another place, though they run
// still, since a disruption budget may keep them where they are until they have one. Pods that the policy keeps are not among them: they may
// end in time. Where the pods were is pretended to be free of them.
func (d *placing) expelled() []*cluster.Pod {
	var all []*cluster.Pod
	for _, n := range d.facts.noticed {
		if notice, stands := cluster.NoticeOf(n.Object); !stands || !notice.Stops() {
			continue
		}
		if !cluster.Ready(n.Object) {
			due := cluster.NotReadySince(n.Object).Add(expelledFor)
			if !d.now.Before(due) {
				continue
			}
			d.wake(due)
		}
		leaves := func(p *cluster.Pod) bool {
			if p.Daemon() || p.Leaving() || d.allowed.Expendable(p) {
				return false
			}
			_, keeps := d.allowed.Keeps(p, d.where(n), d.now)
			return !keeps
		}
		before := len(all)
		for _, p := range n.Pods {
			if leaves(p) {
				all = append(all, p)
			}
		}
		if len(all) > before {
			d.check.Remove(n.Name())
			d.check.Add(n.Object, slices.DeleteFunc(slices.Clone(n.Pods), leaves)...)
		}
	}
	return all
}

// heedNotices has pods leave machines about which the cloud has announced that they stop, in time and as disruption budgets let them, and answers the
// agents there: load balancers leave the node out, and once nothing is on it that has to be waited for the cloud may go on. What somebody keeps
// from changing is heeded all the same, since the machine stops anyway.
func (d *removing) heedNotices() {
	for _, n := range d.facts.noticed {
		answer, answered := cluster.AnswerOf(n.Object)
		if !cluster.Noticed(n.Object) {
			d.ladder = append(d.ladder, AnswerNotice{Node: n.Name(), UID: n.Object.UID, Because: reason.New(reason.NodeStays, reason.Node(n.Name()))})
		}
		if notice, stops := stopping(n); stops {
			becomes := cluster.NoticeAnswer{ID: notice.ID, Empty: !d.expel(n, notice)}
			if !answered || answer != becomes {
				d.ladder = append(d.ladder, AnswerNotice{n.Name(), n.Object.UID, becomes.ID, becomes.Empty, d.allowed.Removal.Exclusion > 0, noticed(n)})
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
func (d *removing) expel(n *cluster.Node, notice cluster.Notice) (occupied bool) {
	for _, p := range n.Pods {
		if d.allowed.StopsWith(p, d.where(n), d.now) || p.Finished() {
			continue
		}
		if occupied = true; p.Leaving() {
			continue
		}
		if _, works := d.allowed.WorksOn(p, d.where(n), d.now, notice.Deadline); works {
			d.wake(d.allowed.LastCall(p, notice.Deadline))
			continue
		}
		if d.budgetRefuses(p) != nil {
			if notice.Deadline.Sub(d.now) < stopsSoon {
				d.wake(d.now.Add(asksAgain))
			}
			continue
		}
		d.disrupt(p)
		d.m.Emptied = with(d.m.Emptied, n.Name(), Emptied{n.Group, d.now})
		d.ladder = append(d.ladder, Evict{p.Namespace, p.Name, p.UID, n.Name(), d.allowed.GraceBefore(p, d.now, notice.Deadline), notice.ID, noticed(n)})
	}
	return occupied
}

// noticed is what the cloud has announced to the node's machine.
func noticed(n *cluster.Node) reason.Reason {
	notice, _ := cluster.NoticeOf(n.Object)
	if !notice.Stops() && notice.Kind != "Freeze" {
		return reason.New(reason.NodeNoticeUnclear, reason.Node(n.Name()), "annotation", cluster.NoticeAnnotation)
	}
	at := "now"
	if !notice.Deadline.IsZero() {
		at = notice.Deadline.Format(time.RFC3339)
	}
	return reason.New(reason.NodeNoticed, reason.Node(n.Name()), "kind", notice.Kind, "at", at)
}
