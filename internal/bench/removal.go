package bench

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// waits is how long a node must have been removable in the rows of removal.
const waits = time.Hour

// emptying turns a cluster in which every node may leave whose pods fit elsewhere, however busy it is, all of them at once.
func emptying(w *workload.World) *turning {
	allowed := policy.Default()
	r := &allowed.Removal
	r.Utilization.Threshold, r.UnneededTime = 1, waits
	r.Parallelism, r.Drain.Parallelism, r.MaxCandidateTaints, r.Emptied.Window = 1<<20, 1<<20, 0, 0
	t := &turning{planner: planner{allowed: allowed}, at: workload.At, groups: w.Groups}
	t.objects = w.Objects(&t.table)
	t.seen = cluster.New(t.at, t.objects, t.groups)
	t.made = t.decide(t.seen)
	return t
}

// emptied is the cycle in which the nodes' time has come. A pod has ended since the last one, so that which nodes can be emptied is found anew.
func emptied(w *workload.World, right expectation) Case {
	var t *turning
	return Case{
		Pods: len(w.Pods),
		Fresh: func() {
			t = emptying(w)
			t.objects.Pods = t.objects.Pods[1:]
			t.read(waits)
		},
		Decide: func() Made { return t.cycle() },
		Right:  both([]expectation{allHoused, right}),
	}
}

// stillEmptied is a cycle ten seconds after the one that found which nodes can be emptied, none of which has waited for long enough.
func stillEmptied(w *workload.World) Case {
	t := emptying(w)
	t.planner.allowed.Removal.UnneededTime = 1000 * waits
	return Case{Pods: len(w.Pods), Fresh: func() { t.read(10 * time.Second) }, Decide: t.cycle, Right: both([]expectation{allHoused, still, some})}
}

// some wants nodes that could go.
func some(m Made) error {
	for _, v := range m.Plan.Verdicts {
		if v.Outcome == action.NodeIdle && v.Subject.Kind == reason.KindNode {
			return nil
		}
	}
	return fmt.Errorf("no node could go")
}

// leastFreed is the share of the free cores that has to leave with the emptied nodes: what is left over lies in pieces.
const leastFreed = 0.95

// emptiest wants nodes to go whose pods the others can hold, as many that next to nothing stays free, and every other node to have a reason.
func emptiest(m Made) error {
	goes := map[string]bool{}
	for _, a := range m.Plan.Actions {
		if c, ok := a.(action.Cordon); ok {
			goes[c.Node] = true
		}
	}
	var free, freed, moved, room int64
	for _, n := range m.Seen.Nodes {
		has := n.Object.Status.Allocatable.Cpu().MilliValue()
		left := has
		for _, p := range n.Pods {
			ask := p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			left -= ask
			if goes[n.Name()] && !p.Daemon() {
				moved += ask
			}
		}
		free += left
		if goes[n.Name()] {
			freed += has - workload.DaemonMilli
		} else {
			room += left
		}
	}
	switch {
	case moved > room:
		return fmt.Errorf("pods of %d millicores leave, and the nodes that stay have room for %d", moved, room)
	case float64(freed) < leastFreed*float64(free):
		return fmt.Errorf("%d nodes go with %d millicores of %d that are free", len(goes), freed, free)
	}
	for _, v := range m.Plan.Verdicts {
		if v.Subject.Kind == reason.KindNode && v.Outcome != action.NodeCordoned && v.Because[0].Code != reason.NodeReceives && v.Because[0].Code != reason.PodNowhereToGo {
			return fmt.Errorf("%s stays: %s", v.Subject, reason.Sentences(v.Because))
		}
	}
	return nil
}

// withinBudgets wants nodes to be cordoned or kept for a reason, and no budget to lose more pods by evictions than it has to give.
func withinBudgets(m Made) error {
	evicted := map[[2]string]int32{}
	cordons := 0
	for _, a := range m.Plan.Actions {
		switch a := a.(type) {
		case action.Cordon:
			cordons++
		case action.Evict:
			app := a.Pod[:strings.LastIndexByte(a.Pod, '-')]
			evicted[[2]string{a.Namespace, app}]++
		}
	}
	for _, b := range m.Seen.Objects.Budgets {
		if n := evicted[[2]string{b.Namespace, b.Name}]; n > b.Status.DisruptionsAllowed {
			return fmt.Errorf("%d pods of %s/%s are evicted, %d may be", n, b.Namespace, b.Name, b.Status.DisruptionsAllowed)
		}
	}
	if cordons == 0 {
		return errors.New("no node goes")
	}
	return nil
}
