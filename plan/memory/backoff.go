package memory

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
)

// lengthened is the rest after one more deletion that failed: it begins short, because most such failures pass, and doubles up to
// the first back-off of growth, or up to five minutes where that is shorter (S-31). Where the cloud says how long to wait, that is all.
func (b Backoff) lengthened(r Result, allowed *policy.Policy) Backoff {
	if r.Kind == "throttled" && r.RetryAfter > 0 {
		return Backoff{Until: r.At.Add(r.RetryAfter), Length: b.Length, Last: r.At, Code: r.Code, Message: r.Message}
	}
	length := max(r.RetryAfter, min(max(2*b.Length, transientPause), max(allowed.Growth.Backoff.Initial, longestRest)))
	return Backoff{Until: r.At.Add(length), Length: length, Last: r.At, Code: r.Code, Message: r.Message}
}

// backoffAfter is the back-off after a failed growth. A lost race needs none: the next cycle plans from a new read. One of which the cloud
// says that a read does not help, and further ones in a row, pause longer and longer, up to a minute (S-31). A passing fault and a throttle
// end by themselves and do not lengthen the next back-off.
func backoffAfter(b Backoff, a action.SetCapacity, r Result, races int, allowed *policy.Policy) Backoff {
	pause := transientPause
	switch r.Kind {
	case "conflict":
		if races <= freeRaces && r.RetryAfter == 0 {
			return b
		}
		pause = min(transientPause<<min(max(races-freeRaces, 0), 10), longestRace)
		fallthrough
	case "throttled", "transient":
		return b.Brief(cluster.Failure{At: r.At, Code: r.Code, Message: r.Message, Rest: max(r.RetryAfter, pause)})
	}
	return b.Failed(cluster.Failure{At: r.At, Kind: r.Kind, Code: r.Code, Message: r.Message, Quota: r.Quota}, a.From, a.To, allowed)
}

// Brief is the back-off after a failure that passes by itself. It does not lengthen the next one.
func (b Backoff) Brief(f cluster.Failure) Backoff {
	if until := f.At.Add(f.Rest); until.After(b.Until) {
		if !f.At.Before(b.Until) {
			b.Ceiling = 0 // of a quota that is forgotten
		}
		b.Until, b.Last, b.Code, b.Message = until, f.At, f.Code, f.Message
	}
	return b
}

// unshown is the back-off after the cloud has accepted one capacity again and again, and no read shows it. The first repetitions need none:
// a read may be old. Further ones pause longer and longer, up to the first back-off (S-31).
func (b Backoff) unshown(repeats int, a action.SetCapacity, at time.Time, allowed *policy.Policy) Backoff {
	if repeats < freeRepeats {
		return b
	}
	if until := at.Add(min(transientPause<<min(repeats-freeRepeats+1, 10), allowed.Growth.Backoff.Initial)); until.After(b.Until) {
		b.Until, b.Last, b.Code = until, at, "CapacityNotShown"
		b.Message = fmt.Sprintf("the cloud has accepted %d requests for a capacity of %d, and its answers still say %d", repeats+1, a.To, a.From)
	}
	return b
}

// Failed starts or lengthens the back-off of a group that has so many machines and could not have the capacity that was asked for. A
// failure while one runs keeps its length. A quota that has some room left lets the group grow by as much, but never again to what has
// failed: a cloud that promises more than it gives is asked for less each time (S-31).
func (b Backoff) Failed(f cluster.Failure, has, asked int, allowed *policy.Policy) Backoff {
	first, most := allowed.Growth.Backoff.Of(f.Kind)
	switch {
	case b.Length == 0 || f.At.Sub(b.Last) > allowed.Growth.Backoff.Reset:
		b.Length = first
	case !f.At.Before(b.Until):
		b.Length = min(2*b.Length, most)
	}
	b.Length = min(max(b.Length, first), most)
	out := Backoff{Until: f.At.Add(b.Length), Length: b.Length, Last: f.At, Code: f.Code, Message: f.Message}
	if f.Quota != nil && f.Quota.Left > 0 {
		out.Ceiling = max(0, min(has+f.Quota.Left, asked-1))
	}
	return out
}

// from is the back-off that another process began, in one that begins now: it lasts no longer than it was meant to, however far ahead that
// one's clock was.
func (b Backoff) from(now time.Time) Backoff {
	if b.Last.After(now) {
		b.Until, b.Last = now.Add(b.Until.Sub(b.Last)), now
	}
	return b
}

// asksAgain is how many growths in a row there are with one that is decided now.
func (g GroupMemory) asksAgain(now time.Time, allowed *policy.Policy) int {
	if g.Decided.IsZero() || now.Sub(g.Decided) >= 2*allowed.Growth.BurstWindow {
		return 1
	}
	return g.Asks + 1
}
