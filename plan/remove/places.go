package remove

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// destinations is where pods of leaving nodes could move to: nodes that are Ready, not on their way out, and not idle unless their group
// keeps them anyway, as otherwise it is the idle one that should go. Those that are least likely to leave come first: pods that move gather
// there.
//
// The tries of a cycle are made one after the other, and each rests on those before it: see [scheduling.Destinations].
//
// Between a try and the next one somebody has to end it:
//
//	leave or stays returns              the try               the caller
//	nil                                 stands for now        settles it, or takes it back
//	a disruption budget alone           stands for now        settles it, or takes it back
//	any other reason                    is over, or none was  does nothing
type destinations struct {
	*scheduling.Destinations
	check *scheduling.Checker
	took  map[scheduling.Handle]bool // pods have moved there
}

// places finds where the pods of leaving nodes can move to.
type places struct {
	*node.View
	growth *grow.Growth
	nodes  *nodes
	queue  *queue
	found  *destinations // nil until somebody asks
}

// find are the nodes that pods could move to now.
//
// Nodes that stay for now come first: a pod that moves to a node which leaves next would move twice (scenario moved-pod-to-one-that-stays).
// Idle nodes that may go are in neither list.
func (pl *places) find() *destinations {
	if pl.found != nil {
		return pl.found
	}
	var handles, others []scheduling.Handle
	for _, at := range pl.hosts() {
		v, st := pl.Memo.Facts[at], pl.nodes.states[at]
		h, ok := pl.Check.Handle(v.Name())
		switch {
		case !ok:
		case v.Settled || st != nil && pl.stands(st):
			handles = append(handles, h)
		default:
			others = append(others, h)
		}
	}
	pl.found = &destinations{pl.Check.Destinations(append(handles, others...)...), pl.Check, map[scheduling.Handle]bool{}}
	return pl.found
}

// stands says whether a node stays for now that could go by itself.
func (pl *places) stands(st *candidate) bool {
	return st.group != nil && st.Instance != nil && pl.nodes.neededOf(st, 1) != nil || pl.bound(st)
}

// bound says whether a pod of the node may not be evicted that is no work: work may end.
func (pl *places) bound(st *candidate) bool {
	why := pl.refusal(st)
	return why != nil && !policy.Work(why.Code)
}

// leave tries whether a node's pods find places, and says which one does not and why, nil when each does: then it is to be settled or taken
// back before the next try.
func (r *destinations) leave(v *node.Facts) []reason.Reason {
	h, _ := r.check.Handle(v.Name())
	p := r.Leave(h, node.Moving(v))
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
func (r *destinations) settle() {
	for _, h := range r.Settle() {
		r.took[h] = true
	}
}

// receives says whether pods of other nodes have moved to the node.
func (pl *places) receives(v *node.Facts) bool {
	h, ok := pl.Check.Handle(v.Name())
	return ok && pl.find().took[h]
}

// receiving is why a node stays to which pods of others move.
func receiving(st *candidate) reason.Reason {
	return reason.New(reason.NodeReceives, reason.Node(st.Name()))
}

// hosts are the nodes, by their places, that pods of others could move to, in the order in which these look at them, but for those that
// stay for now: those first that stay anyway, then those that would be the last to go, whatever their timers say; the most used before the
// others, and of equal ones by name.
func (pl *places) hosts() []int {
	facts := pl.Memo.Facts
	all := make([]int, 0, len(facts))
	for at, v := range facts {
		if st := pl.nodes.states[at]; v.Takes && (st == nil || !st.going && !st.Leaves && (len(st.Movers) > 0 || st.pinned)) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(facts[a].Hosting(), facts[b].Hosting()), pl.queue.dearest(facts[b], facts[a]), cmp.Compare(a, b))
	})
	return all
}

// refusal says why one of the node's pods may not be evicted, nil when the policy lets all of them go.
//
// A refusal is found anew in each cycle. That no pod is kept is remembered with the node's facts: time takes no consent back, see
// [node.Consent]. Disruption budgets are not asked here: only which pods they select.
func (pl *places) refusal(st *candidate) *reason.Reason {
	if c := &st.Consent; c.Known && !pl.Now.Before(c.Since) {
		return nil
	}
	c := node.Consent{Known: true, Since: pl.Now}
	for _, p := range st.Movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := pl.Keeps(p, st.Facts); keeps {
			return &why
		}
		if len(pl.Budgets.Selecting(p.Class)) > 0 {
			c.Budgeted = append(c.Budgeted, p)
		}
	}
	st.Consent = c
	return nil
}

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go; then, and when it is a disruption
// budget alone that refuses, places have been found for them, to be settled or taken back. A disruption budget is the last reason to be
// told: it may pass, and means that nothing else holds the pods.
func (pl *places) stays(st *candidate) (because []reason.Reason, tried bool) {
	if why := pl.refusal(st); why != nil {
		return []reason.Reason{*why}, false
	}
	if because := pl.find().leave(st.Facts); because != nil {
		return because, false
	}
	for _, p := range st.Consent.Budgeted {
		if held := pl.BudgetRefuses(p); held != nil {
			return []reason.Reason{*held}, true
		}
	}
	return nil, true
}

// fitsPending says which waiting pod has its place on the node, or for whose it is kept, nil when for none (S-16). A pod holds one node:
// that of its place. A pod of a gang that is not whole has none, and holds the first node that is asked about and takes it. It is to be
// asked first while none of the node's pods has been pretended away; the answer then holds for the cycle.
func (pl *places) fitsPending(st *candidate) *reason.Reason {
	if why := pl.growth.CountedOn(st.Name()); why != nil {
		return why
	}
	// With more pods than a cycle looks at, a pod that was not looked at may need this very node (scenario bound-tenant).
	if unseen := pl.Memory.Looked.Unseen; unseen > 0 {
		return new(reason.New(reason.NodePodsUnseen, reason.Node(st.Name()), "pods", unseen, "limit", place.MostWork))
	}
	if st.passedOver || len(pl.growth.Asking) == 0 {
		return nil
	}
	st.passedOver = true
	h, present := pl.Check.Handle(st.Name())
	if !present {
		return nil
	}
	for i := range pl.growth.Asking {
		p := &pl.growth.Asking[i]
		if p.Pods == 0 {
			continue
		}
		room := pl.Check.Room(p.Class, h)
		if room == 0 {
			continue
		}
		// So many of the pods hold this node. The next nodes are asked for the others only.
		p.Pods -= min(room, p.Pods)
		if p.Claim != nil {
			pl.growth.KeepFor(p.Claim, st.Name())
		} else {
			pl.growth.Counted[st.Name()] = p.String()
		}
		return pl.growth.CountedOn(st.Name())
	}
	return nil
}
