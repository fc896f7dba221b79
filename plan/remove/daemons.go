package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// dismissal is how long daemons that were told to end are waited for before anybody has seen that they do.
const dismissal = 5 * time.Second

// dismisses evicts the daemons of an empty node that the policy lets go, once, and says that it waits for them, nil when it does not, or no longer.
// They hold nobody up: an eviction that fails is not repeated, and a budget over daemons is left alone. A daemon's pod that was made after the
// node was cordoned is in the place of one that was evicted, and stays.
func (d *Removal) dismisses(st *candidate) *reason.Reason {
	if !st.Ready {
		return nil // nobody would tell them
	}
	told, known := d.Memory.Dismissed[st.Name()]
	if !known {
		told = d.Now
	}
	var ends []*cluster.Pod
	waits := 0
	for _, p := range d.daemonsOf(st) {
		switch {
		case p.Leaving():
			if !p.Overstayed(d.Now) {
				waits++
			}
		case known:
			if d.Now.Before(told.Add(dismissal)) {
				waits++
			}
		case d.BudgetRefuses(p) == nil:
			d.Disrupt(p)
			ends = append(ends, p)
		}
	}
	if waits+len(ends) == 0 {
		return nil
	}
	why := reason.New(reason.NodeDismisses, reason.Node(st.Name()), "pods", waits+len(ends))
	for _, p := range ends {
		d.Ladder = append(d.Ladder, action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: st.Name(), Grace: d.Policy.Removal.Grace(p), Notice: "", Because: why})
	}
	if d.dismissed == nil {
		d.dismissed = map[string]time.Time{}
	}
	d.dismissed[st.Name()] = told
	if due := told.Add(dismissal); d.Now.Before(due) {
		d.Wake(due)
	}
	return &why
}

// daemonsOf are the pods of daemons on the node that the policy lets go.
func (d *Removal) daemonsOf(st *candidate) (all []*cluster.Pod) {
	occupied := st.Removal.Why != cluster.Idle
	for _, p := range st.Pods {
		if d.Belongs(p, st.Facts) && d.Policy.Removal.Dismisses(p, occupied) && !p.Finished() && !p.Created().After(st.Removal.Since) {
			all = append(all, p)
		}
	}
	return all
}

// rememberDismissed leaves to the next cycle which nodes' daemons were told to end, and when.
func (d *Removal) rememberDismissed() {
	if !maps.EqualFunc(d.Memory.Dismissed, d.dismissed, time.Time.Equal) {
		d.Memory.Dismissed = d.dismissed
	}
}
