package policy_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/policy"
)

func TestAskAgain(t *testing.T) {
	asked := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		n                  int
		came, window, want time.Duration // after it was asked
	}{
		"after its first request a short pause will do":        {n: 1, came: 3 * time.Second, window: 10 * time.Second, want: 3250 * time.Millisecond},
		"one that was never counted is at its first":           {n: 0, came: 3 * time.Second, window: 10 * time.Second, want: 3250 * time.Millisecond},
		"after its second it takes a second without pods":      {n: 2, came: 3 * time.Second, window: 10 * time.Second, want: 4 * time.Second},
		"after its third it takes four":                        {n: 3, came: 3 * time.Second, window: 10 * time.Second, want: 7 * time.Second},
		"pods that never pause wait no longer than the window": {n: 1, came: 9900 * time.Millisecond, window: 10 * time.Second, want: 10 * time.Second},
		"nor do they after the hundredth":                      {n: 100, came: time.Second, window: 10 * time.Second, want: 10 * time.Second},
		"without a window nobody waits":                        {n: 1, came: 3 * time.Second, want: 0},
	}
	for name, c := range cases {
		g := policy.Growth{BurstWindow: c.window}
		if got := g.AskAgain(asked, c.n, asked.Add(c.came)).Sub(asked); got != c.want {
			t.Errorf("%s: %s after, want %s", name, got, c.want)
		}
	}
}
