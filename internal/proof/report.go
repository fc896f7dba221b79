package proof

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what became of many histories.
type Report struct {
	First     uint64
	Histories int // that were begun
	Plays     int // of these: one each, or one for each write of each
	Simulated time.Duration
	Took      time.Duration
	Cycles    int
	Troubles  map[string]int    // made, by kind
	Writes    map[string]int    // judged by the observer, by what they were
	Actions   int               // that passed the guard or were refused by it
	Refused   map[string]int    // by the guard or to plan, by property
	Shown     map[string]uint64 // a seed in which the guard refused something, by property
	Contained map[string]int    // losses and removals, by kind
	Failures  []Failure

	began time.Time
}

func newReport(o Options) *Report {
	return &Report{
		First: o.First, Troubles: map[string]int{}, Writes: map[string]int{}, Refused: map[string]int{}, Shown: map[string]uint64{}, Contained: map[string]int{}, began: time.Now(),
	}
}

func (r *Report) add(seed uint64, script []byte, out Outcome) {
	r.Plays++
	r.Simulated += out.Elapsed
	r.Cycles += out.Cycles
	r.Actions += out.Actions
	sum(r.Troubles, troubles(script))
	sum(r.Writes, out.Judged)
	sum(r.Refused, out.Refused)
	sum(r.Contained, out.Contained)
	for property := range out.Refused {
		if _, known := r.Shown[property]; !known {
			r.Shown[property] = seed
		}
	}
	if kind := out.kind(); kind != "" {
		r.Failures = append(r.Failures, Failure{Seed: seed, Kind: kind, Wrong: out.wrong(), progress: out.progress(), Script: script})
	}
}

// Unsafe says whether anything but progress was missed in some history.
func (r *Report) Unsafe() bool {
	return slices.ContainsFunc(r.Failures, func(f Failure) bool { return !f.progress })
}

func sum(to, from map[string]int) {
	for key, n := range from {
		to[key] += n
	}
}

func total(of map[string]int) (n int) {
	for _, v := range of {
		n += v
	}
	return n
}

const year = 365 * 24 * time.Hour

// Write prints the report for people.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "histories    %d, seeds %d to %d\n", r.Histories, r.First, r.First+uint64(max(1, r.Histories))-1)
	if r.Plays != r.Histories {
		fmt.Fprintf(w, "plays        %d\n", r.Plays)
	}
	fmt.Fprintf(w, "simulated    %.2f years, %d cycles, in %s\n", float64(r.Simulated)/float64(year), r.Cycles, r.Took.Round(time.Second))
	table(w, "troubles", r.Troubles)
	table(w, "writes", r.Writes)
	table(w, "contained", r.Contained)
	fmt.Fprintf(w, "guarded      %d actions\n", r.Actions)
	fmt.Fprintf(w, "refusals     %d, by property\n", total(r.Refused))
	for _, property := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(w, "  %-32s %9d   such as in seed %d\n", property, r.Refused[property], r.Shown[property])
	}
	fmt.Fprintf(w, "violations   %d\n", len(r.Failures))
	for _, f := range r.Failures {
		fmt.Fprintf(w, "  %s\n", f)
	}
}

// String is the seed and what was wrong, each sentence on a line of its own.
func (f Failure) String() string {
	return fmt.Sprintf("seed %d: %s", f.Seed, strings.Join(f.Wrong, "\n    "))
}

func table(w io.Writer, title string, of map[string]int) {
	fmt.Fprintf(w, "%-12s %d, by kind\n", title, total(of))
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(w, "  %-32s %9d\n", kind, of[kind])
	}
}
