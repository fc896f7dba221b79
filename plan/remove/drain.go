package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// drain evicts what still has to leave a cordoned node, and gives the node back when something may not or cannot leave.
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

// begunBefore says whether another process began the node's removal, as far as this one knows: that its pods have nowhere to go may come of what only the
// other one knew, such as their places, and is no sign that it will be so again.
func (ev *evictions) begunBefore(st *candidate) bool { return st.Removal.Since.Before(ev.Memory.Since) }

// late says which of the node's pods has not left in its time and ends the drain, nil when none does.
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

// evict evicts those of a node's pods whose turn it is, as disruption budgets let them, and says why it evicts and what waits. Pods of a later
// turn leave when these are gone.
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

// Emptying a node comes to nothing when a pod needs the node again before it is empty, or when the drain is given up, whatever for. Mostly it is one of those that were evicted from it: the
// scheduler puts pods where it likes, and one that fits few nodes finds the place taken that was meant for it. The same would happen again, for nobody
// can say where the pods will go the next time: no other node of the group is emptied for a while, twice as long each time (S-31).
const (
	firstAborted = 30 * time.Minute
	mostAborted  = 24 * time.Hour

	placed = time.Minute // pods that were evicted longer ago have found their places: what comes then is another need
)

// noteAborted remembers that a node is given back whose pods were being evicted, from then on.
func (ev *evictions) noteAborted(st *candidate, evicts time.Time) {
	r, m := st.Removal, ev.Memory.Groups[st.Group]
	switch r.Why {
	case cluster.Idle, cluster.RunsDry, cluster.RanDry, cluster.AskedFor:
		return
	}
	last := memory.Later(evicts, ev.Memory.Emptied[st.Name()].At)
	if ev.Now.Before(evicts) || ev.Now.After(last.Add(placed)) || !r.Since.After(m.AbortedDrain.Last) {
		return
	}
	length := firstAborted
	if b := m.AbortedDrain; ev.Now.Before(b.Until.Add(b.Length)) {
		length = min(2*b.Length, mostAborted)
	}
	m.AbortedDrain = memory.Backoff{Until: ev.Now.Add(length), Length: length, Last: ev.Now}
	ev.Remember(st.Group, m)
}

// backsOff says that nodes of the group are not emptied now because that came to nothing lately, nil when they may be.
func (ev *evictions) backsOff(st *candidate) *reason.Reason {
	b := ev.Memory.Groups[st.Group].AbortedDrain
	if !ev.Now.Before(b.Until) {
		return nil
	}
	ev.Wake(b.Until)
	return new(reason.New(reason.EmptiedInVain, reason.Node(st.Name()), "group", st.Group, "at", b.Last.UTC().Format(time.RFC3339), "until", b.Until.UTC().Format(time.RFC3339)))
}

// wrongClocks is by how much the clocks of two processes can differ at most, each being wrong by half of it.
const wrongClocks = 3 * time.Minute

// cordonedBy is by when a node was cordoned whose taint is seen now for the first time: now, or sooner where no wrong clock can feign it.
func cordonedBy(said, now time.Time) time.Time {
	if by := said.Add(wrongClocks); by.Before(now) {
		return by
	}
	return now
}

// noticeCordons remembers by when the nodes were cordoned, and forgets the others.
func (ev *evictions) noticeCordons(on []*candidate) {
	var all map[string]memory.Cordoned
	for _, st := range on {
		was, known := ev.Memory.Cordoned[st.Name()]
		if !known || !was.Said.Equal(st.Removal.Since) {
			was = memory.Cordoned{Said: st.Removal.Since, By: cordonedBy(st.Removal.Since, ev.Now)}
		}
		if all == nil {
			all = make(map[string]memory.Cordoned, len(on))
		}
		all[st.Name()] = was
	}
	if !maps.Equal(all, ev.Memory.Cordoned) {
		ev.Memory.Cordoned = all
	}
}

// pausesUntil is until when a node that was cordoned waits for its next step.
func (ev *evictions) pausesUntil(st *candidate) time.Time {
	return ev.Memory.Cordoned[st.Name()].By.Add(ev.Policy.Removal.Pause())
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

// clung says which pod that goes with the machine may not go now: its controller speaks for it, or a disruption budget lets fewer go than would at once. Nil
// when all may.
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

// newcomer is a pod that would go with the machine and came after the node was cordoned: the scheduler wants the node. Nil when there is none.
func (ev *evictions) newcomer(st *candidate) *cluster.Pod {
	for _, p := range ev.returning(st) {
		if ev.Policy.Joins(p, st.Where, ev.Now) {
			return p
		}
	}
	return nil
}

// dismissal is how long daemons that were told to end are waited for before anybody has seen that they do.
const dismissal = 5 * time.Second

// dismisses evicts the daemons of an empty node that the policy lets go, once, and says that it waits for them, nil when it does not, or no longer.
// They hold nobody up: an eviction that fails is not repeated, and a budget over daemons is left alone. A daemon's pod that was made after the
// node was cordoned is in the place of one that was evicted, and stays.
func (va *vacated) dismisses(st *candidate) *reason.Reason {
	if !st.Ready {
		return nil // nobody would tell them
	}
	told, known := va.Memory.Dismissed[st.Name()]
	if !known {
		told = va.Now
	}
	var ends []*cluster.Pod
	waits := 0
	for _, p := range va.daemonsOf(st) {
		switch {
		case p.Leaving():
			if !p.Overstayed(va.Now) {
				waits++
			}
		case known:
			if va.Now.Before(told.Add(dismissal)) {
				waits++
			}
		case va.BudgetRefuses(p) == nil:
			va.Disrupt(p)
			ends = append(ends, p)
		}
	}
	if waits+len(ends) == 0 {
		return nil
	}
	why := reason.New(reason.NodeDismisses, reason.Node(st.Name()), "pods", waits+len(ends))
	for _, p := range ends {
		va.act(action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: st.Name(), Grace: va.Policy.Removal.Grace(p), Notice: "", Because: why})
	}
	if va.dismissed == nil {
		va.dismissed = map[string]time.Time{}
	}
	va.dismissed[st.Name()] = told
	if due := told.Add(dismissal); va.Now.Before(due) {
		va.Wake(due)
	}
	return &why
}

// daemonsOf are the pods of daemons on the node that the policy lets go.
func (va *vacated) daemonsOf(st *candidate) (all []*cluster.Pod) {
	occupied := st.Removal.Why != cluster.Idle
	for _, p := range st.Pods {
		if va.Belongs(p, st.Facts) && va.Policy.Removal.Dismisses(p, occupied) && !p.Finished() && !p.Created().After(st.Removal.Since) {
			all = append(all, p)
		}
	}
	return all
}

// rememberDismissed leaves to the next cycle which nodes' daemons were told to end, and when.
func (va *vacated) rememberDismissed() {
	if !maps.EqualFunc(va.Memory.Dismissed, va.dismissed, time.Time.Equal) {
		va.Memory.Dismissed = va.dismissed
	}
}
