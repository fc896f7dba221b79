package claim

import (
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
)

// Claims makes demands of requests and buffers, and answers them.
type Claims struct {
	*grow.Growth

	requests []*request      // in the snapshot's order
	buffers  []*buffer       // in the snapshot's order
	Answers  []action.Action // to them
	Gates    []action.OpenGate
}

// NewClaims is a cycle that has read no request and no buffer yet.
func NewClaims(growth *grow.Growth) *Claims { return &Claims{Growth: growth} }
