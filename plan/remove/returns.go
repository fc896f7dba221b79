package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// returning are the pods that go with the machine of the node, or would if it were on its way out, since they would come back to it.
func (d *Removal) returning(st *candidate) []*cluster.Pod {
	if !st.Clings {
		return nil
	}
	at := st.Where
	if at.Cordoned.IsZero() {
		at.Cordoned = d.Now
	}
	var all []*cluster.Pod
	for _, p := range st.Pods {
		if d.Policy.GoesWith(p, at, d.Now) && !p.Finished() {
			all = append(all, p)
		}
	}
	return all
}

// clung says which pod that goes with the machine may not go now: its controller speaks for it, or a disruption budget lets fewer go than would at once. Nil
// when all may.
func (d *Removal) clung(st *candidate) *reason.Reason {
	all := d.returning(st)
	if len(all) == 0 {
		return nil
	}
	for _, p := range all {
		if why, keeps := d.Policy.Uncontrolled(p, d.Snapshot.Objects.Controllers); keeps {
			return &why
		}
	}
	for _, b := range d.Snapshot.Objects.Budgets {
		left := d.Disruptions(b) - d.Snapshot.Away(b)
		for _, p := range all {
			if !cluster.Protects(b, p) || !cluster.Holds(b, p) {
				continue
			}
			if left--; left < 0 {
				return new(reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", node.NameOf(b), "allowed", max(0, d.Disruptions(b)-d.Snapshot.Away(b))))
			}
		}
	}
	return nil
}

// disruptAll consumes the disruptions of the pods that go with the machine.
func (d *Removal) disruptAll(st *candidate) {
	for _, p := range d.returning(st) {
		d.Disrupt(p)
	}
}

// newcomer is a pod that would go with the machine and came after the node was cordoned: the scheduler wants the node. Nil when there is none.
func (d *Removal) newcomer(st *candidate) *cluster.Pod {
	for _, p := range d.returning(st) {
		if d.Policy.Joins(p, st.Where, d.Now) {
			return p
		}
	}
	return nil
}
