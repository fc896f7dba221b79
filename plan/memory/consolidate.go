package memory

import (
	"time"

	"sluice.dev/sluice/cluster"
)

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
