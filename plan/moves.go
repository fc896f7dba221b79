package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// refuge is the nodes that pods of leaving nodes could move to: Ready, not on their way out, and not idle unless the group
// keeps them anyway, as otherwise it is the idle one that should go.
type refuge struct {
	at    []int // by their place among the snapshot's nodes, in order
	nodes []scheduling.Handle
	turns uint64 // the same for as long as they are the same

	// floors are where to begin to look, by class: those before refuse such a pod and go on to do so for the rest of the cycle, in which
	// moves are added and none that stands is taken back. -1 for classes on whose places other pods have a bearing.
	floors map[*cluster.Class]int
}

// refuges are the nodes that pods could move to now.
func (d *decision) refuges() *refuge {
	if d.refuge != nil {
		return d.refuge
	}
	r := &refuge{floors: map[*cluster.Class]int{}}
	for at, v := range d.planner.sights {
		if st := d.states[at]; !v.takes || st != nil && (st.going || st.onLadder || len(st.movers) == 0 && !st.pinned) {
			continue
		}
		if h, ok := d.check.Handle(v.Name()); ok {
			r.at, r.nodes = append(r.at, at), append(r.nodes, h)
		}
	}
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

// consent is what the policy and the budgets' selectors say of a node's pods. Time that passes takes no consent back: a pod that may be evicted
// now may be so later. It holds from then on, and as long as the budgets are the same.
type consent struct {
	known    bool
	since    time.Time
	turns    uint64         // of the budgets
	budgeted []*cluster.Pod // the pods that budgets select
}

// refusal says why one of the node's pods may not be evicted, nil when the policy lets all of them go.
func (d *decision) refusal(st *nodeState) *reason.Reason {
	budgets := &d.planner.budgets
	if c := &st.consent; c.known && !d.now.Before(c.since) && c.turns == budgets.turns {
		return nil
	}
	c := consent{known: true, since: d.now, turns: budgets.turns}
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := d.allowed.Keeps(p, d.now); keeps {
			return &why
		}
		if len(budgets.selecting(p.Class)) > 0 {
			c.budgeted = append(c.budgeted, p)
		}
	}
	st.consent = c
	return nil
}

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go; the places are to be found by
// search. Pods already on their way out are not asked. A disruption budget that refuses is the last reason to be told: it may pass, and
// means that nothing else holds the pods.
func (d *decision) stays(st *nodeState, search func(*nodeState) *reason.Reason) *reason.Reason {
	if why := d.refusal(st); why != nil {
		return why
	}
	var held *reason.Reason
	for _, p := range st.consent.budgeted {
		if held = d.budgetRefuses(p); held != nil {
			break
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
	to, from := d.refuges(), d.floors(st)
	st.undo = d.check.Mark()
	d.check.Remove(st.Name())
	d.check.Add(cordoned(st.Object), daemons(st.Node)...)
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		begin, known := from[p.Class]
		at := d.check.First(p.Class, to.nodes, begin)
		if known {
			from[p.Class] = at
		}
		if at < len(to.nodes) {
			d.check.PlaceMany(p.Class, 1, to.nodes[at])
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

// floors are where to begin to look for places for a node's pods, by class, as long as the node itself has not been pretended away. Classes
// that have to be asked about from the first refuge on are left out.
func (d *decision) floors(st *nodeState) map[*cluster.Class]int {
	to := d.refuges()
	from := make(map[*cluster.Class]int, len(st.movers))
	for _, p := range st.movers {
		floor, known := to.floors[p.Class]
		if !known {
			if floor = -1; !d.check.Depends(p.Class) {
				floor = d.check.First(p.Class, to.nodes, 0)
			}
			to.floors[p.Class] = floor
		}
		if floor >= 0 {
			from[p.Class] = floor
		}
	}
	return from
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
