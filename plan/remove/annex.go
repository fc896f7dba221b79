package remove

import (
	"slices"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// annex is where the pods of one node could move to: nodes that stay and, where a group is given, one more machine of it. Nothing else may ask the
// checker until it is closed.
type annex struct {
	d      *Removal
	refuge *scheduling.Destinations
	close  func()
}

// annex makes an annex of these nodes.
func (d *Removal) annex(hosts []scheduling.Handle, more *Outgoing) *annex {
	undo := d.Check.Mark()
	if more != nil {
		hosts = append(slices.Clip(hosts), d.Check.Open(d.Template(more.Incoming, more.NextZone()), "new machine of "+string(more.ID)))
	}
	return &annex{d, d.Check.Destinations(hosts...), undo}
}

// holds says whether all pods of the node fit, as the scheduler's rules and the budgets have it.
func (a *annex) holds(st *candidate) bool {
	for _, p := range st.Consent.Budgeted {
		if a.d.BudgetRefuses(p) != nil {
			return false
		}
	}
	h, _ := a.d.Check.Handle(st.Name())
	defer a.refuge.Back()
	return a.refuge.Leave(h, node.Moving(st.Facts)) == nil
}
