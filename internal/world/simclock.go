package world

import (
	"sync/atomic"
	"time"
)

// simClock is a scenario's clock: it stands still while anybody acts, and who drives the scenario turns it on. Any goroutine may read it.
type simClock struct{ nanos atomic.Int64 }

// start is when every scenario begins: midnight, so that times of day read like times since the start.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newClock() *simClock {
	c := &simClock{}
	c.set(start)
	return c
}

func (c *simClock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }

// elapsed is the time since the start.
func (c *simClock) elapsed() time.Duration { return c.now().Sub(start) }

func (c *simClock) set(to time.Time) { c.nanos.Store(to.UnixNano()) }

func (c *simClock) add(d time.Duration) { c.nanos.Add(int64(d)) }

// forward turns the clock to a time, and never back.
func (c *simClock) forward(to time.Time) {
	if to.After(c.now()) {
		c.set(to)
	}
}
