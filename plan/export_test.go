package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
)

// DecideBefore is [Decide] before a witness.
func DecideBefore(w place.Witness, s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory) (action.Plan, memory.Memory) {
	d := new(Planner).begin(s, allowed, m)
	d.room.Witness = w
	return d.decide()
}
