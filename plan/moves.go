package plan

import (
	"cmp"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// refuge is where pods of leaving nodes could move to: nodes that are Ready, not on their way out, and not idle unless their group keeps them
// anyway, as otherwise it is the idle one that should go. Those that are least likely to leave come first: pods that move gather there.
//
// The tries of a cycle are made one after the other, and each rests on those before it: see [scheduling.Refuge].
type refuge struct {
	*scheduling.Refuge
	check *scheduling.Checker
	took  map[scheduling.Handle]bool // pods have moved there
}

// refuges are the nodes that pods could move to now.
func (d *removing) refuges() *refuge {
	if d.refuge != nil {
		return d.refuge
	}
	var handles, others []scheduling.Handle
	for _, at := range d.hosts() {
		v, st := d.facts.sights[at], d.states[at]
		h, ok := d.check.Handle(v.Name())
		switch {
		case !ok:
		case v.settled || st != nil && d.stands(st):
			handles = append(handles, h)
		default:
			others = append(others, h)
		}
	}
	d.refuge = &refuge{d.check.Refuge(append(handles, others...)...), d.check, map[scheduling.Handle]bool{}}
	return d.refuge
}

// stands says whether a node stays for now that could go by itself.
func (d *removing) stands(st *nodeState) bool {
	return st.group != nil && st.Instance != nil && d.neededOf(st, 1) != nil || d.bound(st)
}

// bound says whether a pod of the node may not be evicted that is no work: work may end.
func (d *removing) bound(st *nodeState) bool {
	why := d.refusal(st)
	return why != nil && !policy.Work(why.Code)
}

// leave tries whether a node's pods find places, and says which one does not and why, nil when each does: then it is to be settled or taken back
// before the next try.
func (r *refuge) leave(v *sight) []reason.Reason {
	h, _ := r.check.Handle(v.Name())
	p := r.Leave(h, moving(v))
	if p == nil {
		return nil
	}
	words := "no other node can take pods"
	if last, ok := r.Last(h); ok {
		words = r.check.Refusals(p, r.check.Name(last))[0].String()
	}
	r.Back()
	return []reason.Reason{reason.New(reason.PodNowhereToGo, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "why", words)}
}

// settle lets the last try stand: whoever is tried after it finds the places taken.
func (r *refuge) settle() {
	for _, h := range r.Settle() {
		r.took[h] = true
	}
}

// receives says whether pods of other nodes have moved to the node.
func (d *removing) receives(v *sight) bool {
	h, ok := d.check.Handle(v.Name())
	return ok && d.refuges().took[h]
}

// receiving is why a node stays to which pods of others move.
func receiving(st *nodeState) reason.Reason {
	return reason.New(reason.NodeReceives, reason.Node(st.Name()))
}

// hosts are the nodes, by their places, that pods of others could move to, in the order in which these look at them, but for those that stay for now: those
// first that stay anyway, then those that would be the last to go, whatever their timers say; the most used before the others, and of equal ones by name.
func (d *removing) hosts() []int {
	sights := d.facts.sights
	all := make([]int, 0, len(sights))
	for at, v := range sights {
		if st := d.states[at]; v.takes && (st == nil || !st.going && !st.onLadder && (len(st.movers) > 0 || st.pinned)) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(sights[a].hosting(), sights[b].hosting()), d.dearest(sights[b], sights[a]), cmp.Compare(a, b))
	})
	return all
}

// hosting ranks a node among those that pods could move to.
func (v *sight) hosting() int {
	switch {
	case v.settled:
		return 0
	case len(v.movers) > 0:
		return 1
	}
	return 2
}

// moving are the node's pods that have to find another place. Those already on their way out are not asked, nor daemons' pods, which run
// nowhere else.
func moving(v *sight) []*cluster.Pod {
	stays := func(p *cluster.Pod) bool { return p.Leaving() || p.Daemon() }
	if !slices.ContainsFunc(v.movers, stays) {
		return v.movers
	}
	return slices.DeleteFunc(slices.Clone(v.movers), stays)
}

// consent is what the policy and the budgets' selectors say of a node's pods. Time that passes takes no consent back: a pod that may be evicted
// now may be so later. It holds from then on, and as long as the budgets and the pods' controllers are the same: see [Planner.begin].
type consent struct {
	known    bool
	since    time.Time
	budgeted []*cluster.Pod // the pods that budgets select
}

// refusal says why one of the node's pods may not be evicted, nil when the policy lets all of them go.
func (d *removing) refusal(st *nodeState) *reason.Reason {
	if c := &st.consent; c.known && !d.now.Before(c.since) {
		return nil
	}
	c := consent{known: true, since: d.now}
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := d.keeps(p, st.sight); keeps {
			return &why
		}
		if len(d.budgets.selecting(p.Class)) > 0 {
			c.budgeted = append(c.budgeted, p)
		}
	}
	st.consent = c
	return nil
}

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go; then, and when it is a disruption
// budget alone that refuses, places have been found for them, to be settled or taken back. A disruption budget is the last reason to be told:
// it may pass, and means that nothing else holds the pods.
func (d *removing) stays(st *nodeState) (because []reason.Reason, tried bool) {
	if why := d.refusal(st); why != nil {
		return []reason.Reason{*why}, false
	}
	if because := d.refuges().leave(st.sight); because != nil {
		return because, false
	}
	for _, p := range st.consent.budgeted {
		if held := d.budgetRefuses(p); held != nil {
			return []reason.Reason{*held}, true
		}
	}
	return nil, true
}
