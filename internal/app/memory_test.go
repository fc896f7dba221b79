package app

import (
	"runtime/debug"
	"testing"
)

func TestTheOperatorsCollectorIsObeyed(t *testing.T) {
	const before = 77
	own := debug.SetGCPercent(before)
	defer debug.SetGCPercent(own)
	for name, c := range map[string]struct {
		gogc, limit string
		want        int
	}{
		"nothing is set":    {"", "", oftener},
		"GOGC is set":       {"200", "", before},
		"GOMEMLIMIT is set": {"", "1GiB", before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", c.gogc)
			t.Setenv("GOMEMLIMIT", c.limit)
			debug.SetGCPercent(before)
			CollectOften()
			if got := debug.SetGCPercent(before); got != c.want {
				t.Errorf("collects at %d %%, want %d %%", got, c.want)
			}
		})
	}
}
