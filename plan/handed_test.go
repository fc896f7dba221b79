package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestABackOffIsHandedOn to a process that begins while it lasts, or soon enough for the next one to be longer. The clock of that process
// may be wrong.
func TestABackOffIsHandedOn(t *testing.T) {
	allowed := policy.Default()
	five := memory.Backoff{Until: Start.Add(5 * time.Minute), Length: 5 * time.Minute, Last: Start, Code: "AllocationFailed", Message: "none left"}
	for what, c := range map[string]struct {
		at    time.Duration // by the clock of the first process
		ahead time.Duration // is the clock of the second one
		left  time.Duration // of the back-off, by that clock
		kept  bool
	}{
		"while it lasts":                    {2 * time.Minute, 0, 3 * time.Minute, true},
		"after it":                          {time.Hour, 0, 0, true},
		"long after it":                     {4 * time.Hour, 0, 0, false},
		"to a clock that is behind":         {2 * time.Minute, -time.Hour, 5 * time.Minute, true},
		"to a clock that is ahead":          {2 * time.Minute, time.Minute, 2 * time.Minute, true},
		"to a clock that is a bit behind":   {2 * time.Minute, -time.Minute, 4 * time.Minute, true},
		"to a clock that is hours in front": {2 * time.Minute, time.Hour, 0, true},
	} {
		t.Run(what, func(t *testing.T) {
			first := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: five, Rest: five, AbortedDrain: five, Noticed: Start}, "b": {}}}
			handed := first.Breakers(Start.Add(c.at), allowed)
			if handed.IsZero() == c.kept {
				t.Fatalf("handed on: %v", handed)
			}
			if !c.kept {
				return
			}
			text, err := json.Marshal(handed)
			var read memory.Breakers
			if err == nil {
				err = json.Unmarshal(text, &read)
			}
			if err != nil {
				t.Fatal(err)
			}
			now := Start.Add(c.at + c.ahead)
			got := read.Memory(now).Groups["a"]
			for name, b := range map[string]memory.Backoff{"growth": got.Backoff, "deletions": got.Rest, "drains": got.AbortedDrain} {
				if left := max(0, b.Until.Sub(now)); left != c.left || b.Length != five.Length || b.Code != five.Code || b.Last.After(now) {
					t.Errorf("the back-off from %s is %+v, which lasts %s still, want %s", name, b, left, c.left)
				}
			}
			if !got.Noticed.Equal(Start) {
				t.Errorf("the failure was noticed at %s, want %s: it would count again", got.Noticed, Start)
			}
		})
	}
}
