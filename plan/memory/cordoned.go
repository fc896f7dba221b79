package memory

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Cordoned is by when a node on the ladder was cordoned, as this process knows it: the taint says since when by the clock of the process that put it there, and the
// pause after it is measured by one clock.
type Cordoned struct {
	Said time.Time `json:"said"` // what the taint says
	By   time.Time `json:"by"`   // not later than this, by the clock of this process

	Refused Backoff `json:"refused,omitzero"` // from evicting its pods
}

// evicted is the same after an eviction that a cycle asked for: of several that fail together the first counts.
func (c Cordoned) evicted(r Result, cycle time.Time, allowed *policy.Policy) Cordoned {
	switch {
	case r.Status == Accepted:
		c.Refused = Backoff{}
	case r.Status == Failed && !c.Refused.Until.After(cycle):
		c.Refused = c.Refused.lengthened(r, allowed)
	}
	return c
}

// Jumped is the memory after the clock of this process was put forward, while it ran: what is measured between two cycles began as much later.
func (m Memory) Jumped(by time.Duration) Memory {
	if by <= 0 || len(m.Cordoned) == 0 {
		return m
	}
	m.Cordoned = maps.Clone(m.Cordoned)
	for name, c := range m.Cordoned {
		c.By = c.By.Add(by)
		m.Cordoned[name] = c
	}
	return m
}

// Consolidation moves pods that run well, only because the same could run for less. It is opt-in, one node at a time, and only when nothing else
// moves: a node whose pods all fit onto others, or onto others and one machine of another size that costs less. What that saves within the
// time for which it is expected to last must be worth more than moving costs. A replacement is bought first; when it is Ready, and the pods
// still fit, the node steps on the ladder as any other.

// Consolidation is what one cycle leaves to the next of a node that could be emptied for a saving.
type Consolidation struct {
	Node    string          `json:"node"`
	Since   time.Time       `json:"since"`              // it has been worth it without a break
	Group   cluster.GroupID `json:"group,omitempty"`    // of its replacement, "" when there needs to be none
	Asked   time.Time       `json:"asked,omitzero"`     // when that was asked for
	Stepped bool            `json:"stepped,omitempty"`  // the node is on the ladder
	Saving  float64         `json:"savingUSDPerHour"`   // what that saves
	Spent   Usage           `json:"spentDay,omitempty"` // nodes of the last day; it stays when the rest is over
}

// Over is what stays when a consolidation has ended or was given up.
func (c Consolidation) Over() Consolidation { return Consolidation{Spent: c.Spent} }
