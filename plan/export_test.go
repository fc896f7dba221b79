package plan

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Witness hears how places are found.
type Witness = witness

// DecideBefore is [Decide] before a witness.
func DecideBefore(w Witness, s *cluster.Snapshot, allowed *policy.Policy, m Memory) (Plan, Memory) {
	d := new(Planner).begin(s, allowed, m)
	d.room.witness = w
	return d.decide()
}

// Lodged is how many of the pods that wait stand on their nodes from cycle to cycle.
func (p *Planner) Lodged() int { return p.check.Lodged() }
