package plan_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestAQuotaThatSaysMoreThanItGivesIsTriedAFewTimes has a cloud that refuses every growth and says each time that two machines would fit.
func TestAQuotaThatSaysMoreThanItGivesIsTriedAFewTimes(t *testing.T) {
	now, tries := Start, 0
	m := memory.Memory{}
	for range 60 {
		s := cluster.New(now, Objects(pods(40)...), []*cluster.Group{Group("a", 0, 9)})
		var p action.Plan
		p, m = plan.Decide(s, policy.Default(), m)
		var results []memory.Result
		for _, a := range p.Actions {
			tries++
			results = append(results, memory.Result{
				Status: memory.Failed, At: now, Kind: "quota", Code: "QuotaExceeded", Message: action.KindOf(a), Quota: &cluster.Quota{Limit: 10, Needed: 20, Left: 2},
			})
		}
		m = m.After(p, results, policy.Default())
		now = now.Add(time.Second)
	}
	if tries == 0 || tries > 3 {
		t.Errorf("the group was asked to grow %d times within a minute, want 1 to 3", tries)
	}
}

// TestMachinesThatFailedLeaveNoRoomInAQuota has a growth from one machine to four that the quota stopped when it was under way.
func TestMachinesThatFailedLeaveNoRoomInAQuota(t *testing.T) {
	g := Group("a", 0, 9, Machine("0", "a-0"), Machine("1", "", In(cluster.StateFailed)), Machine("2", "", In(cluster.StateFailed)), Machine("3", "", In(cluster.StateFailed)))
	g.Failure = &cluster.Failure{At: Start, Kind: "quota", Code: "QuotaExceeded", Message: "no", Quota: &cluster.Quota{Left: 1}}
	_, m := plan.Decide(cluster.New(Start, Objects(Node("a-0")), []*cluster.Group{g}), policy.Default(), memory.Memory{})
	if got := m.Groups["a"].Backoff.Ceiling; got != 2 {
		t.Errorf("the group may grow to %d meanwhile, want 2: the machine that lives and the one that fits", got)
	}
}

func TestAThrottleAllowsNoGrowthUpToAnOldCeiling(t *testing.T) {
	old := memory.Backoff{Until: Start.Add(-time.Minute), Length: time.Minute, Last: Start.Add(-2 * time.Minute), Ceiling: 5}
	m := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: old}}}
	s := cluster.New(Start, Objects(pods(4)...), []*cluster.Group{Group("a", 0, 9)})
	p, m := plan.Decide(s, policy.Default(), m)
	m = m.After(p, []memory.Result{{Status: memory.Failed, At: Start, Kind: "throttled", RetryAfter: time.Minute}}, policy.Default())
	p, _ = plan.Decide(cluster.New(Start.Add(time.Second), Objects(pods(4)...), s.Groups), policy.Default(), m)
	if len(p.Actions) != 0 {
		t.Errorf("%v within the minute that the cloud asked for", told(p))
	}
}
