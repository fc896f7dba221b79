package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/reason"
)

// detaches says which volumes an empty node still waits for, nil when there are none or the time for it is over: a machine that is deleted
// with a volume attached keeps the volume from the next node for minutes.
func (d *Removal) detaches(st *candidate) *reason.Reason {
	left := len(d.Attachments()[st.Name()])
	if left == 0 {
		return nil
	}
	limit := d.Policy.Removal.Delay.Detach
	until := d.emptySince(st).Add(limit)
	if !d.Now.Before(until) {
		return nil
	}
	d.Wake(until)
	r := reason.New(reason.NodeDetaching, reason.Node(st.Name()), "volumes", left, "limit", limit)
	return &r
}

// rememberDetaching leaves to the next cycle since when nodes have waited for their volumes.
func (d *Removal) rememberDetaching() {
	if !maps.EqualFunc(d.Memory.Detaching, d.detaching, time.Time.Equal) {
		d.Memory.Detaching = d.detaching
	}
}
