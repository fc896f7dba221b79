package policy

import (
	"cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// Fleet are the limits by which the ledger of machines judges writes to the group, nil for one that is not known, however old what it
// knows is.
func (p *Policy) Fleet(g *cluster.Group) fleet.Limits {
	if g == nil {
		return fleet.Limits{}
	}
	r := p.Removal.Of(g.Options)
	work := max(r.UnreadyTime, cmp.Or(r.Lost, fleet.WorkLost))
	return fleet.Limits{Min: g.Min, Max: g.Max, Owned: true, Budget: r.Emptied.Percent, LostFor: r.UnreadyTime, WorkFor: work}
}
