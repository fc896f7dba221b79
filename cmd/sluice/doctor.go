package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/doctor"
)

func doctorCommand() *cobra.Command {
	var s settings
	var format string
	o := app.Options{Version: version}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this installation, and how to mend it",
		Long: `Look at everything that sluice rests on, with the same flags and environment as "sluice run": the configuration,
instance metadata, endpoints, the identity and its rights action by action, tags, node groups, the rights in
Kubernetes, how nodes and machines match, and the clocks. Nothing is written.

What is wrong comes with a code and with what mends it. Exit code 0: nothing is wrong; 1: there is a problem or a
warning; 2: error.`,
		Example: "  sluice doctor\n  sluice doctor --nodes=1:10:agents -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			all := doctor.Diagnose(s.examine(cmd, &o))
			show := doctor.Print
			if format == "json" {
				show = doctor.PrintJSON
			}
			if err := show(cmd.OutOrStdout(), all); err != nil {
				return err
			}
			if w := doctor.Worst(all); w == doctor.Warning || w == doctor.Problem {
				return exit(exitActs)
			}
			return cmd.Context().Err()
		},
	}
	f := cmd.Flags()
	s.add(f)
	f.StringVar(&o.Namespace, "namespace", "kube-system", "namespace of the lease")
	f.StringVar(&o.Election.Name, "leader-elect-resource-name", "cluster-autoscaler", "name of the lease")
	f.StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}

// examine gathers the facts. Settings that make no sense are one of them.
func (s *settings) examine(cmd *cobra.Command, o *app.Options) doctor.Facts {
	if err := s.into(o, cmd.ErrOrStderr(), slog.LevelError); err != nil {
		return doctor.Facts{Azure: doctor.Azure{Config: err}, Kube: doctor.Kube{Skipped: true}}
	}
	o.Election.Namespace = o.Namespace
	return app.Examine(cmd.Context(), *o)
}
