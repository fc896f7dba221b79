package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestTheOldestKindsOfStuckPodsAreExplained has more kinds of stuck pods than a cycle explains. Groups could hold one of them and may not
// grow: nothing else is said of it where nobody has asked. A planner that has explained them before says the same.
func TestTheOldestKindsOfStuckPodsAreExplained(t *testing.T) {
	const many = 1300
	var groups []*cluster.Group
	for i := range 200 { // 250,000 questions are those of 1,250 kinds
		groups = append(groups, Group(fmt.Sprintf("g%03d", i), 0, 0))
	}
	var objects []any
	for i := range many {
		cpu := fmt.Sprintf("%dm", 90_000+i)
		if i == many-1 {
			cpu = "1"
		}
		objects = append(objects, Pod(fmt.Sprintf("p%04d", i), CPU(cpu), created(time.Duration(many-i)*time.Second)))
	}
	s := cluster.New(Start, Objects(objects...), groups)
	planner := &plan.Planner{}
	for cycle := range 2 {
		p, _ := planner.Decide(s, policy.Default(), memory.Memory{})
		nearest := "stuck NoGroupFits" + strings.Repeat(" InsufficientResource", 5) + " MoreGroups"
		for pod, want := range map[string]string{"p0000": nearest, "p1249": nearest, "p1250": "stuck NotExplained", "p1299": "stuck NotExplained"} {
			if got := verdictOf(p, ref("pod "+pod)); got != want {
				t.Errorf("cycle %d: pod %s is %q, want %q", cycle, pod, got, want)
			}
		}
	}
}
