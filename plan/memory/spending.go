package memory

import (
	"maps"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Spend is the memory after what happened since the last cycle was counted for every ceiling with a window: machines that were granted, and
// what running ones cost, by the minute begun: what is handed on to the next process is not written in each cycle. A pause of more than an
// hour is paid for one hour: nobody knows what ran then.
func (m Memory) Spend(s *cluster.Snapshot, allowed *policy.Policy) Memory {
	elapsed, until := time.Duration(0), m.PaidUntil
	switch late := s.Time.Sub(until); {
	case until.IsZero() || late <= -time.Minute:
		until = s.Time
	case late >= time.Hour:
		elapsed, until = time.Hour, s.Time
	case late > 0:
		elapsed = (late + time.Minute - 1).Truncate(time.Minute)
		until = until.Add(elapsed)
	}
	used := map[string]Usage{}
	m.PaidUntil = time.Time{}
	for _, g := range s.Groups {
		for _, c := range allowed.Ceilings(g) {
			words, window := c.String(), c.Ceiling.Window
			if window == 0 {
				continue
			}
			u, begun := used[words]
			if !begun {
				u = m.Ceilings[words].Trimmed(s.Time, window)
			}
			if c.Ceiling.Unit == cluster.CeilingUSD {
				m.PaidUntil = until
				u = u.Plus(s.Time, window, float64(g.Standing())*g.PriceUSDPerHour*elapsed.Hours())
			} else {
				for _, granted := range m.Granted {
					if granted.Group == g.ID {
						u = u.Plus(granted.At, window, float64(granted.Machines))
					}
				}
			}
			used[words] = u
		}
	}
	m.Ceilings = nil
	m.granted()
	if maps.DeleteFunc(used, func(_ string, u Usage) bool { return len(u) == 0 }); len(used) > 0 {
		m.Ceilings = used
	}
	return m
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

// granted is what the last cycle was granted.
func (m *Memory) granted(all ...Grant) { m.Granted = all }
