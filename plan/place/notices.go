package place

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// expelledFor is how long after a kubelet fell silent places are kept for the pods of its announced machine. By then Kubernetes has deleted
// them itself, by its default tolerations of an unreachable node, and those that are made again wait for places of their own.
const expelledFor = 5 * time.Minute

// demandPlaces puts the pods that are expelled behind those that wait, and returns their demands where there were none.
func (d *Room) demandPlaces() (further []*Demand) {
	more := d.expelled()
	d.Driven = len(more)
	if len(more) == 0 {
		return nil
	}
	of := map[*cluster.Class]*Demand{}
	for _, dm := range d.Demands {
		if dm.Judged {
			of[dm.Of] = dm
		}
	}
	first := len(d.Waiting)
	for i, p := range more {
		d.line(p, reason.Pod(p.Namespace, p.Name))
		dm := of[p.Class]
		if dm == nil {
			dm = &Demand{Of: p.Class, Eldest: first + i, Judged: true}
			of[p.Class] = dm
			further = append(further, dm)
		}
		dm.add(first + i)
	}
	return further
}

// expelled are the pods that leave machines about which the cloud has announced that they stop: they want another place, though they run
// still, since a disruption budget may keep them where they are until they have one. Pods that the policy keeps are not among them: they
// may end in time. Where the pods were is pretended to be free of them.
//
//	case                                         why no place is sought for the pod
//	what is announced does not stop the machine  the pod stays where it is
//	the notice cannot be read                    anybody who may write to the node may have put it there (scenario notice-unclear)
//	the node has been silent for five minutes    Kubernetes has deleted the pod (scenario notice-outlives-machine)
//	a daemon's pod, or one that is deleted       it has no other place to find
//	an expendable pod                            nothing is done for it
//	a pod that the policy keeps                  it may end before the machine stops
func (d *Room) expelled() []*cluster.Pod {
	var all []*cluster.Pod
	for _, n := range d.Memo.Noticed {
		if notice, stands := cluster.NoticeOf(n.Object); !stands || !notice.Stops() {
			continue
		}
		if !cluster.Ready(n.Object) {
			due := cluster.NotReadySince(n.Object).Add(expelledFor)
			if !d.Now.Before(due) {
				continue
			}
			d.Wake(due)
		}
		leaves := func(p *cluster.Pod) bool {
			if p.Daemon() || p.Leaving() || d.Policy.Expendable(p) {
				return false
			}
			_, keeps := d.Policy.Keeps(p, d.Where(n), d.Now)
			return !keeps
		}
		before := len(all)
		for _, p := range n.Pods {
			if leaves(p) {
				all = append(all, p)
			}
		}
		if len(all) > before {
			d.Check.Remove(n.Name())
			d.Check.Add(n.Object, slices.DeleteFunc(slices.Clone(n.Pods), leaves)...)
		}
	}
	return all
}
