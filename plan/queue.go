package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// queueUp notes which pods wait, and what they are called. There is to be room for so many further verdicts.
func (d *placing) queueUp(further int) {
	d.waiting = d.s.Pending
	d.podVerdicts = make([]Verdict, len(d.waiting), len(d.waiting)+further)
	for i, p := range d.waiting {
		d.podVerdicts[i].Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
		d.hopeful = d.hopeful || p.Nominated() != ""
	}
}

// demandKey is what pods have in common that are one demand.
type demandKey struct {
	class  *cluster.Class
	judged bool
}

// demandsOf are the pods that wait by what they have in common, but for those that are settled.
func (d *placing) demandsOf(settled func(i int, p *cluster.Pod) bool) []*demand {
	var all []*demand
	by := map[demandKey]*demand{}
	var last demandKey
	var dm *demand
	for i, p := range d.waiting {
		if settled(i, p) {
			continue
		}
		if key := (demandKey{p.Class, p.Unschedulable() || p.AwaitsCapacity()}); dm == nil || key != last {
			if last, dm = key, by[key]; dm == nil {
				dm = &demand{of: p.Class, eldest: i, judged: key.judged}
				by[key] = dm
				all = append(all, dm)
			}
		}
		dm.pods = append(dm.pods, i)
	}
	return all
}
