package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stopLimit bounds how long one component may take to end before Stop reports it and goes on with the next.
const stopLimit = 20 * time.Second

// component is one part of the control plane, running in a goroutine of its own.
type component struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed when the component has ended
	err    error         // why it ended; read only after done
}

// run starts f in a goroutine. Its context ends with the component's stop, not with the context of Start.
func run(name string, f func(context.Context) error) *component {
	ctx, cancel := context.WithCancel(context.Background())
	c := &component{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = errors.New("ended by itself") // stands when f leaves through runtime.Goexit, see log.go
		c.err = f(ctx)
	}()
	return c
}

// await polls ready until it answers nil. It gives up with ctx, or when the component ends.
func (c *component) await(ctx context.Context, what string, ready func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s: ended before %s: %w", c.name, what, c.err)
		case <-ctx.Done():
			return fmt.Errorf("%s: wait for %s: %w, last answer: %w", c.name, what, context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// stop cancels the component and waits for its end. What a component answers to its own cancellation is not an error;
// having ended earlier is.
func (c *component) stop() error {
	select {
	case <-c.done:
		return fmt.Errorf("%s: ended before Stop: %w", c.name, c.err)
	default:
	}
	c.cancel()
	select {
	case <-c.done:
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("%s: still running %s after Stop", c.name, stopLimit)
	}
}
