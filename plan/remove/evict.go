package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// drain evicts what still has to leave a cordoned node, and gives the node back when something may not or cannot leave.
func (d *Removal) drain(st *candidate, wait time.Time) {
	about := reason.Node(st.Name())
	draining := reason.New(reason.NodeDraining, about, "pods", len(st.Movers))
	because, tried := d.stays(st)
	late := d.late(st)
	switch {
	case len(because) > 0 && (because[0].Code != reason.PodBudget || late != nil):
		if tried {
			d.refuge.Back()
		}
		if late != nil || !d.begunBefore(st) {
			d.noteVain(st, wait)
		}
		d.takeDown(st, append([]reason.Reason{reason.New(reason.RemovalAbandoned, about)}, because...)...)
		return
	case late != nil:
		d.refuge.Back()
		d.noteVain(st, wait)
		d.takeDown(st, reason.New(reason.RemovalAbandoned, about), *late)
		return
	}
	d.refuge.settle()
	if d.Now.Before(wait) {
		d.Wake(wait)
		d.judgeNode(st, action.NodeDraining, draining)
		return
	}
	if spent := d.spent(st); spent != nil {
		d.judgeNode(st, action.NodeDraining, append([]reason.Reason{draining}, spent...)...)
		return
	}
	d.judgeNode(st, action.NodeDraining, d.evict(st, st.Movers, draining)...)
}

// begunBefore says whether another process began the node's removal, as far as this one knows: that its pods have nowhere to go may come of what only the
// other one knew, such as their places, and is no sign that it will be so again.
func (d *Removal) begunBefore(st *candidate) bool { return st.Removal.Since.Before(d.Memory.Since) }

// late says which of the node's pods has not left in its time and ends the drain, nil when none does.
func (d *Removal) late(st *candidate) *reason.Reason {
	r := d.Policy.Removal
	for _, p := range st.Movers {
		limit, over := r.DrainTime(p), r.Overdue(p)
		due := st.Removal.Since.Add(limit)
		switch {
		case over == policy.Wait:
		case d.Now.Before(due):
			d.Wake(due)
		case over == policy.Force && p.Leaving(): // it saves its work
		default:
			return new(reason.New(reason.PodOverdue, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "limit", limit))
		}
	}
	return nil
}

// evict evicts those of a node's pods whose turn it is, as disruption budgets let them, and says why it evicts and what waits. Pods of a later
// turn leave when these are gone.
func (d *Removal) evict(st *candidate, pods []*cluster.Pod, why reason.Reason) []reason.Reason {
	because := []reason.Reason{why}
	if _, stops := stopping(st.Node); stops {
		return append(because, node.Noticed(st.Node)) // they have been told
	}
	if rests := d.evictionRests(st); rests != nil {
		return []reason.Reason{*rests, why}
	}
	turn, later := d.turn(pods)
	for _, p := range pods {
		if p.Leaving() || d.Policy.Removal.Turn(p) != turn {
			continue
		}
		if held := d.BudgetRefuses(p); held != nil {
			because = append(because, *held)
			continue
		}
		d.Disrupt(p)
		d.empties(st)
		d.Ladder = append(d.Ladder, action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: st.Name(), Grace: d.Policy.Removal.Grace(p), Notice: "", Because: why})
	}
	if later > 0 {
		because = append(because, reason.New(reason.PodsLater, reason.Ref{}, "pods", later))
	}
	return because
}

// turn is whose turn it is to leave, and how many pods come later.
func (d *Removal) turn(pods []*cluster.Pod) (turn, later int) {
	r := d.Policy.Removal
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
