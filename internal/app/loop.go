package app

import (
	"context"
	"time"
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

// poller is a cloud provider that watches operations and says when it wants to be asked again.
type poller interface{ NextPoll() time.Time }

// trigger is a cloud provider that says when it knows more than the last cycle did.
type trigger interface{ Triggers() <-chan struct{} }

// Run turns the loop until ctx is done, whose error it returns. A cycle runs when something happened that may change the decision,
// when an answer of the cloud has come that no cycle waited for, when a timer of the plan or the cloud runs out, and after --scan-interval at the
// latest. Cycles that fail are tried again.
func (a *Autoscaler) Run(ctx context.Context) error {
	pace := NewPace(a.parts.Timing)
	for {
		entry, err := a.Step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.parts.Log.Warn("cycle failed", "cycle", a.cycle, "err", err)
		}
		var polls time.Time
		if p, ok := a.parts.Cloud.(poller); ok {
			polls = p.NextPoll()
		}
		if !a.pause(ctx, pace.Wait(a.parts.Now(), entry, err, polls)) {
			return ctx.Err()
		}
	}
}

// pause waits, but only until something happens in the cluster and things have then been quiet for a moment. It says whether
// ctx still runs.
func (a *Autoscaler) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var answers <-chan struct{}
	if c, ok := a.parts.Cloud.(trigger); ok {
		answers = c.Triggers()
	}
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-a.observer.Triggers():
	case <-answers:
	}
	for stir := (Stir{}); ; {
		now := time.Now()
		stir.Note(now)
		due, _ := stir.Due(a.parts.Timing)
		timer.Reset(due.Sub(now))
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-a.observer.Triggers():
		case <-answers:
		}
	}
}
