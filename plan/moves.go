package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// refuge is the nodes that pods of leaving nodes could move to: Ready, not on their way out, and not idle unless the group
// keeps them anyway, as otherwise it is the idle one that should go.
type refuge struct {
	at    []int // by their place among the snapshot's nodes, in order
	row   *scheduling.Row
	turns uint64 // the same for as long as they are the same
}

// refuges are the nodes that pods could move to now.
func (d *decision) refuges() *refuge {
	if d.refuge != nil {
		return d.refuge
	}
	r := &refuge{}
	var handles []scheduling.Handle
	for at, v := range d.planner.sights {
		if st := d.states[at]; !v.takes || st != nil && (st.going || st.onLadder || len(st.movers) == 0 && !st.pinned) {
			continue
		}
		if h, ok := d.check.Handle(v.Name()); ok {
			r.at, handles = append(r.at, at), append(handles, h)
		}
	}
	r.row = d.check.Row(handles...)
	if last := d.planner.refuge; last != nil && slices.Equal(last.at, r.at) {
		r.turns = last.turns
	} else if last != nil {
		r.turns = last.turns + 1
	}
	d.refuge, d.planner.refuge = r, r
	return r
}

// sought is what became of the search for places for a node's pods, and on what the answer rests: as long as the checker's state and
// the refuges are what they were, it is the same.
type sought struct {
	known bool
	state scheduling.State
	turns uint64
	why   *reason.Reason
}

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go; the places are to be found by
// search. Pods already on their way out are not asked. A disruption budget that refuses is the last reason to be told: it may pass, and
// means that nothing else holds the pods.
func (d *decision) stays(st *nodeState, search func(*nodeState) *reason.Reason) *reason.Reason {
	var held *reason.Reason
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := d.allowed.Keeps(p, d.now); keeps {
			return &why
		}
		if why := d.budgetRefuses(p); why != nil && held == nil {
			held = why
		}
	}
	if why := search(st); why != nil {
		return why
	}
	return held
}

// couldMove says why a node's pods cannot move, nil when they could. The checker holds no moves then. What the last cycle found is not
// searched for again while everything that it rests on is the same.
func (d *decision) couldMove(st *nodeState) *reason.Reason {
	now := sought{known: true, state: d.check.State(), turns: d.refuges().turns}
	if last := st.sought; last.known && last.state == now.state && last.turns == now.turns {
		return last.why
	}
	now.why = d.move(st)
	d.back(st)
	st.sought = now
	return now.why
}

// move moves a node's pods elsewhere and says which of them has nowhere to go, nil when each has. The checker then holds the moves until
// they are taken back.
func (d *decision) move(st *nodeState) *reason.Reason {
	to := d.refuges()
	st.undo = d.check.Mark()
	d.check.Remove(st.Name())
	d.check.Add(cordoned(st.Object), daemons(st.Node)...)
	for _, p := range st.movers {
		if p.Leaving() || to.row.Fill(p.Class, 1, nil) == 1 {
			continue
		}
		words := "no other node can take pods"
		if last := d.lastRefuge(st); last != "" {
			words = d.check.Refusals(p, last)[0].String()
		}
		d.back(st)
		r := reason.New(reason.PodNowhereToGo, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "why", words)
		return &r
	}
	return nil
}

// lastRefuge is the last node that pods of this one could move to, "" when there is none.
func (d *decision) lastRefuge(from *nodeState) string {
	to := d.refuges().at
	for i := len(to) - 1; i >= 0; i-- {
		if st := d.states[to[i]]; to[i] != from.at && (st == nil || !st.going) {
			return d.s.Nodes[to[i]].Name()
		}
	}
	return ""
}

// cordoned is the node as it is while its pods leave: it takes none, and still counts as a place to spread over.
func cordoned(n *corev1.Node) *corev1.Node {
	out := *n
	out.Spec.Unschedulable = true
	return &out
}

// back undoes the pretended moves of a node's pods.
func (d *decision) back(st *nodeState) {
	if st.undo != nil {
		st.undo()
		st.undo = nil
	}
}

// daemons are the pods that stay with a node.
func daemons(n *cluster.Node) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(n.Pods), func(p *cluster.Pod) bool { return !p.Daemon() })
}
