package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/progress"
)

func doctorCommand() *cobra.Command {
	var s settings
	var format string
	var x app.Examination
	o := app.Options{Version: version}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this installation, and how to mend it",
		Long: `Look at everything that sluice rests on, with the same flags and environment as "sluice run": the configuration,
instance metadata, endpoints, the identity and its rights action by action, the rights in Kubernetes, the clocks, node
groups, tags, and how nodes and machines match. Nothing is written.

Each check is told as it ends, and the whole ends within --timeout. What is wrong comes with a code and with what mends it;
checks that depend on something that is wrong are not made. With -o json, one document comes at the end.

The rights in Kubernetes are those of whoever asks. --as asks for those of another account, such as sluice's own.

Exit code 0: everything was looked at and nothing is wrong; 1: there is a problem or a warning, or something could not be
looked at; 2: error.`,
		Example: "  sluice doctor\n  sluice doctor --as=system:serviceaccount:kube-system:sluice\n  sluice doctor --nodes=1:10:agents -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if x.Within <= 0 {
				return fmt.Errorf("--timeout=%s: give a duration above zero, such as 30s", x.Within)
			}
			all, err := s.diagnose(cmd, o, x, format == "json")
			if err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if doctor.Worst(all) != doctor.OK {
				return exit(exitActs)
			}
			return nil
		},
	}
	f := cmd.Flags()
	s.add(f)
	s.addContext(f)
	app.BindAs(f, "namespace", &o.Namespace, "namespace of the lease and the status ConfigMap")
	statusName(f, &o)
	app.BindAs(f, "leader-elect-resource-name", &o.Election.Name, "name of the lease")
	f.StringVar(&x.As, "as", "", "account in Kubernetes to ask as, by impersonation, such as system:serviceaccount:kube-system:sluice; empty: your own")
	f.DurationVar(&x.Within, "timeout", 30*time.Second, "end within this time; what was not answered by then is unknown")
	f.StringVarP(&format, "output", "o", "text", "text or json")
	takeAll(f, runCommand().Flags())
	return cmd
}

// diagnose looks, and tells each check as it ends; with quiet all of them at the end, as one JSON document. Settings that make no sense are a
// finding.
func (s *settings) diagnose(cmd *cobra.Command, o app.Options, x app.Examination, quiet bool) (all []doctor.Finding, err error) {
	printer := doctor.Printer{W: cmd.OutOrStdout()}
	wait := progress.NewLine(cmd.ErrOrStderr())
	defer wait.Clear()
	var d doctor.Diagnosis
	x.Learned = func(f doctor.Facts, known func(string) bool) {
		found := d.Next(f, known)
		all = append(all, found...)
		wait.Clear()
		if !quiet {
			err = errors.Join(err, printer.Print(found))
		}
		wait.Show(awaited(&d, x.Within))
	}
	if bad := s.butKube(&o, wait.Before(cmd.ErrOrStderr()), slog.LevelError); bad != nil {
		x.Learned(doctor.Facts{Azure: doctor.Azure{Config: bad}}, func(string) bool { return true })
	} else {
		o.Election.Namespace = o.Namespace
		o.Kube, x.Unnamed = s.kube()
		wait.Show(awaited(&d, x.Within))
		app.Examine(cmd.Context(), o, x)
	}
	switch {
	case err != nil:
	case quiet:
		err = doctor.PrintJSON(cmd.OutOrStdout(), all)
	default:
		err = printer.End()
	}
	return all, err
}

// awaited says which check comes next, how many there are, and whom it waits for; "" behind the last one.
func awaited(d *doctor.Diagnosis, within time.Duration) string {
	check, answer := d.Awaits()
	if check == "" {
		return ""
	}
	return fmt.Sprintf("%-14s ...      waiting for an answer of %s; check %d of %d, all within %s",
		check, answer, slices.Index(doctor.Checks, check)+1, len(doctor.Checks), within)
}
