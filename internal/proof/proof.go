// Package proof plays random histories, many of them, and reports what became of sluice's promises. A history is one seed of
// [world.History]; package observer judges it. Each failing one is shrunk to a short scenario that still fails.
package proof

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/observer"
	"sluice.dev/sluice/internal/world"
)

// Options of a run.
type Options struct {
	First     uint64 // the first seed; the others follow it
	Histories int
	Workers   int                       // that play at once; 0 means 2
	Journals  int                       // of every so many one is decided again from its journal; 0 means none
	Each      func(done int, r *Report) // told after each play, by one at a time; may be nil
	Play      func(seed uint64) []byte  // what a seed is; nil means world.History
}

// Outcome is what became of one history.
type Outcome struct {
	world.Result
	Err error // it could not be played, or sluice panicked
}

// wrong are the sentences about what went wrong in it; none when all is well.
func (o Outcome) wrong() []string {
	if o.Err != nil {
		return []string{o.Err.Error()}
	}
	return o.Broken
}

// kind is what went wrong first, as the property or, of an error, its beginning; "" when all is well.
func (o Outcome) kind() string {
	switch {
	case o.Err != nil:
		return "error"
	case len(o.Violations) > 0:
		return o.Violations[0].Property
	case len(o.Broken) > 0:
		return "replay"
	}
	return ""
}

// progress says whether something went wrong, and nothing but that the world did not come to rest.
func (o Outcome) progress() bool {
	if o.Err != nil || len(o.Violations) == 0 || len(o.Violations) != len(o.Broken) {
		return false
	}
	return !slices.ContainsFunc(o.Violations, func(v observer.Violation) bool { return !strings.HasPrefix(v.Property, "P-") })
}

// Play plays one scenario.
func Play(ctx context.Context, script []byte, o world.Options) (out Outcome) {
	defer func() {
		if e := recover(); e != nil {
			out.Err = fmt.Errorf("panic: %v\n%s", e, debug.Stack())
		}
	}()
	out.Result, out.Err = world.Run(ctx, script, io.Discard, o)
	return out
}

// Failure is a history in which a promise was broken.
type Failure struct {
	Seed     uint64
	Kind     string   // the property, or "error" or "replay"
	Wrong    []string // sentences
	progress bool     // nothing else was missed
	Script   []byte   // that was played
	Shrunk   []byte   // a short scenario in which the same property is broken; nil when nobody has looked for one
}

// Run plays histories until all are played or ctx is done.
func Run(ctx context.Context, o Options) *Report {
	return o.run(ctx, func(seed uint64, played played) {
		script := o.script(seed)
		journal := o.Journals > 0 && seed%uint64(o.Journals) == 0
		played(script, Play(ctx, script, world.Options{Seed: seed, NoJournal: !journal}))
	})
}

// played counts what became of a scenario of one seed.
type played func(script []byte, out Outcome)

// run has workers play what there is to be played of each seed. What is played when ctx is done does not count.
func (o Options) run(ctx context.Context, play func(seed uint64, played played)) *Report {
	report := newReport(o)
	seeds := make(chan uint64)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range cmp.Or(o.Workers, 2) {
		workers.Go(func() {
			for seed := range seeds {
				play(seed, func(script []byte, out Outcome) {
					if ctx.Err() != nil {
						return
					}
					mu.Lock()
					defer mu.Unlock()
					report.add(seed, script, out)
					if o.Each != nil {
						o.Each(report.Plays, report)
					}
				})
			}
		})
	}
	for i := range o.Histories {
		select {
		case seeds <- o.First + uint64(i):
			mu.Lock()
			report.Histories++
			mu.Unlock()
		case <-ctx.Done():
		}
	}
	close(seeds)
	workers.Wait()
	report.Took = time.Since(report.began)
	return report
}

// script is the history of a seed.
func (o Options) script(seed uint64) []byte {
	if o.Play != nil {
		return o.Play(seed)
	}
	return world.History(seed)
}

// Shrink finds a shorter scenario in which the same goes wrong, by leaving out statements, for at most so many plays.
func Shrink(ctx context.Context, seed uint64, script []byte, kind string, plays int) []byte {
	lines := bytes.Split(bytes.TrimSpace(script), []byte("\n"))
	fails := func(lines [][]byte) bool {
		plays--
		return plays >= 0 && ctx.Err() == nil && Play(ctx, bytes.Join(lines, []byte("\n")), world.Options{Seed: seed, NoJournal: kind != "replay"}).kind() == kind
	}
	for size := max(1, len(lines)/2); size >= 1; {
		cut := false
		for from := 0; from < len(lines) && plays > 0; {
			to := min(len(lines), from+size)
			rest := append(append([][]byte(nil), lines[:from]...), lines[to:]...)
			if len(rest) > 0 && fails(rest) {
				lines, cut = rest, true
				continue
			}
			from = to
		}
		if !cut || size > 1 {
			size /= 2
		}
		if plays <= 0 {
			break
		}
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

// troubles are the kinds of trouble that a scenario makes, and how often.
func troubles(script []byte) map[string]int {
	all := map[string]int{}
	for line := range strings.SplitSeq(string(script), "\n") {
		words := strings.Fields(strings.TrimPrefix(line, "try "))
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "fault":
			all["Azure: "+words[1]]++
		case "api-fault":
			all["API server: "+words[1]]++
		case "silent-api", "slow-api", "cut":
			all["API server: "+words[0]]++
		case "lose":
			all["many: "+words[1]]++
		case "restore", "revive", "job", "scale":
			all["many: "+words[0]]++
		case "restart", "kill", "rival", "skew", "lease":
			all["process: "+words[0]]++
		case "resize", "touch", "cordon", "uncordon", "taint", "annotate", "protect", "remove", "deallocate", "limits", "lock", "deny", "evict", "silence", "acknowledge":
			all["people: "+words[0]]++
		}
		if words[0] == "delete" && len(words) > 1 && words[1] == "node" {
			all["people: delete node"]++
		}
	}
	return all
}
