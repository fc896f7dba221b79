package plan

import (
	"slices"

	"sluice.dev/sluice/scheduling"
)

// annex is where the pods of one node could move to: nodes that stay and, where a group is given, one more machine of it. It asks the checker
// only about what is not remembered. Nothing else may ask the checker until it is closed.
type annex struct {
	d      *decision
	more   *groupState
	state  scheduling.State
	undo   func() // of the machine; nil while there is none
	refuge *scheduling.Refuge
}

func (d *decision) annex(more *groupState) *annex {
	a := &annex{d: d, more: more, state: d.check.State()}
	if more != nil {
		d.onEmpty(site{groupState: more, zone: more.nextZone()}, func(scheduling.Handle) { a.state = d.check.State() })
	}
	return a
}

// holds says whether all pods of the node fit, as the scheduler's rules and the budgets have it.
func (a *annex) holds(st *nodeState) bool {
	for _, p := range st.consent.budgeted {
		if a.d.budgetRefuses(p) != nil {
			return false
		}
	}
	p := a.d.planner
	asked := fit{p.sights[st.at], a.state}
	if fits, known := p.fits.known(asked); known {
		return fits
	}
	a.open()
	h, _ := a.d.check.Handle(st.Name())
	fits := a.refuge.Leave(h, moving(st.sight)) == nil
	a.refuge.Back()
	p.fits.learn(asked, fits)
	return fits
}

func (a *annex) open() {
	if a.refuge != nil {
		return
	}
	d := a.d
	var handles []scheduling.Handle
	for _, v := range d.hosts(slices.Clone(d.planner.hosts)) {
		if h, ok := d.check.Handle(v.Name()); ok {
			handles = append(handles, h)
		}
	}
	a.undo = d.check.Mark()
	if a.more != nil {
		handles = append(handles, d.check.Open(d.template(a.more, a.more.nextZone()), "new machine of "+string(a.more.ID)))
	}
	a.refuge = d.check.Refuge(handles...)
}

func (a *annex) close() {
	if a.undo != nil {
		a.undo()
	}
}
