package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// breaksAt is how many machines of a group may fail to register one after the other before its breaker opens (S-35).
const breaksAt = 3

// Breaker counts machines of a group that never became nodes, since one did. When it is open, the group gets one machine at a time: the next one
// tells whether they join again. The last that did not is kept for a while, so that somebody can find out why.
type Breaker struct {
	Machines int       `json:"machines,omitempty"` // at most [breaksAt]
	Last     time.Time `json:"last,omitzero"`      // when the last of them began to be waited for
	Kept     string    `json:"kept,omitempty"`     // the machine that is kept, by its UID
	Until    time.Time `json:"until,omitzero"`     // it is kept at most until then
}

// open says whether the group gets one machine at a time.
func (b Breaker) open() bool { return b.Machines >= breaksAt }

// unjoined are the group's machines that never became nodes although they have had their time. One that is lost was a node.
func (d *decision) unjoined(st *groupState) []*cluster.Instance {
	var all []*cluster.Instance
	for _, in := range st.nodeless {
		if in.State.Expected() && !d.m.Lost[in.UID] && d.overdue(in) && d.suspect(in) == nil && d.s.Stray(in.ComputerName) == nil {
			all = append(all, in)
		}
	}
	return all
}

// turnBreaker counts the machines that have run out of time since the last cycle, and closes the breaker when one has joined since they began to
// be waited for, or when nothing has been tried for as long as a back-off is remembered. Of machines that came with one which joined none counts.
func (d *decision) turnBreaker(b Breaker, st *groupState, unjoined []*cluster.Instance) Breaker {
	if b == (Breaker{}) && len(unjoined) == 0 {
		return b
	}
	joined, counted := d.lastJoin(st.ID), b.Last
	if joined.After(b.Last) || d.now.Sub(b.Last) > d.allowed.Growth.BackoffReset {
		b.Machines = 0
	}
	if !d.now.Before(b.Until) {
		b.Kept, b.Until = "", time.Time{}
	}
	for _, in := range unjoined {
		since := d.m.Nodeless[in.UID]
		if !since.After(counted) || !since.After(joined) {
			continue
		}
		b.Machines = min(b.Machines+1, breaksAt)
		if since.After(b.Last) {
			b.Last = since
		}
		if keep := d.allowed.Removal.KeepUnjoined; b.open() && keep > 0 {
			b.Kept, b.Until = in.UID, d.now.Add(keep)
		}
	}
	return b
}

// lastJoin is when the youngest node of the group registered whose machine is there.
func (d *decision) lastJoin(g cluster.GroupID) (at time.Time) {
	for _, n := range d.s.Nodes {
		if n.Group == g && n.Instance != nil && n.Object.CreationTimestamp.After(at) {
			at = n.Object.CreationTimestamp.Time
		}
	}
	return at
}

// tries says that the group gets one machine at a time and has it, with extra ones beyond those that it adds; nil when it may have one more.
func (d *decision) tries(st *groupState, extra int) *reason.Reason {
	if b := d.m.Groups[st.ID].Breaker; !b.open() || st.coming+st.adding+extra < 1 {
		return nil
	}
	return new(d.broken(st.ID))
}

// broken says that the group's breaker is open.
func (d *decision) broken(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupBreaker, reason.Group(string(g)), "machines", breaksAt)
}

// inspected says until when the machine is kept so that somebody can find out why it never became a node; nil when it is not, or when its group
// has no room for another one beside it.
func (d *decision) inspected(st *groupState, in *cluster.Instance) *reason.Reason {
	b := d.m.Groups[st.ID].Breaker
	if b.Kept != in.UID || d.believed(st)+st.adding >= st.Max {
		return nil
	}
	d.wake(b.Until)
	return new(reason.New(reason.MachineInspected, reason.Instance(string(st.ID), string(in.ID)), "until", b.Until.Format(time.RFC3339)))
}
