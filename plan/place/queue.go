package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// QueueUp notes which pods wait, and what they are called. There is to be room for so many further verdicts.
func (d *Room) QueueUp(further int) {
	d.Waiting = d.Snapshot.Pending
	d.PodVerdicts = make([]action.Verdict, len(d.Waiting), len(d.Waiting)+further)
	for i, p := range d.Waiting {
		d.PodVerdicts[i].Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
		d.hopeful = d.hopeful || p.Nominated() != ""
	}
}

// demandKey is what pods have in common that are one demand.
type demandKey struct {
	class  *cluster.Class
	judged bool
}

// demandsOf are the pods that wait by what they have in common, but for those that are settled.
func (d *Room) demandsOf(settled func(i int, p *cluster.Pod) bool) []*Demand {
	var all []*Demand
	by := map[demandKey]*Demand{}
	var last demandKey
	var dm *Demand
	for i, p := range d.Waiting {
		if settled(i, p) {
			continue
		}
		if key := (demandKey{p.Class, p.Unschedulable() || p.AwaitsCapacity()}); dm == nil || key != last {
			if last, dm = key, by[key]; dm == nil {
				dm = &Demand{Of: p.Class, Eldest: i, Judged: key.judged}
				by[key] = dm
				all = append(all, dm)
			}
		}
		dm.Pods = append(dm.Pods, i)
	}
	return all
}
