package main

import (
	"fmt"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// The limits that the checks hold sluice to.
const (
	medianLimit = time.Second
	tailLimit   = 2 * time.Second
	writesLimit = 2  // for the growth of twelve machines over two groups
	readsLimit  = 12 // of the same, what follows operations excluded
	quietLimit  = 2  // reads a group in a quiet minute
)

// check is one promise, what was found, and whether it was kept.
type check struct {
	promise string
	found   string // the number and the limit
	ok      bool
	hurried bool // holds only on a machine that is not too busy with other things
}

// checks holds the facts against every promise.
func (f *facts) checks() []check {
	var all []check
	add := func(ok bool, promise, found string, args ...any) {
		all = append(all, check{promise: promise, found: fmt.Sprintf(found, args...), ok: ok})
	}
	hurried := func(ok bool, promise, found string, args ...any) {
		add(ok, promise, found, args...)
		all[len(all)-1].hurried = true
	}

	add(f.played, "the story was played to its end", "%s", yes(f.played))
	f.checkGrowth(add, hurried)
	f.checkRemoval(add)
	f.checkEnd(add)
	f.checkAnswers(add)
	return all
}

type adder func(ok bool, promise, found string, args ...any)

func (f *facts) checkGrowth(add, hurried adder) {
	machines, grown, most := 0, []string{}, 0
	once := true
	for _, g := range f.growths {
		if g.app == webApp {
			machines += g.machines
			grown = append(grown, fmt.Sprintf("%s %d", g.group, g.machines))
		}
		most = max(most, g.requests)
		once = once && g.requests == 1 && g.answered
	}
	both := len(grown) == 2 && f.growths[0].machines > 0 && f.growths[1].machines > 0
	add(both && machines == growthMachines, "the Deployment's burst grew two groups by 12 machines", "%d (%s)", machines, strings.Join(grown, ", "))
	hurried(once && len(f.growths) > 0, "one capacity request a group a burst", "at most %d in %s (limit 1)", most, counted(len(f.growths), "burst"))
	latencies := f.latencies()
	half, tail := median(latencies), quantile(latencies, 0.95)
	enough := len(latencies) == len(f.growths) && len(latencies) > 0
	hurried(enough && half <= medianLimit, "median latency of capacity requests", "%s (limit %s)", seconds(half), seconds(medianLimit))
	hurried(enough && tail <= tailLimit, "95th percentile of it", "%s (limit %s)", seconds(tail), seconds(tailLimit))
	cost, grew := during(f.requests, f.growth.span), len(f.bursts) > 0
	hurried(cost.of(write) <= writesLimit && grew, "Azure writes for the 12 machines", "%d (limit %d)", cost.of(write), writesLimit)
	hurried(cost.of(read) <= readsLimit && grew, "Azure reads for the 12 machines, polls excluded", "%d (limit %d)", cost.of(read), readsLimit)
}

func (f *facts) checkRemoval(add adder) {
	down := lowered(f.requests)
	add(len(down) == 0, "no capacity was lowered by a number", "%d times%s", len(down), list(down))
	times, machines, unnamed := removals(f.requests)
	add(unnamed == 0 && machines > 0, "every deletion named its machines", "%s in %s", counted(machines, "machine"), counted(times, "request"))
	older, newest := f.leftBeforeJobEnded()
	add(!newest && older == f.older && older > 0, "the newest machine stayed while its Job ran, older ones went", "%d of %d older ones went, newest %s", older, f.older, stayed(!newest))
	f.checkPods(add)
}

func (f *facts) checkPods(add adder) {
	jobs, interrupted := 0, 0
	for _, p := range f.pods {
		if p.owner != "Job" {
			continue
		}
		if p.succeeded {
			jobs++
		}
		if p.evicted || p.interrupted() {
			interrupted++
		}
	}
	moved := f.evictions()["ReplicaSet"]
	running := f.observer.running(apiApp)
	add(moved > 0 && running == apiPods, "an underused machine was emptied by eviction, and its pods run elsewhere", "%s, %d of %d pods of %s run", counted(moved, "eviction"), running, apiPods, apiApp)
	add(interrupted == 0 && jobs == 1, "no Job's pod was evicted or deleted before its end", "%d (%d of 1 succeeded)", interrupted, jobs)
}

func (f *facts) checkEnd(add adder) {
	var off []string
	for _, g := range groups {
		if n := f.machinesOf(g); n != g.min {
			off = append(off, fmt.Sprintf("%s %d, min %d", g.name, n, g.min))
		}
	}
	add(len(off) == 0, "every group is back at its minimum", "%d are not%s", len(off), list(off))
	f.checkNodes(add)
	calm, rested := during(f.requests, f.calm), !f.calm.to.IsZero()
	limit := quietLimit * len(groups)
	add(calm.of(read) <= limit && calm.of(write) == 0 && rested, "Azure reads in the quiet "+f.quietWords(), "%d for %d groups (limit %d)", calm.of(read), len(groups), limit)
}

// checkNodes wants no trace of machines that are gone, and no mark on those that stay.
func (f *facts) checkNodes(add adder) {
	alive := map[string]bool{}
	for _, m := range f.azure.Machines() {
		alive[m.ComputerName] = true
	}
	var orphans, marked []string
	for _, n := range f.observer.nodesNow() {
		if !alive[n.name] {
			orphans = append(orphans, n.name)
		}
		if n.marks {
			marked = append(marked, n.name)
		}
	}
	add(len(orphans) == 0, "no Node object outlived its machine", "%d did%s", len(orphans), list(orphans))
	add(len(marked) == 0, "no "+cluster.RemovalTaint+" taint, mark or cordon was left", "%d were%s", len(marked), list(marked))
}

func (f *facts) checkAnswers(add adder) {
	r := f.record
	add(len(r.differs) == 0 && r.cycles > 0, "replay decides every cycle exactly the same", "%d of %d differ", len(r.differs), r.cycles)
	add(len(r.unjudged) == 0 && r.verdicts > 0, "every pending pod, node and group had a verdict in every cycle", "%d had none, %d verdicts%s", len(r.unjudged), r.verdicts, list(r.unjudged))
	add(len(f.denied) == 0, "deploy/rbac.yaml grants all that sluice does", "%d requests denied%s", len(f.denied), list(f.denied))
	add(f.events > 0 && f.status, "events and the status ConfigMap are there", "%s, ConfigMap %s", counted(f.events, "event"), yes(f.status))
}

// list names the first few of what is wrong.
func list(what []string) string {
	const few = 3
	switch {
	case len(what) == 0:
		return ""
	case len(what) > few:
		return fmt.Sprintf(": %s and %d more", strings.Join(what[:few], "; "), len(what)-few)
	}
	return ": " + strings.Join(what, "; ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func stayed(b bool) string {
	if b {
		return "stayed"
	}
	return "left"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
