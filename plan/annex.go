package plan

import (
	"slices"

	"sluice.dev/sluice/scheduling"
)

// annex is where the pods of one node could move to: nodes that stay and, where a group is given, one more machine of it. Nothing else may ask the
// checker until it is closed.
type annex struct {
	d      *removing
	refuge *scheduling.Refuge
	close  func()
}

// annex makes an annex of these nodes.
func (d *removing) annex(hosts []scheduling.Handle, more *removeGroup) *annex {
	undo := d.check.Mark()
	if more != nil {
		hosts = append(slices.Clip(hosts), d.check.Open(d.template(more.placeGroup, more.nextZone()), "new machine of "+string(more.ID)))
	}
	return &annex{d, d.check.Refuge(hosts...), undo}
}

// holds says whether all pods of the node fit, as the scheduler's rules and the budgets have it.
func (a *annex) holds(st *nodeState) bool {
	for _, p := range st.consent.budgeted {
		if a.d.budgetRefuses(p) != nil {
			return false
		}
	}
	h, _ := a.d.check.Handle(st.Name())
	defer a.refuge.Back()
	return a.refuge.Leave(h, moving(st.sight)) == nil
}
