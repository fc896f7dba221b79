package proof

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"sluice.dev/sluice/internal/world"
)

// mostKills bounds the writes of one history after each of which sluice is killed.
const mostKills = 1000

// killedAt is the history with sluice killed once, right after its nth write, and not at random. Every second process knows the operations in
// flight of the one before.
func killedAt(history []byte, n int) []byte {
	var out bytes.Buffer
	begun := false
	for line := range strings.SplitSeq(strings.TrimSpace(string(history)), "\n") {
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
	return o.run(ctx, func(seed uint64, played played) {
		for n := 1; n <= mostKills && ctx.Err() == nil; n++ {
			script := killedAt(o.script(seed), n)
			out := Play(ctx, script, world.Options{Seed: seed, NoJournal: true})
			played(script, out)
			if out.Err == nil && !strings.Contains(out.Transcript, " killed ") {
				break // it has fewer writes
			}
		}
	})
}
