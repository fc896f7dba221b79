package main

import (
	"context"
	"sync"
	"time"
)

// clock is the simulated Azure's: it runs speed times as fast as the real one. The speed may change; the time never jumps.
type clock struct {
	mu    sync.Mutex
	speed float64
	real  time.Time // when the speed was set
	at    time.Time // what the clock showed then
}

func newClock(speed float64) *clock {
	now := time.Now()
	return &clock{speed: speed, real: now, at: now}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

func (c *clock) read() time.Time {
	return c.at.Add(time.Duration(float64(time.Since(c.real)) * c.speed))
}

func (c *clock) setSpeed(speed float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.real = c.read(), time.Now()
	c.speed = speed
}

// sleep passes d of this clock's time at its present speed, or less when the context ends.
func (c *clock) sleep(ctx context.Context, d time.Duration) {
	c.mu.Lock()
	d = time.Duration(float64(d) / c.speed)
	c.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
