package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// drain evicts what still has to leave a cordoned node, and gives the node back when something may not or cannot leave.
//
// wait is until when the pause after the cordon lasts. The first row that holds decides:
//
//	found                                          node                   group's aborted-drain backoff
//	a pod may not be evicted, or has no place      given back             begins, unless another process began the drain
//	a budget holds a pod, and a pod is late        given back             begins
//	a pod is late                                  given back             begins
//	the pause lasts                                waits                  -
//	the budget of emptied nodes is spent (S-19)    waits                  -
//	otherwise                                      pods are evicted       -
//
// A budget alone holds nothing up before the deadline: the pods that it does not hold leave (scenario drain-deadline). Places are looked
// for in each cycle: a new pod may have taken them (drain-given-up-waits). noteAborted says which drains count.
func (d *Removal) drain(st *candidate, wait time.Time) {
	about := reason.Node(st.Name())
	draining := reason.New(reason.NodeDraining, about, "pods", len(st.Movers))
	because, tried := d.places.stays(st)
	late := d.evictions.late(st)
	switch {
	case len(because) > 0 && (because[0].Code != reason.PodBudget || late != nil):
		if tried {
			d.places.found.Back()
		}
		if late != nil || !d.evictions.begunBefore(st) {
			d.evictions.noteAborted(st, wait)
		}
		d.giveBack(st, append([]reason.Reason{reason.New(reason.RemovalAbandoned, about)}, because...)...)
		return
	case late != nil:
		d.places.found.Back()
		d.evictions.noteAborted(st, wait)
		d.giveBack(st, reason.New(reason.RemovalAbandoned, about), *late)
		return
	}
	d.places.found.settle()
	if d.Now.Before(wait) {
		d.Wake(wait)
		d.nodes.judge(st, action.NodeDraining, draining)
		return
	}
	if spent := d.evictions.spent(st); spent != nil {
		d.nodes.judge(st, action.NodeDraining, append([]reason.Reason{draining}, spent...)...)
		return
	}
	d.nodes.judge(st, action.NodeDraining, d.evictions.evict(st, st.Movers, draining)...)
}

// drainAsked evicts what may go from a node that a person has asked for, as disruption budgets let it, and waits for the rest without an
// end: work that the policy keeps comes to its own.
//
// Neither a deadline nor places are asked: what has no place makes a group grow (scenario person-drains). The budget of emptied nodes
// (S-19) does not hold it either, but counts it.
func (d *Removal) drainAsked(st *candidate, wait time.Time) {
	because := []reason.Reason{reason.New(reason.NodeDraining, reason.Node(st.Name()), "pods", len(st.Movers))}
	if d.Now.Before(wait) {
		d.Wake(wait)
		d.nodes.judge(st, action.NodeDraining, because...)
		return
	}
	var leavers []*cluster.Pod
	var works []reason.Reason
	for _, p := range st.Movers {
		if why, keeps := d.Keeps(p, st.Facts); keeps && !p.Leaving() {
			works = append(works, why)
			continue
		}
		leavers = append(leavers, p)
	}
	d.nodes.judge(st, action.NodeDraining, append(d.evictions.evict(st, leavers, because[0]), works...)...)
}
