package plan

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// dismissal is how long daemons that were told to end are waited for before anybody has seen that they do.
const dismissal = 5 * time.Second

// dismisses evicts the daemons of an empty node that the policy lets go, once, and says that it waits for them, nil when it does not, or no longer.
// They hold nobody up: an eviction that fails is not repeated, and a budget over daemons is left alone. A daemon's pod that was made after the
// node was cordoned is in the place of one that was evicted, and stays.
func (d *removing) dismisses(st *nodeState) *reason.Reason {
	if !st.ready {
		return nil // nobody would tell them
	}
	told, known := d.m.Dismissed[st.Name()]
	if !known {
		told = d.now
	}
	var ends []*cluster.Pod
	waits := 0
	for _, p := range d.daemonsOf(st) {
		switch {
		case p.Leaving():
			if !p.Overstayed(d.now) {
				waits++
			}
		case known:
			if d.now.Before(told.Add(dismissal)) {
				waits++
			}
		case d.budgetRefuses(p) == nil:
			d.disrupt(p)
			ends = append(ends, p)
		}
	}
	if waits+len(ends) == 0 {
		return nil
	}
	why := reason.New(reason.NodeDismisses, reason.Node(st.Name()), "pods", waits+len(ends))
	for _, p := range ends {
		d.ladder = append(d.ladder, Evict{p.Namespace, p.Name, p.UID, st.Name(), d.allowed.Removal.Grace(p), "", why})
	}
	if d.dismissed == nil {
		d.dismissed = map[string]time.Time{}
	}
	d.dismissed[st.Name()] = told
	if due := told.Add(dismissal); d.now.Before(due) {
		d.wake(due)
	}
	return &why
}

// daemonsOf are the pods of daemons on the node that the policy lets go.
func (d *removing) daemonsOf(st *nodeState) (all []*cluster.Pod) {
	occupied := st.removal.Why != cluster.Idle
	for _, p := range st.Pods {
		if d.belongs(p, st.sight) && d.allowed.Removal.Dismisses(p, occupied) && !p.Finished() && !p.Created().After(st.removal.Since) {
			all = append(all, p)
		}
	}
	return all
}

// rememberDismissed leaves to the next cycle which nodes' daemons were told to end, and when.
func (d *removing) rememberDismissed() {
	if !maps.EqualFunc(d.m.Dismissed, d.dismissed, time.Time.Equal) {
		d.m.Dismissed = d.dismissed
	}
}
