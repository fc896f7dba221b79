package remove

import (
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Emptying a node comes to nothing when a pod needs the node again before it is empty, or when the drain is given up, whatever for. Mostly
// it is one of those that were evicted from it: the scheduler puts pods where it likes, and one that fits few nodes finds the place taken
// that was meant for it. The same would happen again, for nobody can say where the pods will go the next time: no other node of the group
// is emptied for a while, twice as long each time (S-31).
const (
	firstAborted = 30 * time.Minute
	mostAborted  = 24 * time.Hour

	placed = time.Minute // pods that were evicted longer ago have found their places: what comes then is another need
)

// noteAborted remembers that a node is given back whose pods were being evicted, from then on.
//
// evicts is when the pause after the cordon ends and evictions begin. What counts:
//
//	given back                                         counts
//	it was cordoned as idle, quiescing or on request   no
//	before evictions began                             no: no pod was moved
//	more than a minute after its last eviction         no: the pods have found places, what comes is another need
//	it was cordoned before the last one that counted   no: drains that ran side by side count once
//	any other                                          yes
//
// The backoff is twice as long as the last one, a day at most, if the last one ended less than its own length ago.
func (ev *evictions) noteAborted(st *candidate, evicts time.Time) {
	r, m := st.Removal, ev.Memory.Groups[st.Group]
	switch r.Why {
	case cluster.Idle, cluster.RunsDry, cluster.RanDry, cluster.AskedFor:
		return
	}
	last := memory.Later(evicts, ev.Memory.Emptied[st.Name()].At)
	if ev.Now.Before(evicts) || ev.Now.After(last.Add(placed)) || !r.Since.After(m.AbortedDrain.Last) {
		return
	}
	length := firstAborted
	if b := m.AbortedDrain; ev.Now.Before(b.Until.Add(b.Length)) {
		length = min(2*b.Length, mostAborted)
	}
	m.AbortedDrain = memory.Backoff{Until: ev.Now.Add(length), Length: length, Last: ev.Now}
	ev.Remember(st.Group, m)
}

// backsOff says that nodes of the group are not emptied now because that came to nothing lately, nil when they may be.
//
// It holds underused nodes and savings alone: nobody is evicted from an idle node.
func (ev *evictions) backsOff(st *candidate) *reason.Reason {
	b := ev.Memory.Groups[st.Group].AbortedDrain
	if !ev.Now.Before(b.Until) {
		return nil
	}
	ev.Wake(b.Until)
	return new(reason.New(reason.EmptiedInVain, reason.Node(st.Name()), "group", st.Group, "at", b.Last.UTC().Format(time.RFC3339), "until", b.Until.UTC().Format(time.RFC3339)))
}

// wrongClocks is by how much the clocks of two processes can differ at most, each being wrong by half of it.
const wrongClocks = 3 * time.Minute

// cordonedBy is by when a node was cordoned whose taint is seen now for the first time: now, or sooner where no wrong clock can feign it.
func cordonedBy(said, now time.Time) time.Time {
	if by := said.Add(wrongClocks); by.Before(now) {
		return by
	}
	return now
}

// noticeCordons remembers by when the nodes were cordoned, and forgets the others.
//
// A node that was given back and cordoned again has another time in its taint: its pause begins anew, and a rest after a failed eviction
// ends.
func (ev *evictions) noticeCordons(on []*candidate) {
	var all map[string]memory.Cordoned
	for _, st := range on {
		was, known := ev.Memory.Cordoned[st.Name()]
		if !known || !was.Said.Equal(st.Removal.Since) {
			was = memory.Cordoned{Said: st.Removal.Since, By: cordonedBy(st.Removal.Since, ev.Now)}
		}
		if all == nil {
			all = make(map[string]memory.Cordoned, len(on))
		}
		all[st.Name()] = was
	}
	if !maps.Equal(all, ev.Memory.Cordoned) {
		ev.Memory.Cordoned = all
	}
}

// pausesUntil is until when a node that was cordoned waits for its next step.
func (ev *evictions) pausesUntil(st *candidate) time.Time {
	return ev.Memory.Cordoned[st.Name()].By.Add(ev.Policy.Removal.Pause())
}
