package memory

import (
	"slices"
	"time"
)

// Usage is what counted for a ceiling within its window, in slices of time, the oldest first. It is immutable.
type Usage []Slice

// Slice is a stretch of time and what counted in it.
type Slice struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // the last time at which something was added
	Amount float64   `json:"amount"`
}

// slices of a window: usage leaves it at most so much of it late.
const slicesOfWindow = 48

// Plus is the usage with an amount at t.
func (u Usage) Plus(t time.Time, window time.Duration, amount float64) Usage {
	if amount <= 0 {
		return u
	}
	u = slices.Clone(u)
	if n := len(u); n > 0 && t.Sub(u[n-1].From) < window/slicesOfWindow {
		u[n-1].Amount += amount
		if t.After(u[n-1].To) {
			u[n-1].To = t
		}
		return u
	}
	return append(u, Slice{t, t, amount})
}

// Trimmed is the usage without what has left the window.
func (u Usage) Trimmed(now time.Time, window time.Duration) Usage {
	i := 0
	for i < len(u) && !u[i].To.Add(window).After(now) {
		i++
	}
	return u[i:]
}

// Within is what counts at now. A slice counts whole until its end has left the window.
func (u Usage) Within(now time.Time, window time.Duration) float64 {
	var sum float64
	for _, s := range u.Trimmed(now, window) {
		sum += s.Amount
	}
	return sum
}

// Eases is when the oldest slice leaves the window, zero when none is in it.
func (u Usage) Eases(now time.Time, window time.Duration) time.Time {
	if u = u.Trimmed(now, window); len(u) > 0 {
		return u[0].To.Add(window)
	}
	return time.Time{}
}
