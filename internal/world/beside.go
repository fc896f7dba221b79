package world

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// beside is the azure.Runner of a world: what is asked beside others runs until it has to wait for an answer, and goes on when the world's clock
// has come to the time of that. One of them runs at a time, and the world's goroutine waits meanwhile, so that a history is the same each
// time.
type beside struct {
	clock *simClock
	tasks []*task   // that wait for time to pass, in the order in which they began to
	idle  []*strand // that tasks ran on which have ended
}

// task is what runs beside others.
type task struct {
	ctx  context.Context
	wake time.Time
	on   *strand

	yield func(time.Time) bool
	ended bool
}

// strand is what tasks run on, one after the other: a new one would have to grow a stack for each request.
type strand struct {
	run  func(yield func(time.Time) bool) (ended bool) // a task, from its begin to its end
	next func() (time.Time, bool)                      // runs it on, until it waits again, or has ended: then the time is zero
	stop func()                                        // ends it: what it waits for never comes
}

func newStrand() *strand {
	s := &strand{}
	s.next, s.stop = iter.Pull(func(yield func(time.Time) bool) {
		for !s.run(yield) && yield(time.Time{}) {
		}
	})
	return s
}

type taskKey struct{}

// taskOf is the task that a request belongs to, nil for none.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

// holdsOthers says whether others wait for the answer to a request in a way that the world does not know: the clock goes on for all of them.
func holdsOthers(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/token") || strings.HasSuffix(strings.ToLower(r.URL.Path), "/autoscalesettings")
}

// alone is the request of no task.
func alone(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), taskKey{}, (*task)(nil)))
}

// sleep waits until a time, unless the task has been ended.
func (t *task) sleep(until time.Time) {
	if !t.ended {
		t.ended = !t.yield(until)
	}
}

// Go implements azure.Runner.
func (b *beside) Go(ctx context.Context, f func(context.Context)) {
	t := &task{ctx: ctx}
	if last := len(b.idle) - 1; last >= 0 {
		t.on, b.idle = b.idle[last], b.idle[:last]
	} else {
		t.on = newStrand()
	}
	t.on.run = func(yield func(time.Time) bool) bool {
		t.yield = yield
		f(context.WithValue(ctx, taskKey{}, t))
		return t.ended
	}
	b.run(t)
}

// run runs a task on.
func (b *beside) run(t *task) {
	wake, goes := t.on.next()
	switch t.wake = wake; {
	case !goes:
	case wake.IsZero():
		b.idle = append(b.idle, t.on)
	default:
		b.tasks = append(b.tasks, t)
	}
}

// Settle implements azure.Runner.
func (b *beside) Settle(running *sync.WaitGroup) { running.Wait() }

// Await implements azure.Runner.
func (b *beside) Await(ctx context.Context, done <-chan struct{}, d time.Duration) {
	until := b.clock.now().Add(d)
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		default:
		}
		next := b.wakes()
		if next.IsZero() || next.After(until) {
			break
		}
		b.clock.forward(next)
		b.wake()
	}
	b.clock.forward(until)
}

// wakes is when the next task goes on; zero when none waits.
func (b *beside) wakes() (next time.Time) {
	for _, t := range b.tasks {
		if next.IsZero() || t.wake.Before(next) {
			next = t.wake
		}
	}
	return next
}

// wake runs on, one after the other, the tasks whose time has come, and ends those whose process is gone.
func (b *beside) wake() {
	b.tasks = slices.DeleteFunc(b.tasks, func(t *task) bool {
		gone := t.ctx.Err() != nil
		if gone {
			t.on.stop()
		}
		return gone
	})
	for next := b.wakes(); !next.IsZero() && !next.After(b.clock.now()); next = b.wakes() {
		i := slices.IndexFunc(b.tasks, func(t *task) bool { return t.wake.Equal(next) })
		t := b.tasks[i]
		b.tasks = slices.Delete(b.tasks, i, i+1)
		b.run(t)
	}
}

// end ends all of them.
func (b *beside) end() {
	for _, t := range b.tasks {
		t.on.stop()
	}
	for _, s := range b.idle {
		s.stop()
	}
	b.tasks, b.idle = nil, nil
}
