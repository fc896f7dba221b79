package remove

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// evictions tells pods to leave.
type evictions struct {
	*node.View
	*orders
}

// spent says why pods may not be told to leave the node, which is on its way out: its group's budget has been used within its window,
// whatever for (S-19); nil when nothing is in the way.
func (ev *evictions) spent(st *candidate) []reason.Reason {
	if r := st.group.Contract.Leaving.MayEmpty(fleet.UID(st.Instance.UID)); r != nil {
		return ev.HeldBy(reason.Node(st.Name()), st.group.GroupFacts, r)
	}
	return nil
}

// empties remembers that a node is emptied of its pods.
func (ev *evictions) empties(st *candidate) {
	ev.Memory.Emptied = memory.With(ev.Memory.Emptied, st.Name(), memory.Emptied{Group: st.Group, At: ev.Now})
	st.emptied()
}

// received says whether a pod runs on the node that a drain has made homeless since then. What was seen of the node before is no evidence
// that it may go with that pod: else the pod would be moved again at once.
//
// since is when the node's time began; a pod that was there by then is no news. Which pod of a drain came where is not known, since its
// controller makes it under another name. So any pod counts that was made within a minute of an eviction elsewhere (scenario
// moved-pod-stays).
func (ev *evictions) received(st *candidate, since time.Time) bool {
	if len(ev.Memory.Emptied) == 0 {
		return false
	}
	return slices.ContainsFunc(st.Movers, func(p *cluster.Pod) bool {
		made := p.Created() // to the second
		if !made.After(since) {
			return false
		}
		for name, e := range ev.Memory.Emptied {
			if name != st.Name() && !made.Before(e.At.Truncate(time.Second)) && !made.After(e.At.Add(placed)) {
				return true
			}
		}
		return false
	})
}

// forgetEmptied leaves out what the window has left behind, and whose pods have found their places.
func (ev *evictions) forgetEmptied() {
	for name, e := range ev.Memory.Emptied {
		if ev.Now.Sub(e.At) >= max(ev.Policy.Removal.Emptied.Window, placed) {
			ev.Memory.Emptied = memory.Without(ev.Memory.Emptied, name)
		}
	}
}

// begunBefore says whether another process began the node's removal, as far as this one knows: that its pods have nowhere to go may come of
// what only the other one knew, such as their places, and is no sign that it will be so again.
func (ev *evictions) begunBefore(st *candidate) bool { return st.Removal.Since.Before(ev.Memory.Since) }

// late says which of the node's pods has not left in its time and ends the drain, nil when none does.
//
//	what the pod or the operator says then   the pod is late
//	wait                                     never
//	force, and it was told to end            never: [policy.Policy.Outlasted] lets the machine go with it
//	force, and it was not told to end        yes
//	abort                                    yes
func (ev *evictions) late(st *candidate) *reason.Reason {
	r := ev.Policy.Removal
	for _, p := range st.Movers {
		limit, over := r.DrainTime(p), r.Overdue(p)
		due := st.Removal.Since.Add(limit)
		switch {
		case over == policy.Wait:
		case ev.Now.Before(due):
			ev.Wake(due)
		case over == policy.Force && p.Leaving(): // it saves its work
		default:
			return new(reason.New(reason.PodOverdue, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "limit", limit))
		}
	}
	return nil
}

// evict evicts those of a node's pods whose turn it is, as disruption budgets let them, and says why it evicts and what waits. Pods of a
// later turn leave when these are gone.
//
//	case                                      does
//	a notice stands on the node               nothing: notices.expel evicts its pods, with the grace that is left
//	the last eviction from it failed          waits, longer each time (S-31, scenario evictions-forbidden)
//	a pod of a later turn, or told to end     waits for it (scenarios drain-in-bands, critical-pods-last)
//	a budget holds it now                     says so, and tries in the next cycle
//	any other pod                             evicts it, and consumes its budget
//
// Consumed budgets keep the other pods of the cycle from being refused by the API server.
func (ev *evictions) evict(st *candidate, pods []*cluster.Pod, why reason.Reason) []reason.Reason {
	because := []reason.Reason{why}
	if _, stops := stopping(st.Node); stops {
		return append(because, node.Noticed(st.Node)) // they have been told
	}
	if rests := ev.evictionRests(st); rests != nil {
		return []reason.Reason{*rests, why}
	}
	turn, later := ev.turn(pods)
	for _, p := range pods {
		if p.Leaving() || ev.Policy.Removal.Turn(p) != turn {
			continue
		}
		if held := ev.BudgetRefuses(p); held != nil {
			because = append(because, *held)
			continue
		}
		ev.Disrupt(p)
		ev.empties(st)
		ev.act(action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: st.Name(), Grace: ev.Policy.Removal.Grace(p), Notice: "", Because: why})
	}
	if later > 0 {
		because = append(because, reason.New(reason.PodsLater, reason.Ref{}, "pods", later))
	}
	return because
}

// turn is whose turn it is to leave, and how many pods come later.
func (ev *evictions) turn(pods []*cluster.Pod) (turn, later int) {
	r := ev.Policy.Removal
	for i, p := range pods {
		if t := r.Turn(p); i == 0 || t < turn {
			turn = t
		}
	}
	for _, p := range pods {
		if r.Turn(p) > turn {
			later++
		}
	}
	return turn, later
}

// evictionRests says until when no pod of the node is evicted, since that failed; nil when it did not.
func (ev *evictions) evictionRests(st *candidate) *reason.Reason {
	rest := ev.Memory.Cordoned[st.Name()].Refused
	if !rest.Until.After(ev.Now) {
		return nil
	}
	ev.Wake(rest.Until)
	return new(reason.New(reason.EvictionRests, reason.Node(st.Name()), "node", st.Name(), "until", rest.Until.Format(time.RFC3339), "message", rest.Message))
}

// returning are the pods that go with the machine of the node, or would if it were on its way out, since they would come back to it.
//
// An eviction would not help: the cordoned node is the emptiest, so that the scheduler puts the new pod there (pod-returns-to-its-node).
func (ev *evictions) returning(st *candidate) []*cluster.Pod {
	if !st.Clings {
		return nil
	}
	at := st.Where
	if at.Cordoned.IsZero() {
		at.Cordoned = ev.Now
	}
	var all []*cluster.Pod
	for _, p := range st.Pods {
		if ev.Policy.GoesWith(p, at, ev.Now) && !p.Finished() {
			all = append(all, p)
		}
	}
	return all
}

// clung says which pod that goes with the machine may not go now: its controller speaks for it, or a disruption budget lets fewer go than
// would at once. Nil when all may.
//
// Such pods end together, with the machine. So each budget is counted down over all of them. It begins with what earlier nodes of the
// cycle and machines that are being deleted have left of it (scenario pod-returns-budget).
func (ev *evictions) clung(st *candidate) *reason.Reason {
	all := ev.returning(st)
	if len(all) == 0 {
		return nil
	}
	for _, p := range all {
		if why, keeps := ev.Policy.Uncontrolled(p, ev.Snapshot.Objects.Controllers); keeps {
			return &why
		}
	}
	for _, b := range ev.Snapshot.Objects.Budgets {
		left := ev.Disruptions(b) - ev.Snapshot.Away(b)
		for _, p := range all {
			if !cluster.Protects(b, p) || !cluster.Holds(b, p) {
				continue
			}
			if left--; left < 0 {
				return new(reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", node.NameOf(b), "allowed", max(0, ev.Disruptions(b)-ev.Snapshot.Away(b))))
			}
		}
	}
	return nil
}

// disruptAll consumes the disruptions of the pods that go with the machine.
func (ev *evictions) disruptAll(st *candidate) {
	for _, p := range ev.returning(st) {
		ev.Disrupt(p)
	}
}

// newcomer is a pod that would go with the machine and came after the node was cordoned: the scheduler wants the node. Nil when there is
// none.
func (ev *evictions) newcomer(st *candidate) *cluster.Pod {
	for _, p := range ev.returning(st) {
		if ev.Policy.Joins(p, st.Where, ev.Now) {
			return p
		}
	}
	return nil
}

// budgetHolds says which disruption budget none of the node's pods can leave for, nil when one of them can.
func (ev *evictions) budgetHolds(st *candidate) (first *reason.Reason) {
	for _, p := range st.Movers {
		held := ev.BudgetRefuses(p)
		if p.Leaving() || held == nil {
			return nil
		}
		if first == nil {
			first = held
		}
	}
	return first
}
