package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// returning are the pods that go with the machine of the node, or would if it were on its way out, since they would come back to it.
func (d *removing) returning(st *nodeState) []*cluster.Pod {
	if !st.clings {
		return nil
	}
	at := st.where
	if at.Cordoned.IsZero() {
		at.Cordoned = d.now
	}
	var all []*cluster.Pod
	for _, p := range st.Pods {
		if d.allowed.GoesWith(p, at, d.now) && !p.Finished() {
			all = append(all, p)
		}
	}
	return all
}

// clung says which pod that goes with the machine may not go now: its controller speaks for it, or a disruption budget lets fewer go than would at once. Nil
// when all may.
func (d *removing) clung(st *nodeState) *reason.Reason {
	all := d.returning(st)
	if len(all) == 0 {
		return nil
	}
	for _, p := range all {
		if why, keeps := d.allowed.Uncontrolled(p, d.s.Objects.Controllers); keeps {
			return &why
		}
	}
	for _, b := range d.s.Objects.Budgets {
		left := d.disruptions(b) - d.s.Away(b)
		for _, p := range all {
			if !cluster.Protects(b, p) || !cluster.Holds(b, p) {
				continue
			}
			if left--; left < 0 {
				return new(reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", nameOf(b), "allowed", max(0, d.disruptions(b)-d.s.Away(b))))
			}
		}
	}
	return nil
}

// disruptAll consumes the disruptions of the pods that go with the machine.
func (d *removing) disruptAll(st *nodeState) {
	for _, p := range d.returning(st) {
		d.disrupt(p)
	}
}

// newcomer is a pod that would go with the machine and came after the node was cordoned: the scheduler wants the node. Nil when there is none.
func (d *removing) newcomer(st *nodeState) *cluster.Pod {
	for _, p := range d.returning(st) {
		if d.allowed.Joins(p, st.where, d.now) {
			return p
		}
	}
	return nil
}
