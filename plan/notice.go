package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// expelledFor is how long after a kubelet fell silent places are kept for the pods of its announced machine. By then Kubernetes has deleted
// them itself, by its default tolerations of an unreachable node, and those that are made again wait for places of their own.
const expelledFor = 5 * time.Minute

// demandPlaces puts the pods that are expelled behind those that wait.
func (d *decision) demandPlaces() {
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
		dm.pods, dm.told = append(dm.pods, first+i), nil // the queue knows nothing of it
		dm.many++
	}
}

// expelled are the pods that leave machines about which the cloud has announced that they stop: they want another place, though they run
// still, since a disruption budget may keep them where they are until they have one. Pods that the policy keeps are not among them: they may
// end in time. Where the pods were is pretended to be free of them.
func (d *decision) expelled() []*cluster.Pod {
	var all []*cluster.Pod
	for _, n := range d.planner.noticed {
		if notice, _ := cluster.NoticeOf(n.Object); !notice.Stops() {
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
			_, keeps := d.allowed.Keeps(p, policy.On(n), d.now)
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
