package policy_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/policy"
)

func TestAskAgain(t *testing.T) {
	asked := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	const window = 10 * time.Second
	// every is when pods come that are so far apart, from one time to another.
	every := func(gap, from, to time.Duration) []time.Duration {
		var out []time.Duration
		for at := from; at <= to; at += gap {
			out = append(out, at)
		}
		return out
	}
	cases := map[string]struct {
		came          []time.Duration // after it was asked
		window        time.Duration
		again, latest time.Duration // after it was asked
	}{
		"where none came since, it may be asked at once":        {every(time.Second, -3*time.Second, 0), window, 0, 0},
		"a rush is over when it pauses":                         {every(100*time.Millisecond, -time.Second, 3*time.Second), window, 3400 * time.Millisecond, window},
		"a rush that goes on is cut by the window":              {every(100*time.Millisecond, 0, 9900*time.Millisecond), window, window, window},
		"pods that come with silences are waited for":           {every(time.Second, 0, 3*time.Second), window, window, window},
		"so are those that rush after a silence":                {append([]time.Duration{0}, every(100*time.Millisecond, 2*time.Second, 4*time.Second)...), window, window, window},
		"a few that come close together are no rush":            {every(100*time.Millisecond, -300*time.Millisecond, 300*time.Millisecond), window, window, window},
		"one that comes alone may be followed by another":       {[]time.Duration{-250 * time.Millisecond, 3 * time.Second}, window, 9750 * time.Millisecond, 9750 * time.Millisecond},
		"nobody knows when those came that it was asked for":    {[]time.Duration{3 * time.Second}, window, window, window},
		"without a window nobody waits longer than he has done": {[]time.Duration{0, 3 * time.Second}, 0, 0, 0},
	}
	for name, c := range cases {
		g := policy.Growth{BurstWindow: c.window}
		came := make([]time.Time, len(c.came))
		for i, d := range c.came {
			came[i] = asked.Add(d)
		}
		again, latest := g.AskAgain(asked, came)
		if again.Sub(asked) != c.again || latest.Sub(asked) != c.latest {
			t.Errorf("%s: %s and at the latest %s after, want %s and %s", name, again.Sub(asked), latest.Sub(asked), c.again, c.latest)
		}
	}
}
