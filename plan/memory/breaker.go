package memory

import (
	"time"
)

// BreaksAt is how many machines of a group may fail to become Ready nodes one after the other before its breaker opens (S-35).
const BreaksAt = 3

// Breaker counts machines of a group that never became Ready nodes, since one did. When it is open, the group gets one machine at a time: the next one
// tells whether they join again. The last that did not is kept for a while, so that somebody can find out why.
type Breaker struct {
	Machines int       `json:"machines,omitempty"` // at most [BreaksAt]
	Last     time.Time `json:"last,omitzero"`      // when the last of them began to be waited for
	Kept     string    `json:"kept,omitempty"`     // the machine that is kept, by its UID
	Until    time.Time `json:"until,omitzero"`     // it is kept at most until then

}

// Equal says whether both breakers stand alike.
func (b Breaker) Equal(other Breaker) bool {
	return b.Machines == other.Machines && b.Kept == other.Kept && b.Last.Equal(other.Last) && b.Until.Equal(other.Until)
}

// Open says whether the group gets one machine at a time.
func (b Breaker) Open() bool { return b.Machines >= BreaksAt }
