package reason_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/reason"
)

func TestAWaitTellsItsEnd(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		reason reason.Reason
		in     time.Duration
		what   string
	}{
		"a time of day":            {reason.New(reason.GroupBackoff, reason.Group("a"), "until", "2026-03-02T09:05:00Z", "code", "Q", "message", "m"), 5 * time.Minute, "it may grow again"},
		"a time that is over":      {reason.New(reason.GroupBackoff, reason.Group("a"), "until", "2026-03-02T09:00:00Z", "code", "Q", "message", "m"), 0, "it may grow again"},
		"an age and a limit":       {reason.New(reason.NodeIdle, reason.Node("n"), "idle", 4*time.Minute, "limit", 10*time.Minute), 6 * time.Minute, "it is cordoned, unless something keeps it then"},
		"an age beyond its limit":  {reason.New(reason.MachineNeverJoined, reason.Instance("a", "1"), "age", time.Hour, "limit", time.Minute), 0, "a node that registers for it; or it is deleted, unless the reason beside this one keeps it"},
		"a limit that is a number": {reason.New(reason.RemovalBudget, reason.Node("n"), "inflight", 5, "limit", 5), 0, "removals that are under way end, or a higher --max-scale-down-parallelism or --max-drain-parallelism"},
		"a duration":               {reason.New(reason.PodsKeepComing, reason.Group("a"), "group", "a", "asked", 2*time.Second, "wait", 3*time.Second, "most", time.Minute), 3 * time.Second, "group a is asked for machines"},
		"an event":                 {reason.New(reason.GroupAtMax, reason.Group("a"), "capacity", 5, "max", 5), 0, "one of its machines leaves, or a higher max"},
		"no wait":                  {reason.New(reason.GroupSteady, reason.Group("a")), 0, ""},
	} {
		var want time.Time
		if c.in > 0 {
			want = now.Add(c.in)
		}
		if at, what := c.reason.Ends(now); !at.Equal(want) || what != c.what {
			t.Errorf("%s: %v %q, want %v %q", name, at, what, want, c.what)
		}
	}
}
