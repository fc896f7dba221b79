package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// summarize tells what happened in numbers.
func (f *facts) summarize(w io.Writer) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-12s%s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w, "\nWhat happened")
	waits := f.waits()
	row("pods", "%d seen, %d waited for a machine", len(f.pods), len(waits))
	row("", "from pending to running: median %s, 95th percentile %s, longest %s", short(median(waits)), short(quantile(waits, 0.95)), short(quantile(waits, 1)))
	_, gone, _ := removals(f.requests)
	row("nodes", "%d came, %d machines were deleted, %d nodes are left", f.nodesEver(), gone, len(f.observer.nodesNow()))
	latencies := f.latencies()
	row("latency", "from the last pod turning unschedulable to the accepted capacity request, %d times:", len(latencies))
	row("", "median %s, 95th percentile %s, longest %s", seconds(median(latencies)), seconds(quantile(latencies, 0.95)), seconds(quantile(latencies, 1)))
	row("requests", "%s", f.requestWords())
	f.summarizeRemovals(row)
	evictions := f.evictions()
	words := []string{fmt.Sprintf("Job %d", evictions["Job"])}
	for _, owner := range slices.Sorted(maps.Keys(evictions)) {
		if owner != "Job" {
			words = append(words, fmt.Sprintf("%s %d", owner, evictions[owner]))
		}
	}
	row("evicted", "pods by owner: %s", strings.Join(words, ", "))
	row("journal", "%d cycles, %d replayed exactly, %d verdicts", f.record.cycles, f.record.cycles-len(f.record.differs), f.record.verdicts)
	f.summarizeCalls(w)
}

func (f *facts) nodesEver() int {
	f.observer.mu.Lock()
	defer f.observer.mu.Unlock()
	return len(f.observer.nodes)
}

// requestWords says how many capacity requests each burst made.
func (f *facts) requestWords() string {
	var words []string
	small := 0
	for _, g := range f.growths {
		if g.app == webApp {
			words = append(words, fmt.Sprintf("%s %d for %d machines", g.group, g.requests, g.machines))
		} else {
			small += g.requests
		}
	}
	return fmt.Sprintf("%s: %s; %d bursts: %s %d", webApp, strings.Join(words, ", "), len(f.bursts), burst.name, small)
}

// summarizeRemovals groups the machines that were removed by their group and why.
func (f *facts) summarizeRemovals(row func(string, string, ...any)) {
	type kind struct{ group, why string }
	by := map[kind][]removed{}
	for _, r := range f.record.removed {
		k := kind{string(r.group), r.why}
		by[k] = append(by[k], r)
	}
	title := "deleted"
	for _, k := range slices.SortedFunc(maps.Keys(by), func(a, b kind) int { return strings.Compare(a.group+" "+a.why, b.group+" "+b.why) }) {
		all := by[k]
		row(title, "%-7s %2d %s; the first, %s: %s", k.group, len(all), k.why, all[0].node, all[0].because)
		title = ""
	}
}

// summarizeCalls is a table of the requests to Azure by kind.
func (f *facts) summarizeCalls(w io.Writer) {
	whole := during(f.requests, span{to: time.Now()})
	growth, calm := during(f.requests, f.growth.span), during(f.requests, f.calm)
	fmt.Fprintf(w, "\nAzure calls\n")
	fmt.Fprintf(w, "  %-10s%-44s%12s%14s%13s\n", "", "", "12 machines", "quiet "+f.quietWords(), "whole story")
	for _, p := range []purpose{write, read, progress, identity} {
		for _, kind := range whole.kinds(p) {
			fmt.Fprintf(w, "  %-10s%-44s%12d%14d%13d\n", p, kind, growth[kind], calm[kind], whole[kind])
		}
	}
}

// judge prints the checks and says whether all of them hold.
func judge(w io.Writer, checks []check) bool {
	fmt.Fprintln(w, "\nChecks")
	good := true
	for _, c := range checks {
		word := "ok"
		if !c.ok {
			word, good = "FAILED", false
		}
		fmt.Fprintf(w, "  %-8s%s: %s\n", word, c.promise, c.found)
	}
	return good
}

func short(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
