package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
)

func planCommand() *cobra.Command {
	var s settings
	var format string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what one cycle would do now, and why; write nothing",
		Long: `Read the cluster and Azure once, decide as "sluice run" would with the same flags, and print it. Nothing is
written anywhere. How long nodes have been idle is known to a running sluice only: a plan made by this command
shows idle nodes as having just become so.

Exit code 0: nothing to do; 1: it would act; 2: error.`,
		Example: "  sluice plan --nodes=1:10:agents\n  sluice plan --nodes=1:10:agents -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			entry, err := s.once(cmd.Context())
			if err != nil {
				return err
			}
			show := report.Summary
			if format == "json" {
				show = report.SummaryJSON
			}
			if err := show(cmd.OutOrStdout(), entry); err != nil {
				return err
			}
			if len(entry.Plan.Actions) > 0 {
				return exit(exitActs)
			}
			return nil
		},
	}
	s.add(cmd.Flags())
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}

func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("--output=%s: give text or json", format)
	}
	return nil
}

// once reads the live cluster and decides.
func (s *settings) once(ctx context.Context) (journal.Entry, error) {
	var o app.Options
	if err := s.into(&o); err != nil {
		return journal.Entry{}, err
	}
	return app.Look(ctx, o)
}
