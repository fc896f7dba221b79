package proof

import (
	"context"
	"strings"

	"sluice.dev/sluice/internal/world"
)

// mostKills bounds the writes of one history after each of which sluice is killed.
const mostKills = 1000

// RunKills plays each history once for each of its writes, and kills sluice right after it. The observer judges as ever: what is lost or done twice
// breaks a promise, or keeps the world from coming to rest. Options.Play is not asked: see [world.KilledHistory].
func RunKills(ctx context.Context, o Options) *Report {
	return o.run(ctx, func(seed uint64, played played) {
		for n := 1; n <= mostKills && ctx.Err() == nil; n++ {
			script := world.KilledHistory(seed, n)
			out := Play(ctx, script, world.Options{Seed: seed, NoJournal: true})
			played(script, out)
			if out.Err == nil && !strings.Contains(out.Transcript, " killed ") {
				break // it has fewer writes
			}
		}
	})
}
