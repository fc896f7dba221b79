package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// refuge is where pods of leaving nodes could move to: nodes that are Ready, not on their way out, and not idle unless their group keeps them
// anyway, as otherwise it is the idle one that should go. Those that are least likely to leave come first: pods that move gather there.
//
// The tries of a cycle are made one after the other, and each rests on those before it. As long as they are those of the last cycle, in a
// cluster that is the same, their answers are too, and the checker is not asked: see [refuge.leave].
type refuge struct {
	*scheduling.Refuge
	check *scheduling.Checker
	state scheduling.State        // before the first try
	nodes []*sight                // in the order of nodes
	stay  []*sight                // of these, the ones that could go but for the policy or their group's min, in the same order
	sort  func([]*sight) []*sight // in the order in which pods look at them
	on    func(*sight) (scheduling.Handle, bool)

	places func() []int32 // by the handles of the snapshot's nodes, their places among these
	at     []int32
	tries  []try  // none of them is ever changed once the next one is made: refuges of several cycles may share them
	took   []bool // by the snapshot's nodes: pods have moved there, by the tries that are settled

	last *refuge // of the cycle before, while this one tries the same; nil from the first difference on
}

// try is a node that was to leave, and what became of it.
type try struct {
	node    *sight
	stays   []reason.Reason // why, nil when all its pods have found places
	to      []int32         // where they are, by the snapshot's nodes
	settled bool
}

// refuges are the nodes that pods could move to now.
func (d *decision) refuges() *refuge {
	if d.refuge != nil {
		return d.refuge
	}
	r := &refuge{check: d.check, state: d.check.State(), sort: d.hosts, on: d.handle, places: d.places, took: make([]bool, len(d.s.Nodes))}
	for at, v := range d.planner.sights {
		if st := d.states[at]; v.takes && (st == nil || !st.going && !st.onLadder && (len(st.movers) > 0 || st.pinned)) {
			r.nodes = append(r.nodes, v)
			if st != nil && d.stands(st) {
				r.stay = append(r.stay, v)
			}
		}
	}
	if last := d.planner.refuge; last != nil && last.check == r.check && last.state == r.state && slices.Equal(last.nodes, r.nodes) && slices.Equal(last.stay, r.stay) {
		last.last = nil
		r.last, r.Refuge = last, nil
	}
	d.refuge, d.planner.refuge = r, r
	return r
}

// stands says whether a node stays for now that could go by itself.
func (d *decision) stands(st *nodeState) bool {
	return st.group != nil && st.Instance != nil && d.neededOf(st, 1) != nil || d.bound(st)
}

// bound says whether a pod of the node may not be evicted that is no work: work may end.
func (d *decision) bound(st *nodeState) bool {
	why := d.refusal(st)
	return why != nil && !policy.Work(why.Code)
}

// open makes the refuge that the checker is asked about, with all that is settled.
func (r *refuge) open() {
	if r.Refuge != nil {
		return
	}
	r.last = nil
	stays := make(map[*sight]bool, len(r.stay))
	for _, v := range r.stay {
		stays[v] = true
	}
	handles, others := make([]scheduling.Handle, 0, len(r.nodes)), make([]scheduling.Handle, 0, len(r.nodes))
	for _, v := range r.sort(r.nodes) {
		h, ok := r.on(v)
		switch {
		case !ok:
		case v.settled || stays[v]:
			handles = append(handles, h)
		default:
			others = append(others, h)
		}
	}
	handles = append(handles, others...)
	r.Refuge = r.check.Refuge(handles...)
	r.at = r.places()
	for _, t := range r.tries {
		if h, ok := r.check.Handle(t.node.Name()); ok && t.settled {
			r.Leave(h, moving(t.node))
			r.Settle()
		}
	}
}

// leave tries whether a node's pods find places, and says which one does not and why, nil when each does. It is to be settled or taken back
// before the next try.
func (r *refuge) leave(v *sight) []reason.Reason {
	if n := len(r.tries); r.last != nil && n < len(r.last.tries) && r.last.tries[n].node == v {
		r.tries = r.last.tries[: n+1 : n+1]
		return r.tries[n].stays
	}
	r.open()
	t := try{node: v}
	h, _ := r.check.Handle(v.Name())
	if p := r.Leave(h, moving(v)); p != nil {
		words := "no other node can take pods"
		if last, ok := r.Last(h); ok {
			words = r.check.Refusals(p, r.check.Name(last))[0].String()
		}
		r.Back()
		t.stays = []reason.Reason{reason.New(reason.PodNowhereToGo, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "why", words)}
	}
	r.tries = append(r.tries, t)
	return t.stays
}

// settle lets the last try stand: whoever is tried after it finds the places taken. A try without success changes nothing.
func (r *refuge) settle() {
	t := &r.tries[len(r.tries)-1]
	if t.stays != nil {
		return
	}
	if r.last != nil {
		if t.settled {
			r.take(t.to)
			return
		}
		r.again()
		t = &r.tries[len(r.tries)-1]
	}
	t.settled = true
	for _, h := range r.Settle() {
		t.to = append(t.to, r.at[h])
	}
	r.take(t.to)
}

// back takes the last try back.
func (r *refuge) back() {
	n := len(r.tries) - 1
	switch t := r.tries[n]; {
	case t.stays != nil:
	case r.last == nil:
		r.Back()
	case t.settled: // in the last cycle
		r.tries = append(slices.Clip(r.tries[:n]), try{node: t.node})
		r.open()
	}
}

// places are the places of the snapshot's nodes by their handles.
func (d *decision) places() []int32 {
	at := make([]int32, d.check.Size())
	for i, v := range d.planner.sights {
		if h, ok := d.handle(v); ok {
			at[h] = int32(i)
		}
	}
	return at
}

// handle is [scheduling.Checker.Handle] of the node, which mostly has the one that it had the last time.
func (d *decision) handle(v *sight) (scheduling.Handle, bool) {
	if d.check.Is(v.on, v.name) {
		return v.on, true
	}
	h, ok := d.check.Handle(v.name)
	if ok {
		v.on = h
	}
	return h, ok
}

// shut has no further pods move to the node.
func (r *refuge) shut(v *sight) {
	r.open()
	if h, ok := r.check.Handle(v.Name()); ok {
		r.Shut(h)
	}
}

// again makes the last try anew, of which the last cycle knew the answer and something else came of it than now.
func (r *refuge) again() {
	v := r.tries[len(r.tries)-1].node
	r.tries = slices.Clip(r.tries[:len(r.tries)-1])
	r.open()
	h, _ := r.check.Handle(v.Name())
	r.Leave(h, moving(v))
	r.tries = append(r.tries, try{node: v})
}

func (r *refuge) take(to []int32) {
	for _, at := range to {
		r.took[at] = true
	}
}

// hosts are the nodes in the order in which moving pods look at them, but for [refuge.stay]: those first that stay anyway, then those that would be the last to go,
// whatever their timers say; the most used before the others, and of equal ones by name. Those that were sorted the last time are in that order
// still, for it is made of what sights show: only the others are sorted.
func (d *decision) hosts(nodes []*sight) []*sight {
	p := d.planner
	p.sorting++
	for _, v := range nodes {
		v.sorting = p.sorting
	}
	known := make([]*sight, 0, len(nodes))
	for _, v := range p.hosts {
		if v.sorting == p.sorting {
			known = append(known, v)
			v.sorting = 0
		}
	}
	var others []*sight
	for _, v := range nodes {
		if v.sorting != 0 {
			others = append(others, v)
		}
	}
	if len(others) > 0 {
		slices.SortFunc(others, d.hostsBefore)
		known = merged(known, others, d.hostsBefore)
	}
	p.hosts = known
	return known
}

// merged is both lists in one; they are in that order, in which no two are equal. The second is the short one.
func merged[T any](long, short []T, order func(a, b T) int) []T {
	all := make([]T, 0, len(long)+len(short))
	for _, v := range short {
		i, _ := slices.BinarySearchFunc(long, v, order)
		all, long = append(append(all, long[:i]...), v), long[i:]
	}
	return append(all, long...)
}

// hostsBefore is the order of hosts.
func (d *decision) hostsBefore(a, b *sight) int {
	return cmp.Or(cmp.Compare(a.hosting(), b.hosting()), d.dearest(b, a), strings.Compare(a.name, b.name))
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
// now may be so later. It holds from then on, and as long as the budgets and the pods' controllers are the same.
type consent struct {
	known    bool
	since    time.Time
	turns    [2]uint64      // of the budgets and the controllers
	budgeted []*cluster.Pod // the pods that budgets select
}

// refusal says why one of the node's pods may not be evicted, nil when the policy lets all of them go.
func (d *decision) refusal(st *nodeState) *reason.Reason {
	budgets := &d.planner.budgets
	turns := [2]uint64{budgets.turns, d.planner.owners.turns}
	if c := &st.consent; c.known && !d.now.Before(c.since) && c.turns == turns {
		return nil
	}
	c := consent{known: true, since: d.now, turns: turns}
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := d.keeps(p, st); keeps {
			return &why
		}
		if len(budgets.selecting(p.Class)) > 0 {
			c.budgeted = append(c.budgeted, p)
		}
	}
	st.consent = c
	return nil
}

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go; then, and when it is a disruption
// budget alone that refuses, places have been found for them, to be settled or taken back. A disruption budget is the last reason to be told:
// it may pass, and means that nothing else holds the pods.
func (d *decision) stays(st *nodeState) (because []reason.Reason, tried bool) {
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
