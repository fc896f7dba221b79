package remove

import (
	"testing"
	"time"
)

func TestADeletionWaitsForOthersWhenThatSavesWaiting(t *testing.T) {
	const s = time.Second
	cases := map[string]struct {
		ready int
		since time.Duration // ago
		soon  []time.Duration
		want  time.Duration
	}{
		"nobody else is about to leave":                        {ready: 3, want: 0},
		"one more in a moment":                                 {ready: 2, soon: []time.Duration{5 * s}, want: 5 * s},
		"many would wait long for one":                         {ready: 20, soon: []time.Duration{40 * s}, want: 0},
		"one waits a little for many":                          {ready: 1, soon: []time.Duration{20 * s, 22 * s, 25 * s}, want: 30 * s},
		"the last of them would be too late":                   {ready: 5, soon: []time.Duration{5 * s, 55 * s}, want: 5 * s},
		"the first has waited for as long as a deletion takes": {ready: 1, since: 60 * s, soon: []time.Duration{5 * s, 5 * s}, want: 0},
		"so many step on the ladder one batch after the other": {ready: 1, soon: []time.Duration{5 * s, 5 * s, 5 * s, 5 * s}, want: 10 * s},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := gathering{takes: time.Minute, ready: c.ready, since: now.Add(-c.since), soon: c.soon}
			if got := g.until(now, 2, 5*s).Sub(now); got != c.want {
				t.Errorf("waits %s, want %s", got, c.want)
			}
		})
	}
}
