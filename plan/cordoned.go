package plan

import (
	"maps"
	"time"

	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// wrongClocks is by how much the clocks of two processes can differ at most, each being wrong by half of it.
const wrongClocks = 3 * time.Minute

// Cordoned is by when a node on the ladder was cordoned, as this process knows it: the taint says since when by the clock of the process that put it there, and the
// pause after it is measured by one clock.
type Cordoned struct {
	Said time.Time `json:"said"` // what the taint says
	By   time.Time `json:"by"`   // not later than this, by the clock of this process

	Refused Backoff `json:"refused,omitzero"` // from evicting its pods
}

// cordonedBy is by when a node was cordoned whose taint is seen now for the first time: now, or sooner where no wrong clock can feign it.
func cordonedBy(said, now time.Time) time.Time {
	if by := said.Add(wrongClocks); by.Before(now) {
		return by
	}
	return now
}

// noticeCordons remembers by when the nodes on the ladder were cordoned, and forgets the others.
func (d *removing) noticeCordons(on []*nodeState) {
	var all map[string]Cordoned
	for _, st := range on {
		was, known := d.m.Cordoned[st.Name()]
		if !known || !was.Said.Equal(st.removal.Since) {
			was = Cordoned{Said: st.removal.Since, By: cordonedBy(st.removal.Since, d.now)}
		}
		if all == nil {
			all = make(map[string]Cordoned, len(on))
		}
		all[st.Name()] = was
	}
	if !maps.Equal(all, d.m.Cordoned) {
		d.m.Cordoned = all
	}
}

// pausesUntil is until when a node that was cordoned waits for its next step.
func (d *removing) pausesUntil(st *nodeState) time.Time {
	return d.m.Cordoned[st.Name()].By.Add(d.allowed.Removal.Pause())
}

// evictionRests says until when no pod of the node is evicted, since that failed; nil when it did not.
func (d *removing) evictionRests(st *nodeState) *reason.Reason {
	rest := d.m.Cordoned[st.Name()].Refused
	if !rest.Until.After(d.now) {
		return nil
	}
	d.wake(rest.Until)
	return new(reason.New(reason.EvictionRests, reason.Node(st.Name()), "node", st.Name(), "until", rest.Until.Format(time.RFC3339), "message", rest.Message))
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
