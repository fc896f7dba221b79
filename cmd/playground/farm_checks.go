package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"sluice.dev/sluice/internal/economics"
)

// oracleLimit is by how much sluice's machine-hours may exceed those of somebody who knows when each Job ends.
const oracleLimit = 1.10

// summarize tells what was removed and what it all cost.
func (f *farmFacts) summarize(w io.Writer) {
	_, _ = fmt.Fprintln(w, "\nRemoved, in this order")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  after\tmachine\tits age\tJobs on it\tit was\tyounger ones")
	for _, d := range f.departures() {
		place, younger := "an older one", "were idle"
		if d.newest {
			place, younger = "the newest", "none"
		}
		if d.worked {
			younger = "worked on"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%d\t%s\t%s\n", f.told(d.at.Sub(f.farm.began)), d.node, f.told(d.at.Sub(d.created)), len(d.busy), place, younger)
	}
	table.Flush()
	_, _ = fmt.Fprintf(w, "\nWhat it cost; all times are as if they had not been shortened %d times. A boot took %s and a deletion %s in the mean.\n",
		f.farm.speed, f.told(f.bootTime()), f.told(f.deleteTime()))
	others := f.others()
	_, _ = fmt.Fprintln(table, "  \tmachine-hours\tof the oracle's\tJob pods killed\t")
	row := func(name string, hours float64, killed int, how string) {
		_, _ = fmt.Fprintf(table, "  %s\t%.1f\t%.3f\t%d\t%s\n", name, hours, hours/others[0].MachineHours, killed, how)
	}
	row(economics.TheSluice, f.machineHours(), len(f.interrupted()), "measured here")
	for _, o := range others {
		row(o.Contender, o.MachineHours, o.Killed, "by the model of a farm")
	}
	table.Flush()
}

// told is a time of the story as it would be if it had not been shortened.
func (f *farmFacts) told(d time.Duration) time.Duration {
	return (d * time.Duration(f.farm.speed)).Round(time.Minute / 6)
}

func (f *farmFacts) machineHours() float64 {
	return f.machineTime().Hours() * float64(f.farm.speed)
}

// interrupted are the Jobs' pods that did not come to their end by themselves.
func (f *farmFacts) interrupted() []string {
	var out []string
	for _, p := range f.pods {
		if p.owner == "Job" && (p.evicted || p.interrupted() || !p.succeeded) {
			out = append(out, p.name)
		}
	}
	return out
}

// checks holds the facts against every promise.
func (f *farmFacts) checks() []check {
	var all []check
	add := func(ok bool, promise, found string, args ...any) {
		all = append(all, check{promise: promise, found: fmt.Sprintf(found, args...), ok: ok})
	}
	add(f.played, "the story was played to its end", "%s", yes(f.played))
	cut, jobs := f.interrupted(), len(f.farm.load.Pods)
	ran := 0
	for _, p := range f.pods {
		if p.owner == "Job" {
			ran++
		}
	}
	add(len(cut) == 0 && ran == jobs, "no Job's pod was evicted, killed or made again", "%d of %d pods of %d Jobs%s", len(cut), ran, jobs, list(cut))
	f.checkDepartures(add)
	others := f.others()
	add(others[1].Killed > 0, "deleting the newest would have killed Jobs' pods", "%d (at least 1)", others[1].Killed)
	share := f.machineHours() / others[0].MachineHours
	add(share <= oracleLimit && f.played, "machine-hours of an oracle that knows when each Job ends", "%.3f (limit %.2f)", share, oracleLimit)
	add(f.most() <= groups[0].max, "machines at once", "at most %d (limit %d)", f.most(), groups[0].max)
	down := lowered(f.requests)
	add(len(down) == 0, "no capacity was lowered by a number", "%d times%s", len(down), list(down))
	f.checkNodes(add)
	f.checkAnswers(add)
	return all
}

// checkDepartures wants every machine removed idle and by name, and machines among them that a lower number would have reached only through younger ones
// that worked: without these the story tells nothing. How many there are depends on where the scheduler puts the Jobs.
func (f *farmFacts) checkDepartures(add adder) {
	gone := f.departures()
	var busy []string
	older := 0
	for _, d := range gone {
		if len(d.busy) > 0 {
			busy = append(busy, d.node+" with "+d.busy[0])
		}
		if d.worked {
			older++
		}
	}
	_, machines, unnamed := removals(f.requests)
	add(unnamed == 0 && machines == len(f.farm.book.all()) && machines == len(gone), "every machine that came was deleted by its name", "%d of %d", machines, len(f.farm.book.all()))
	add(len(busy) == 0 && len(gone) > 0, "every deleted machine was idle", "%d of %d%s", len(gone)-len(busy), len(gone), list(busy))
	add(2*older > len(gone), "older machines went while younger ones worked on", "%d of %d (at least half)", older, len(gone))
}
