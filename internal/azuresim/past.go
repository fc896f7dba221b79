package azuresim

import (
	"slices"
	"time"
)

// past is the store as it was before a change.
type past struct {
	until  time.Time // of the change
	change int       // its number; see [Server.remember]
	store  store
}

// remember keeps the store as it is before something changes it, for as long as
// a fault may ask for it: reads that tell of the past are the past's own answers,
// because every state follows from the store and the time. Without such a fault
// it only counts.
func (s *Server) remember(now time.Time) {
	s.changes++
	keep, oldest := false, now
	for _, f := range s.faults.list {
		switch {
		case f.Frozen:
			keep, oldest = true, time.Time{}
		case f.Stale > 0:
			keep = true
			if t := now.Add(-f.Stale); t.Before(oldest) {
				oldest = t
			}
		}
	}
	if !keep {
		s.past = nil
		return
	}
	s.past = slices.DeleteFunc(s.past, func(p past) bool { return p.until.Before(oldest) })
	s.past = append(s.past, past{now, s.changes, s.store.clone()})
}

// rewind lets a read see the store as it was: when its fault began, or so long
// ago, whichever is later. It returns what ends that.
func (q *request) rewind() (forward func()) {
	f, s := q.cause, q.server
	began := later(f.Injected, f.From)
	t := q.now.Add(-f.Stale)
	if f.Frozen || t.Before(began) {
		t = began
	}
	now, present := q.now, s.store
	q.now = t
	for _, p := range s.past {
		// What changed at the moment the fault began, but after its injection, is not seen yet.
		if p.change > f.origin && (p.until.After(t) || p.until.Equal(t) && t.Equal(began)) {
			s.store = p.store
			break
		}
	}
	return func() { q.now, s.store = now, present }
}
