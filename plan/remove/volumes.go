package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// vacated are nodes whose pods are gone, and what each still waits for.
type vacated struct {
	*node.View
	*orders
	detaching map[string]time.Time // since when empty nodes wait for volumes
	dismissed map[string]time.Time // when the daemons of empty nodes were told to end
}

// detaches says which volumes an empty node still waits for, nil when there are none or the time for it is over: a machine that is deleted
// with a volume attached keeps the volume from the next node for minutes.
func (va *vacated) detaches(st *candidate) *reason.Reason {
	left := len(va.Attachments()[st.Name()])
	if left == 0 {
		return nil
	}
	limit := va.Policy.Removal.Delay.Detach
	until := va.emptySince(st).Add(limit)
	if !va.Now.Before(until) {
		return nil
	}
	va.Wake(until)
	r := reason.New(reason.NodeDetaching, reason.Node(st.Name()), "volumes", left, "limit", limit)
	return &r
}

// rememberDetaching leaves to the next cycle since when nodes have waited for their volumes.
func (va *vacated) rememberDetaching() {
	if !maps.EqualFunc(va.Memory.Detaching, va.detaching, time.Time.Equal) {
		va.Memory.Detaching = va.detaching
	}
}
