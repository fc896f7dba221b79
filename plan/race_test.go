package plan_test

import (
	"testing"
	"time"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestRacesLostInARowPauseLonger loses the same race again and again, as with reads that are stale: the first few are tried again at once,
// the next ones after longer and longer pauses of at most a minute, and a growth that is accepted begins anew (S-31).
func TestRacesLostInARowPauseLonger(t *testing.T) {
	p := action.Plan{Actions: []action.Action{action.SetCapacity{Group: "agents", From: 1, To: 2}}}
	var m memory.Memory
	at := Start
	lose := func() time.Duration {
		at = at.Add(time.Hour)
		m = m.After(p, []memory.Result{{Status: memory.Failed, At: at, Kind: "conflict", Code: "PreconditionFailed"}}, policy.Default())
		return max(0, m.Groups["agents"].Backoff.Until.Sub(at))
	}
	for n, want := range []time.Duration{0, 0, 0, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		if got := lose(); got != want {
			t.Errorf("race %d pauses %s, want %s", n+1, got, want)
		}
	}
	m = m.After(p, []memory.Result{{Status: memory.Accepted, At: at}}, policy.Default())
	if got := lose(); got != 0 {
		t.Errorf("the first race after a growth that was accepted pauses %s, want none", got)
	}
}
