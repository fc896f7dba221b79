package azure

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// takenFor is how long it is told that machines left by another hand.
const takenFor = time.Hour

// taken is what left the group by another hand within [takenFor].
func (s *state) taken(g *group) cluster.Taken {
	n, first, last := s.options.Ledger.Ledger().Taken(fleet.GroupID(g.id), fleet.At(s.now().Add(-takenFor)))
	return cluster.Taken{Machines: n, First: first.Time(), Last: last.Time()}
}
