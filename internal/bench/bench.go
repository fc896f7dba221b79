// Package bench measures what sluice's decisions cost: time, CPU, allocations and memory on one core, over the worlds of package
// workload. Every row also checks that what was decided is right, since a wrong answer has no speed.
package bench

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
)

// Row is one decision that is measured.
type Row struct {
	Name  string        // one word, for the command line
	Pays  Part          // what of a cycle is timed
	Title string        // what is decided
	Goal  time.Duration // what we want
	Limit time.Duration // never above; 0 where there is no limit, and no goal either
	Build func(scale float64) Case
}

// Part is what of a cycle a row times.
type Part string

// The parts.
const (
	Decision Part = "decision" // [plan.Decide] as a process that has just started, on a snapshot that is joined already
	Cycle    Part = "cycle"    // joining the snapshot and deciding, as a process that has turned cycles before
	Watch    Part = "watch"    // a cycle, and before it what the watch does with the objects that changed
	Past     Part = "past"     // a cycle of the past is read from the journal and explained
	Page     Part = "page"     // a cycle that is decided is shown to browsers
	Start    Part = "start"    // all objects are recorded, joined and decided about for the first time
)

// Scaled is the row at a share of its world, to which neither its goal nor its limit applies.
func (r Row) Scaled(scale float64) Row {
	if scale != 1 {
		r.Title, r.Goal, r.Limit = fmt.Sprintf("%g of: %s", scale, r.Title), 0, 0
	}
	return r
}

// Case is a row's world at a scale: 1 is the row itself, less is for tests. It is built outside the timing.
type Case struct {
	Pods   int         // that the figure of nanoseconds a pod is about
	Cycles int         // that one Decide turns, of which the figures are the mean; 0 for one
	Fresh  func()      // readies the next decision outside the timing; nil for nothing to do
	Decide func() Made // what is timed
	Close  func()      // ends what Build began; nil for nothing to do
	Week   int64       // bytes that the journal of a week takes on the disk; 0 for a row that is not about that
	Right  func(Made) error
}

// Made is a decision and what it was about.
type Made struct {
	Seen *cluster.Snapshot
	Plan action.Plan
}

// Figures are what a row took. Times and allocations are medians over the runs.
type Figures struct {
	Runs        int           `json:"runs"`
	Time        time.Duration `json:"timeNs"`
	Fastest     time.Duration `json:"fastestNs"`
	Slowest     time.Duration `json:"slowestNs"`
	CPU         time.Duration `json:"cpuNs"` // user and system time of the whole process
	Allocations uint64        `json:"allocations"`
	Bytes       uint64        `json:"allocatedBytes"`
	WorldRSS    uint64        `json:"worldRSSBytes"` // resident memory before the first run: inputs and program
	PeakRSS     uint64        `json:"peakRSSBytes"`  // the highest during the runs; 0 where the system does not tell
	Pods        int           `json:"pods"`
	PerPod      float64       `json:"nsPerPod"`
	Week        int64         `json:"journalBytesPerWeek,omitempty"`
	OfCore      float64       `json:"ofCore,omitempty"` // CPU time of a cycle in ten seconds; 0 for a row that is no cycle
}

// Verdict is one word on a row's time.
type Verdict string

// The verdicts, from best to worst.
const (
	Goal     Verdict = "goal"     // at or below the goal
	Within   Verdict = "within"   // at or below the limit
	Measured Verdict = "measured" // there is no limit
	Over     Verdict = "over"     // above the limit
	Stopped  Verdict = "stopped"  // did not end in the time that the harness gives
	Wrong    Verdict = "wrong"    // decided something else than the row expects
)

// judge is the verdict on the CPU time of a row that ended and was right: other processes lengthen that least.
func (r *Row) judge(t time.Duration) Verdict {
	switch {
	case r.Limit == 0:
		return Measured
	case t <= r.Goal:
		return Goal
	case t <= r.Limit:
		return Within
	}
	return Over
}

// Result is one row of the report.
type Result struct {
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Pays    Part          `json:"pays,omitempty"`
	Goal    time.Duration `json:"goalNs,omitempty"`
	Limit   time.Duration `json:"limitNs,omitempty"`
	Verdict Verdict       `json:"verdict"`
	Figures *Figures      `json:"figures,omitempty"`
	Cap     time.Duration `json:"capNs,omitempty"`   // after which it was stopped
	Problem string        `json:"problem,omitempty"` // why there are no figures
}
