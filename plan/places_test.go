package plan_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestNothingIsBoughtTwice lets cycle follow cycle while machines are coming and nothing else happens: whoever waits for them keeps
// waiting, and nothing more is bought (S-34).
func TestNothingIsBoughtTwice(t *testing.T) {
	for name, b := range map[string]workload.Backlog{
		"pods that mind nobody":                   {Seed: 1, Pods: 4000, Classes: 100, Nodes: 200, Groups: 20},
		"a tenth of the classes minds others":     {Seed: 2, Pods: 4000, Classes: 100, Nodes: 200, Groups: 20, Constrained: true},
		"many kinds, and no node that is there":   {Seed: 3, Pods: 2000, Classes: 400, Nodes: 10, Groups: 50},
		"more pods than the groups have room for": {Seed: 4, Pods: 20000, Classes: 100, Nodes: 200, Groups: 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.World()
			allowed := policy.Default()
			allowed.Growth.BurstWindow = 0
			at, groups, objects := workload.At, w.Groups, w.Objects(&cluster.Classes{})
			var planner plan.Planner
			var m memory.Memory
			for i := range 4 {
				p, next := planner.Decide(cluster.New(at, objects, groups), allowed, m)
				adds, asked := 0, map[cluster.GroupID]int{}
				results := make([]memory.Result, len(p.Actions))
				for k, a := range p.Actions {
					results[k] = memory.Result{Status: memory.Accepted, At: at}
					if g, ok := a.(action.SetCapacity); ok {
						adds += g.Adds
						asked[g.Group] = g.To
					}
				}
				if i == 0 && adds == 0 || i > 0 && adds > 0 {
					t.Errorf("cycle %d buys %d machines", i, adds)
				}
				m = next.After(p, results, allowed)
				at = at.Add(5 * time.Second)
				read := make([]*cluster.Group, len(groups))
				for k, g := range groups {
					read[k] = workload.Reread(g, at)
					read[k].Capacity = max(g.Capacity, asked[g.ID])
				}
				groups = read
			}
		})
	}
}
