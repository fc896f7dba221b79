package proof

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/world"
)

// mostKills bounds the writes of one history after each of which sluice is killed.
const mostKills = 1000

// KilledAt is the history of a seed in which sluice is killed once, right after its nth write, and not at random. Every second process knows the
// operations in flight of the one before.
func KilledAt(seed uint64, n int) []byte {
	var out bytes.Buffer
	begun := false
	for line := range strings.SplitSeq(strings.TrimSpace(string(world.History(seed))), "\n") {
		if strings.HasPrefix(line, "kill ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if !begun && strings.HasPrefix(line, "advance ") {
			begun = true
			fmt.Fprintf(&out, "kill %d operations=%s\n", n, []string{"lost", "kept"}[n%2])
		}
	}
	return out.Bytes()
}

// RunKills plays each history once for each of its writes, and kills sluice right after it. The observer judges as ever: what is lost or done twice
// breaks a promise, or keeps the world from coming to rest.
func RunKills(ctx context.Context, o Options) *Report {
	report := newReport(o)
	seeds := make(chan uint64)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range max(1, o.Workers) {
		workers.Go(func() {
			for seed := range seeds {
				for n := 1; n <= mostKills && ctx.Err() == nil; n++ {
					script := KilledAt(seed, n)
					out := Play(ctx, script, world.Options{Seed: seed, NoJournal: true})
					if ctx.Err() != nil {
						break
					}
					mu.Lock()
					report.add(seed, script, out)
					if failed := len(report.Failures); failed > 0 && report.Failures[failed-1].Seed == seed && report.Failures[failed-1].script == nil {
						report.Failures[failed-1].script = script
					}
					if o.Each != nil {
						o.Each(report.Histories, report)
					}
					mu.Unlock()
					if out.Err == nil && !strings.Contains(out.Transcript, " killed ") {
						break // it has fewer writes
					}
				}
			}
		})
	}
	for i := range o.Histories {
		select {
		case seeds <- o.First + uint64(i):
		case <-ctx.Done():
		}
	}
	close(seeds)
	workers.Wait()
	report.Took = time.Since(report.began)
	return report
}
