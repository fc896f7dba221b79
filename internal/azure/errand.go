package azure

import (
	"context"
	"sync"
	"time"
)

// taskTimeout bounds a question that nobody waits for.
const taskTimeout = 2 * time.Minute

// backgroundTask is a question that nobody waits for: one at a time, in a goroutine of its own that ends with the answer, at the deadline, or
// with the process's context.
type backgroundTask struct {
	ctx     context.Context
	running *sync.WaitGroup // of all errands

	mu      sync.Mutex
	busy    bool
	again   time.Time // no sooner
	hurried bool
}

// run starts the question unless it is on its way or was asked too recently. Do says how long its answer serves.
func (e *backgroundTask) run(now func() time.Time, do func(context.Context) time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy || now().Before(e.again) || e.ctx.Err() != nil {
		return
	}
	e.busy = true
	e.running.Go(func() {
		ctx, cancel := context.WithTimeout(e.ctx, taskTimeout)
		defer cancel()
		serves := do(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.busy, e.hurried, e.again = false, false, now().Add(serves)
	})
}

// hurry lets the next question be asked sooner by so much.
func (e *backgroundTask) hurry(by time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.hurried {
		e.hurried, e.again = true, e.again.Add(-by)
	}
}
