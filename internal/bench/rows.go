package bench

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// Rows are the decisions that sluice promises to be fast at.
var Rows = []Row{
	{
		Name: "one-class", Pays: Decision, Title: "50,000 pods of one class, 1,000 new nodes, 1 group",
		Goal: 5 * time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case {
			pods := scaled(50_000, scale)
			return cold(workload.OneClass(pods), allGrow, machines((pods+49)/50))
		},
	},
	{
		Name: "backlog", Pays: Decision, Title: "100,000 pending pods in 500 classes, 50 groups, 5,000 nodes with 110,000 pods, nothing cached",
		Goal: 25 * time.Millisecond, Limit: 150 * time.Millisecond,
		Build: func(scale float64) Case { return cold(backlog(scale, false).World(), allHoused) },
	},
	{
		Name: "constrained", Pays: Decision, Title: "the same, a tenth of the classes with spread, affinity, anti-affinity or volumes",
		Goal: 500 * time.Millisecond, Limit: 2 * time.Second,
		Build: func(scale float64) Case { return cold(backlog(scale, true).World(), allHoused) },
	},
	{
		Name: "next-cycle", Pays: Cycle, Title: "the same cluster, next cycle with 100 changed pods",
		Goal: 5 * time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case { return nextCycle(backlog(scale, true).World(), scaled(100, scale)) },
	},
	{
		Name: "stirred", Pays: Cycle, Title: "the same, in a cycle in which 20 nodes changed and one joined as well",
		Goal: 5 * time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case {
			return stirredCycle(backlog(scale, true).World(), max(5, scaled(100, scale)))
		},
	},
	{
		Name: "diverse", Pays: Decision, Title: "5,000 diverse pods, 400 node shapes",
		Goal: 300 * time.Millisecond, Limit: time.Second,
		Build: func(scale float64) Case {
			return cold(workload.Diverse(1, scaled(5000, scale), scaled(400, scale)), allGrow)
		},
	},
	{
		Name: "alike", Pays: Decision, Title: "10,000 pods alike, 8 shapes",
		Goal: 5 * time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case {
			return cold(workload.Alike(scaled(10_000, scale)), allGrow, cheap(1.03))
		},
	},
	{
		Name: "unlike", Pays: Decision, Title: "10,000 pods, each its own shape, 50 groups",
		Goal: time.Second, Limit: 2 * time.Second,
		Build: func(scale float64) Case { return cold(workload.Unlike(1, scaled(10_000, scale)), allGrow) },
	},
	{
		Name: "stuck", Pays: Decision, Title: "10,000 pods that no machine of 50 groups can hold, each for a reason of its own",
		Goal: time.Second, Limit: 2 * time.Second,
		Build: func(scale float64) Case { return cold(workload.Stuck(scaled(10_000, scale))) },
	},
	{
		Name: "stuck-many", Pays: Decision, Title: "100,000 such pods",
		Goal: 4 * time.Second, Limit: 8 * time.Second,
		Build: func(scale float64) Case { return cold(workload.Stuck(scaled(100_000, scale))) },
	},
	{
		Name: "exclusive", Pays: Decision, Title: "2,000 jobs of two pods, each exclusive on its nodes, 50 groups",
		Goal: 2 * time.Second, Limit: 4 * time.Second,
		Build: func(scale float64) Case { return cold(workload.Exclusive(scaled(2000, scale))) },
	},
	{
		Name: "quiet", Pays: Cycle, Title: "quiet cycle, 5,000 nodes, 110,000 pods",
		Goal: time.Millisecond, Limit: 5 * time.Millisecond,
		Build: func(scale float64) Case { return quietCycle(workload.NewSteadyWorld(1, nodes(scale))) },
	},
	{
		Name: "emptied", Pays: Cycle, Title: "which of 5,000 nodes with 110,000 pods can be emptied onto the others",
		Goal: 15 * time.Millisecond, Limit: 150 * time.Millisecond,
		Build: func(scale float64) Case { return emptied(workload.NewSteadyWorld(1, nodes(scale)), emptiest) },
	},
	{
		Name: "emptied-constrained", Pays: Cycle, Title: "the same, a tenth of the pods with spread, affinity, anti-affinity or volumes",
		Goal: 500 * time.Millisecond, Limit: 500 * time.Millisecond,
		Build: func(scale float64) Case {
			return emptied(workload.NewConstrainedSteadyWorld(1, nodes(scale)), emptiest)
		},
	},
	{
		Name: "emptied-quiet", Pays: Cycle, Title: "the next quiet cycle of the first",
		Goal: time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case { return stillEmptied(workload.NewSteadyWorld(1, nodes(scale))) },
	},
	{
		Name: "zones", Pays: Decision, Title: "10,000 pods of 50 apps, most minding zones, 17 groups over three zones each",
		Goal: 50 * time.Millisecond, Limit: 500 * time.Millisecond,
		Build: func(scale float64) Case { return cold(workload.Zoned(scaled(10_000, scale)), allHoused) },
	},
	{
		Name: "karpenter", Pays: Decision, Title: "5,000 pods of the mix of Karpenter's benchmark, 400 groups over three zones each",
		Goal: time.Second, Limit: 10 * time.Second,
		Build: func(scale float64) Case {
			return cold(workload.Karpenter(1, scaled(5000, scale), max(100, scaled(400, scale))), housedBut("host-"))
		},
	},
	{
		Name: "burst", Pays: Watch, Title: "the backlog appears in the watched cluster: 100,000 pods, recorded and joined",
		Goal: 500 * time.Millisecond, Limit: 3 * time.Second,
		Build: func(scale float64) Case { return burstCycle(backlog(scale, false).World(), allHoused) },
	},
	{
		Name: "stuck-burst", Pays: Watch, Title: "10,000 pods appear that no machine of 50 groups can hold",
		Goal: time.Second, Limit: 3 * time.Second,
		Build: func(scale float64) Case {
			return burstCycle(workload.Stuck(scaled(10_000, scale)), noneHoused)
		},
	},
	{
		Name: "exclusive-burst", Pays: Watch, Title: "2,000 jobs of two pods appear, each exclusive on its nodes, 50 groups",
		Goal: 2 * time.Second, Limit: 4 * time.Second,
		Build: func(scale float64) Case {
			return burstCycle(workload.Exclusive(scaled(2000, scale)), allHoused)
		},
	},
	{
		Name: "steady", Pays: Watch, Title: "a cycle of the steady cluster: 25 pods come, 25 end, 20 kubelets report",
		Goal: 10 * time.Millisecond, Limit: 50 * time.Millisecond,
		Build: func(scale float64) Case { return steady(workload.NewSteadyWorld(1, nodes(scale))) },
	},
	{
		Name: "cold-start", Pays: Start, Title: "the steady cluster recorded, joined and decided about for the first time",
		Goal: time.Second, Limit: 5 * time.Second,
		Build: func(scale float64) Case { return firstRead(workload.NewSteadyWorld(1, nodes(scale))) },
	},
	{
		Name: "past", Pays: Past, Title: "explain --at of a node that went, from a journal of 1,000 nodes, 23,000 pods, 5 % replaced an hour",
		Goal: time.Second, Limit: 2 * time.Second,
		Build: func(scale float64) Case { return explained(max(250, scaled(pastNodes, scale))) },
	},
	{
		Name: "budgets", Pays: Cycle, Title: "emptied, each of 1,200 services with a disruption budget",
		Goal: 50 * time.Millisecond, Limit: 500 * time.Millisecond,
		Build: func(scale float64) Case {
			return emptied(workload.Budgeted(workload.NewSteadyWorld(1, nodes(scale))), withinBudgets)
		},
	},
	{
		Name: "page", Pays: Page, Title: "the page of the steady cluster, once a cycle for all who look",
		Goal: 30 * time.Millisecond, Limit: 150 * time.Millisecond,
		Build: func(scale float64) Case { return pageOf(workload.NewSteadyWorld(1, nodes(scale)), 1, "/") },
	},
	{
		Name: "page-list", Pays: Page, Title: "the same as a list that somebody filters",
		Goal: 30 * time.Millisecond, Limit: 150 * time.Millisecond,
		Build: func(scale float64) Case {
			return pageOf(workload.NewSteadyWorld(1, nodes(scale)), 1, "/?by=list&sort=cpu&q=a")
		},
	},
	{
		Name: "page-viewers", Pays: Page, Title: "one of 50 browsers that look at it in two ways, after the first",
		Goal: time.Millisecond, Limit: 20 * time.Millisecond,
		Build: func(scale float64) Case {
			return pageOf(workload.NewSteadyWorld(1, nodes(scale)), viewers, "/", "/?by=zone")
		},
	},
}

// RowOf is the row of that name, nil when there is none.
func RowOf(name string) *Row {
	for i := range Rows {
		if Rows[i].Name == name {
			return &Rows[i]
		}
	}
	return nil
}

func scaled(n int, scale float64) int { return max(1, int(float64(n)*scale)) }

// nodes of the steady cluster at a scale: below 250 its services do not fit any more.
func nodes(scale float64) int { return max(250, scaled(5000, scale)) }

func backlog(scale float64, constrained bool) workload.Backlog {
	b := workload.WholeBacklog
	b.Nodes, b.Pods, b.Constrained = nodes(scale), scaled(b.Pods, scale), constrained
	b.Classes = max(50, scaled(b.Classes, scale))
	return b
}

// cold decides about the world as a process that has just started does: each time on a snapshot that was joined anew, outside the timing.
func cold(w *workload.World, right ...expectation) Case {
	allowed := policy.Default()
	pending, objects, groups := w.Pending(), w.Objects(&cluster.Classes{}), w.Groups // what is kept of the world
	var seen *cluster.Snapshot
	return Case{
		Pods:  pending,
		Fresh: func() { seen = cluster.New(workload.At, objects, groups) },
		Decide: func() Made {
			p, _ := plan.Decide(seen, allowed, memory.Memory{})
			return Made{seen, p}
		},
		Right: both(right),
	}
}
