package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// sawCordons is the memory of a process whose own clock wrote the taints of these nodes.
func sawCordons(m memory.Memory, objects []any) memory.Memory {
	m.Cordoned = map[string]memory.Cordoned{}
	for _, o := range objects {
		if n, is := o.(*corev1.Node); is {
			if removal, on := cluster.RemovalOf(n); on {
				m.Cordoned[n.Name] = memory.Cordoned{Said: removal.Since, By: removal.Since}
			}
		}
	}
	return m
}

// TestThePauseAfterACordonGoesByOneClock has a process see the taint of another one, whose clock is behind or ahead, or its own: the
// machine goes when the pause of five seconds is over by this process's clock, and never sooner.
func TestThePauseAfterACordonGoesByOneClock(t *testing.T) {
	machine := cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}
	for name, c := range map[string]struct {
		said time.Duration // before the first cycle, by the taint
		own  time.Duration // before it this process itself put the taint there; 0: it did not
		jump time.Duration // of the clock of this process, between the first cycle and the second
		want time.Duration // from the first cycle until the machine goes
	}{
		"another process's, by a right clock":             {said: time.Second, want: 5 * time.Second},
		"another process's, by a clock 69 s behind":       {said: 70 * time.Second, want: 5 * time.Second},
		"another process's, by a clock 90 s ahead":        {said: -89 * time.Second, want: 5 * time.Second},
		"another process's, older than clocks can feign":  {said: 3*time.Minute + 5*time.Second},
		"another process's, nearly as old":                {said: 3*time.Minute + 3*time.Second, want: 2 * time.Second},
		"its own":                                         {said: 2 * time.Second, own: 2 * time.Second, want: 3 * time.Second},
		"its own, to the second":                          {said: 2 * time.Second, own: 1100 * time.Millisecond, want: 3900 * time.Millisecond},
		"its own, and the clock is put forward meanwhile": {said: 2 * time.Second, own: 2 * time.Second, jump: 69 * time.Second, want: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			removal := cluster.Removal{Since: Start.Add(-c.said), Why: cluster.Idle}
			objects := []any{Node("a-0", Removing(removal.Since, machine), For(cluster.Idle))}
			m := memory.Memory{Since: Start.Add(-time.Hour)}
			if c.own > 0 {
				cordon := action.Cordon{Node: "a-0", UID: "uid-a-0", Removal: removal, Machine: machine}
				m = m.After(action.Plan{Actions: []action.Action{cordon}}, []memory.Result{{Status: memory.Accepted, At: Start.Add(-c.own)}}, policy.Default())
			}
			goes := func(at time.Duration) bool {
				g := Group("a", 0, 5, Machine("0", "a-0"))
				g.Read.At = Start.Add(at)
				var p action.Plan
				p, m = plan.Decide(cluster.New(Start.Add(at), Objects(objects...), []*cluster.Group{g}), policy.Default(), m)
				v, _ := p.Verdict(reason.Node("a-0"))
				return v.Outcome == action.NodeDeleting
			}
			if got := goes(0); got != (c.want == 0) {
				t.Errorf("in the first cycle it goes: %t", got)
			}
			if c.want == 0 {
				return
			}
			m = m.Jumped(c.jump)
			for _, early := range []bool{true, false} {
				at := c.want + c.jump
				if early {
					at -= 100 * time.Millisecond
				}
				if got := goes(at); got == early {
					t.Errorf("%s after the first cycle it goes: %t", at, got)
				}
			}
		})
	}
}
