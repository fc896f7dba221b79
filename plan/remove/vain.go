package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
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
func (d *Removal) noteVain(st *candidate, evicts time.Time) {
	r, m := st.Removal, d.Memory.Groups[st.Group]
	switch r.Why {
	case cluster.Idle, cluster.RunsDry, cluster.RanDry, cluster.AskedFor:
		return
	}
	last := memory.Later(evicts, d.Memory.Emptied[st.Name()].At)
	if d.Now.Before(evicts) || d.Now.After(last.Add(placed)) || !r.Since.After(m.Vain.Last) {
		return
	}
	length := firstVain
	if b := m.Vain; d.Now.Before(b.Until.Add(b.Length)) {
		length = min(2*b.Length, mostVain)
	}
	m.Vain = memory.Backoff{Until: d.Now.Add(length), Length: length, Last: d.Now}
	d.Remember(st.Group, m)
}

// vain says that nodes of the group are not emptied now because that came to nothing lately, nil when they may be.
func (d *Removal) vain(st *candidate) *reason.Reason {
	b := d.Memory.Groups[st.Group].Vain
	if !d.Now.Before(b.Until) {
		return nil
	}
	d.Wake(b.Until)
	return new(reason.New(reason.EmptiedInVain, reason.Node(st.Name()), "group", st.Group, "at", b.Last.UTC().Format(time.RFC3339), "until", b.Until.UTC().Format(time.RFC3339)))
}
