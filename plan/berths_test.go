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

// TestPodsThatKeepTheirPlacesStand lets cycles pass over a backlog in which nothing happens: from the second one on, whoever minds nobody stands where
// he has his place, on nodes that are there and from the third on also on machines that are coming, and is not placed again.
func TestPodsThatKeepTheirPlacesStand(t *testing.T) {
	for name, c := range map[string]struct {
		backlog workload.Backlog
		share   float64 // of the pods that have a place
	}{
		"pods that mind nobody":               {workload.Backlog{Seed: 1, Pods: 4000, Classes: 100, Nodes: 200, Groups: 20}, 1},
		"a tenth of the classes minds others": {workload.Backlog{Seed: 2, Pods: 4000, Classes: 100, Nodes: 200, Groups: 20, Constrained: true}, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.backlog.World()
			allowed := policy.Default()
			allowed.Growth.BurstWindow = 0
			at, groups := workload.At, w.Groups
			s := cluster.New(at, w.Objects(&cluster.Classes{}), groups)
			var planner plan.Planner
			var m memory.Memory
			for i := range 4 {
				p, next := planner.Decide(s, allowed, m)
				there, coming, asked := 0, 0, map[cluster.GroupID]int{}
				for _, v := range p.Verdicts[:len(s.Pending)] {
					switch v.Outcome {
					case action.PodScheduling:
						there++
					case action.PodWaiting:
						coming++
					}
				}
				// In the second cycle the machines that are coming have only just been opened.
				want := map[int]int{0: 0, 1: there}[i]
				if i > 1 {
					want = there + coming
				}
				if got := planner.Lodged(); got > want || float64(got) < c.share*float64(want) {
					t.Errorf("cycle %d: %d pods stand, of %d on nodes that are there and %d on machines that are coming", i, got, there, coming)
				}
				if i > 0 && there*coming == 0 {
					t.Errorf("cycle %d: %d pods on nodes that are there, %d on machines that are coming", i, there, coming)
				}
				results := make([]memory.Result, len(p.Actions))
				for k, a := range p.Actions {
					results[k] = memory.Result{Status: memory.Accepted, At: at}
					if g, ok := a.(action.SetCapacity); ok {
						asked[g.Group] = g.To
					}
				}
				m, at = next.After(p, results, allowed), at.Add(5*time.Second)
				read := make([]*cluster.Group, len(groups))
				for k, g := range groups {
					read[k] = workload.Reread(g, at)
					read[k].Capacity = max(g.Capacity, asked[g.ID])
				}
				groups = read
				s = s.Next(at, s.Objects, groups)
			}
		})
	}
}
