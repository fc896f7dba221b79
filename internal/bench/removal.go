package bench

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// emptying is a policy under which every node may leave whose pods fit elsewhere, however busy it is, at once and with all others.
func emptying() *policy.Policy {
	p := policy.Default()
	r := &p.Removal
	r.Threshold, r.Unneeded = 1, 0
	r.MaxInFlight, r.MaxDrains = 1<<20, 1<<20
	return p
}

// emptied decides which nodes of the world can be emptied onto the others, each time on a snapshot that was joined anew.
func emptied(w *workload.World, right ...expectation) Case {
	c := cold(w, right...)
	pods, objects, groups, allowed := len(w.Pods), w.Objects(&cluster.Classes{}), w.Groups, emptying()
	var seen *cluster.Snapshot
	c.Pods = pods
	c.Fresh = func() { seen = cluster.New(workload.At, objects, groups) }
	c.Decide = func() Made {
		p, _ := plan.Decide(seen, allowed, plan.Memory{})
		return Made{seen, p}
	}
	return c
}

// emptyQuiet is a cycle ten seconds after the one that found which nodes can be emptied, none of which has waited for long enough yet.
func emptyQuiet(w *workload.World) Case {
	allowed := emptying()
	allowed.Removal.Unneeded = 365 * 24 * time.Hour
	t := &turning{planner: planner{allowed: allowed}, at: workload.At, groups: w.Groups}
	t.objects = w.Objects(&t.table)
	t.seen = cluster.New(t.at, t.objects, t.groups)
	t.made = t.decide(t.seen)
	return Case{Pods: len(w.Pods), Fresh: func() { t.read(10 * time.Second) }, Decide: t.cycle, Right: both([]expectation{still, some})}
}

// some wants nodes that could go.
func some(m Made) error {
	for _, v := range m.Plan.Verdicts {
		if v.Outcome == plan.NodeIdle {
			return nil
		}
	}
	return fmt.Errorf("no node could go")
}

// going are the nodes that step on the ladder, in the plan's order.
func going(m Made) []string {
	var all []string
	for _, a := range m.Plan.Actions {
		if c, ok := a.(plan.Cordon); ok {
			all = append(all, c.Node)
		}
	}
	return all
}
var _ = cmp.Compare[int]
var _ = slices.Sort[[]int]
var _ corev1.Pod
