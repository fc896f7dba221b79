package kube

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A Background runs what nobody waits for, and what timers begin. A simulation with a clock of its own, by which no timer goes, brings one.
type Background interface {
	// Go runs f; nobody waits for it.
	Go(f func())
	// After runs f in a goroutine of its own when d is over, unless the timer is stopped before.
	After(d time.Duration, f func()) Timer
	// Retries is after which pauses a list or watch that failed is tried again, of those that are usual.
	Retries(usual wait.Backoff) wait.Backoff
}

// Timer is as a [time.Timer].
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// goroutines is the Background that goes by the machine's clock.
type goroutines struct{}

func (goroutines) Go(f func()) { go f() }

func (goroutines) After(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

func (goroutines) Retries(usual wait.Backoff) wait.Backoff { return usual }

// background is that of the options, or the usual one.
func (o Options) background() Background {
	if o.Background == nil {
		return goroutines{}
	}
	return o.Background
}
