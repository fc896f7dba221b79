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
		asks          int             // 0: one
		queued        bool
		drained       bool
		window        time.Duration
		again, latest time.Duration // after it was asked
	}{
		"where none came since, it may be asked at once":        {came: every(time.Second, -3*time.Second, 0), window: window, again: 0, latest: 0},
		"a rush is over when it pauses":                         {came: every(100*time.Millisecond, -time.Second, 3*time.Second), window: window, again: 3400 * time.Millisecond, latest: window},
		"a rush that goes on is cut by the window":              {came: every(100*time.Millisecond, 0, 9900*time.Millisecond), window: window, again: window, latest: window},
		"pods that come with silences are waited for":           {came: every(time.Second, 0, 3*time.Second), window: window, again: window, latest: window},
		"so are those that rush after a silence":                {came: append([]time.Duration{0}, every(100*time.Millisecond, 2*time.Second, 4*time.Second)...), window: window, again: window, latest: window},
		"a few that come close together are no rush":            {came: every(100*time.Millisecond, -300*time.Millisecond, 300*time.Millisecond), window: window, again: window, latest: window},
		"one that comes alone may be followed by another":       {came: []time.Duration{-250 * time.Millisecond, 3 * time.Second}, window: window, again: 9750 * time.Millisecond, latest: 9750 * time.Millisecond},
		"nobody knows when those came that it was asked for":    {came: []time.Duration{3 * time.Second}, window: window, again: window, latest: window},
		"nor while the scheduler has others to judge":           {came: every(100*time.Millisecond, -time.Second, 3*time.Second), queued: true, window: window, again: window, latest: window},
		"which a third request waits for twice as long":         {came: every(100*time.Millisecond, -time.Second, 3*time.Second), asks: 2, queued: true, window: window, again: 2 * window, latest: 2 * window},
		"once it has judged all, they have come":                {came: []time.Duration{0, 3 * time.Second}, drained: true, window: window, again: 3400 * time.Millisecond, latest: window},
		"and for a third request":                               {came: []time.Duration{0, 3 * time.Second}, asks: 2, drained: true, window: window, again: 3400 * time.Millisecond, latest: window},
		"but not for a fourth":                                  {came: []time.Duration{0, 3 * time.Second}, asks: 3, drained: true, window: window, again: window, latest: window},
		"without a window nobody waits longer than he has done": {came: []time.Duration{0, 3 * time.Second}, window: 0, again: 0, latest: 0},
	}
	for name, c := range cases {
		g := policy.Growth{BurstWindow: c.window}
		came := make([]time.Time, len(c.came))
		for i, d := range c.came {
			came[i] = asked.Add(d)
		}
		again, latest := g.AskAgain(policy.Burst{Asked: asked, Asks: max(1, c.asks), Came: came, Queued: c.queued, Drained: c.drained})
		if again.Sub(asked) != c.again || latest.Sub(asked) != c.latest {
			t.Errorf("%s: %s and at the latest %s after, want %s and %s", name, again.Sub(asked), latest.Sub(asked), c.again, c.latest)
		}
	}
}
