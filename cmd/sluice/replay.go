package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/journal"
)

func replayCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "replay JOURNAL",
		Short: "Decide every cycle of a journal again and compare",
		Long: `Decide every cycle of a journal again, from what it saw and remembered, and compare with what it decided then.

The same version decides exactly the same. Another version may differ. Then replay shows where: this is what an upgrade would have
changed.

Exit code 0: every decision came out the same; 1: some differ; 2: error.`,
		Example: "  sluice replay /var/lib/sluice/journal.jsonl",
		Args:    arguments(1, 1, "one journal, such as: sluice replay journal.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			left := tellAside(cmd.ErrOrStderr())
			w := left.Before(cmd.OutOrStdout())
			var cycles, actions, differ int
			err := eachLine(args[0], time.Time{}, left, func(_ journal.Line, r *history.Reader) error {
				e, err := r.Entry()
				if err != nil {
					return err
				}
				again, same, err := journal.Replay(e)
				if err != nil {
					return err
				}
				cycles++
				actions += len(e.Plan.Actions)
				if verbose {
					_, _ = fmt.Fprintf(w, "cycle %d  %s  %d actions  same=%t\n", e.Cycle, e.Seen.Time.Format("15:04:05"), len(e.Plan.Actions), same)
				}
				if !same {
					differ++
					want, _ := json.MarshalIndent(e.Plan, "", " ")
					got, _ := json.MarshalIndent(again, "", " ")
					_, _ = fmt.Fprintf(w, "cycle %d at %s differs (-recorded +decided again):\n%s", e.Cycle, e.Seen.Time, cmp.Diff(string(want), string(got)))
				}
				return nil
			})
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(w, "%d cycles with %d actions: %d decided exactly the same, %d differently\n", cycles, actions, cycles-differ, differ)
			if differ > 0 {
				return exit(exitActs)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&verbose, "cycles", false, "print a line for every cycle")
	return cmd
}
