package app

import (
	"context"
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
)

// Timing says when cycles run. A zero field takes its default.
type Timing struct {
	Resync time.Duration // a cycle at least so often, whatever happens (--scan-interval); 10 s
	Quiet  time.Duration // after something happened, wait until nothing more has for this long; 250 ms
	Most   time.Duration // but no longer than this after the first; 2 s
	Retry  time.Duration // after a lost race or a refusal; doubles while they go on, up to Resync; 1 s
}

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&t.Resync, 10 * time.Second}, {&t.Quiet, 250 * time.Millisecond}, {&t.Most, 2 * time.Second}, {&t.Retry, time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return t
}

// shortestPause keeps a timer that is due from turning the loop without a break.
const shortestPause = 20 * time.Millisecond

// poller is a cloud provider that watches operations and says when it wants to be asked again.
type poller interface{ NextPoll() time.Time }

// Run turns the loop until ctx is done, whose error it returns. A cycle runs when something happened that may change the decision,
// when a timer of the plan or the cloud runs out, and after --scan-interval at the latest. Cycles that fail are tried again.
func (a *Autoscaler) Run(ctx context.Context) error {
	timing := a.parts.Timing
	retry := timing.Retry
	for {
		entry, err := a.Step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := timing.Resync
		switch {
		case err != nil:
			a.parts.Log.Warn("cycle failed", "cycle", a.cycle, "err", err)
		case again(entry):
			wait = min(wait, retry)
			retry = min(2*retry, timing.Resync)
		default:
			retry = timing.Retry
		}
		if err == nil {
			wait = a.until(wait, entry.Plan.Next)
		}
		if p, ok := a.parts.Cloud.(poller); ok {
			wait = a.until(wait, p.NextPoll())
		}
		if !a.pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// until shortens wait to end at t, if t is set.
func (a *Autoscaler) until(wait time.Duration, t time.Time) time.Duration {
	if t.IsZero() {
		return wait
	}
	return max(shortestPause, min(wait, t.Sub(a.parts.Now())))
}

// again says whether an action did not come out as decided, so that a new decision, which knows of it, may do better at once: plan
// from a new read, or turn to the next-best group.
func again(entry journal.Entry) bool {
	for _, r := range entry.Results {
		if r.Status == plan.Refused || r.Status == plan.Failed {
			return true
		}
	}
	return false
}

// pause waits, but only until something happens in the cluster and things have then been quiet for a moment. It says whether
// ctx still runs.
func (a *Autoscaler) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-a.observer.Triggers():
	}
	most := time.NewTimer(a.parts.Timing.Most)
	defer most.Stop()
	for {
		timer.Reset(a.parts.Timing.Quiet)
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-most.C:
			return true
		case <-a.observer.Triggers():
		}
	}
}
