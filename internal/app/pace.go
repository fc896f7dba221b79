package app

import (
	"slices"
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

// shortestPause keeps a timer that is due from turning the loop without a break.
const shortestPause = 20 * time.Millisecond

// Pace says how long the loop waits after each cycle when nothing happens. Whoever turns the loop by hand keeps one.
type Pace struct {
	timing Timing
	retry  time.Duration
}

// NewPace begins with Timing's shortest retry. A zero field of timing takes its default.
func NewPace(timing Timing) *Pace {
	timing = timing.withDefaults()
	return &Pace{timing: timing, retry: timing.Retry}
}

// Wait is how long to wait after a cycle that ended now with this entry or error. polls is when the cloud provider wants to be asked
// again, zero when it does not care.
func (p *Pace) Wait(now time.Time, entry journal.Entry, err error, polls time.Time) time.Duration {
	wait := p.timing.Resync
	until := func(t time.Time) {
		if !t.IsZero() {
			wait = max(shortestPause, min(wait, t.Sub(now)))
		}
	}
	until(polls)
	if err != nil {
		return wait
	}
	until(entry.Plan.Next)
	if asked(entry) || deferred(entry) {
		return shortestPause
	}
	if !again(entry) {
		p.retry = p.timing.Retry
		return wait
	}
	wait = min(wait, p.retry)
	p.retry = min(2*p.retry, p.timing.Resync)
	return wait
}

// Stir is what happened since the last cycle that may change the decision. The zero value is nothing.
type Stir struct{ first, last time.Time }

// Note notes that something happened now.
func (s *Stir) Note(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
}

// Due is when the next cycle runs for its sake: once things have been quiet for a moment, and not too long after they began. It is not asked
// for while nothing has happened.
func (s Stir) Due(t Timing) (due time.Time, stirred bool) {
	quiet, most := s.last.Add(t.Quiet), s.first.Add(t.Most)
	if most.Before(quiet) {
		quiet = most
	}
	return quiet, !s.first.IsZero()
}

// asked says whether a question was put that the next cycle decides with.
func asked(entry journal.Entry) bool {
	return slices.ContainsFunc(entry.Plan.Actions, func(a action.Action) bool { _, is := a.(action.AskExpander); return is })
}

// deferred says whether the cycle left actions to the next one, since others took so long.
func deferred(entry journal.Entry) bool {
	return slices.ContainsFunc(entry.Results, func(r memory.Result) bool { return r.Status == memory.Deferred })
}

// again says whether an action did not come out as decided, so that a new decision, which knows of it, may do better at once: plan
// from a new read, or turn to the next-best group.
func again(entry journal.Entry) bool {
	for _, r := range entry.Results {
		if r.Status == memory.Refused || r.Status == memory.Failed {
			return true
		}
	}
	return false
}

// jump is by how much the clock was put forward while so much time passed on it, and so much on one that nobody puts forward; 0 for what the two differ by anyway.
func jump(shown, passed time.Duration) time.Duration {
	if by := shown - passed; by > 100*time.Millisecond {
		return by
	}
	return 0
}
