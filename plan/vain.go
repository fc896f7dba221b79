package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Emptying a node comes to nothing when a pod needs the node again before it is empty, or when the drain is given up, whatever for. Mostly it is one of those that were evicted from it: the
// scheduler puts pods where it likes, and one that fits few nodes finds the place taken that was meant for it. The same would happen again, for nobody
// can say where the pods will go the next time: no other node of the group is emptied for a while, twice as long each time (S-31).
const (
	firstVain = 30 * time.Minute
	mostVain  = 24 * time.Hour

	placed = time.Minute // pods that were evicted longer ago have found their places: what comes then is another need
)

// noteVain remembers that a node is given back whose pods were being evicted, from then on.
func (d *removing) noteVain(st *nodeState, evicts time.Time) {
	r, m := st.removal, d.m.Groups[st.Group]
	switch r.Why {
	case cluster.Idle, cluster.RunsDry, cluster.RanDry, cluster.AskedFor:
		return
	}
	last := later(evicts, d.m.Emptied[st.Name()].At)
	if d.now.Before(evicts) || d.now.After(last.Add(placed)) || !r.Since.After(m.Vain.Last) {
		return
	}
	length := firstVain
	if b := m.Vain; d.now.Before(b.Until.Add(b.Length)) {
		length = min(2*b.Length, mostVain)
	}
	m.Vain = Backoff{Until: d.now.Add(length), Length: length, Last: d.now}
	d.remember(st.Group, m)
}

// vain says that nodes of the group are not emptied now because that came to nothing lately, nil when they may be.
func (d *removing) vain(st *nodeState) *reason.Reason {
	b := d.m.Groups[st.Group].Vain
	if !d.now.Before(b.Until) {
		return nil
	}
	d.wake(b.Until)
	return new(reason.New(reason.EmptiedInVain, reason.Node(st.Name()), "group", st.Group, "at", b.Last.UTC().Format(time.RFC3339), "until", b.Until.UTC().Format(time.RFC3339)))
}
