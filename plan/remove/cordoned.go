package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// wrongClocks is by how much the clocks of two processes can differ at most, each being wrong by half of it.
const wrongClocks = 3 * time.Minute

// cordonedBy is by when a node was cordoned whose taint is seen now for the first time: now, or sooner where no wrong clock can feign it.
func cordonedBy(said, now time.Time) time.Time {
	if by := said.Add(wrongClocks); by.Before(now) {
		return by
	}
	return now
}

// noticeCordons remembers by when the nodes on the ladder were cordoned, and forgets the others.
func (d *Removal) noticeCordons(on []*candidate) {
	var all map[string]memory.Cordoned
	for _, st := range on {
		was, known := d.Memory.Cordoned[st.Name()]
		if !known || !was.Said.Equal(st.Removal.Since) {
			was = memory.Cordoned{Said: st.Removal.Since, By: cordonedBy(st.Removal.Since, d.Now)}
		}
		if all == nil {
			all = make(map[string]memory.Cordoned, len(on))
		}
		all[st.Name()] = was
	}
	if !maps.Equal(all, d.Memory.Cordoned) {
		d.Memory.Cordoned = all
	}
}

// pausesUntil is until when a node that was cordoned waits for its next step.
func (d *Removal) pausesUntil(st *candidate) time.Time {
	return d.Memory.Cordoned[st.Name()].By.Add(d.Policy.Removal.Pause())
}

// evictionRests says until when no pod of the node is evicted, since that failed; nil when it did not.
func (d *Removal) evictionRests(st *candidate) *reason.Reason {
	rest := d.Memory.Cordoned[st.Name()].Refused
	if !rest.Until.After(d.Now) {
		return nil
	}
	d.Wake(rest.Until)
	return new(reason.New(reason.EvictionRests, reason.Node(st.Name()), "node", st.Name(), "until", rest.Until.Format(time.RFC3339), "message", rest.Message))
}
