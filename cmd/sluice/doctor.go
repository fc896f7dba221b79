package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
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
		Use:   "doctor [--join [NODE]]",
		Short: "Check this installation; name each fault and its remedy",
		Long: `Check everything that sluice needs, with the same flags and environment as "sluice run". These are the configuration,
instance metadata, endpoints, the identity and each of its rights. Also the rights in Kubernetes, clocks, node groups, tags, and how nodes
and machines match. Nothing is written.

Each result is printed when its check ends. All checks end within --timeout. A fault has a code and a remedy. Checks that need what is
faulty are left out. With -o json, one document comes at the end.

With --join it finds out why machines do not become nodes as they should. It looks at names, provider ids, labels, taints, K3s passwords,
and the boot log of a machine without a node. Name a NODE, or a machine as GROUP/ID or by its computer name, to see everything about it.
Without a name, only faults are shown. It works without Azure, and on clusters that sluice does not manage. Boot logs of at most 3
machines are read by the action retrieveBootDiagnosticsData, which changes nothing. If the role lacks it, the output says so.

The checks use your rights in Kubernetes. --as checks those of another account, such as sluice's own.

Exit code 0: all was checked and nothing is wrong; 1: a problem, a warning, or a check that could not be made; 2: error.`,
		Example: "  sluice doctor\n  sluice doctor --join\n  sluice doctor --join agents00002f\n  sluice doctor --as=system:serviceaccount:kube-system:sluice\n  sluice doctor --nodes=1:10:agents -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			if x.Join && len(args) == 1 {
				return nil
			}
			return noArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if x.Within <= 0 {
				return fmt.Errorf("--timeout=%s: give a duration above zero, such as 30s", x.Within)
			}
			examine := s.diagnose
			if x.Join {
				x.Joins = strings.Join(args, "")
				examine = s.diagnoseJoins
			}
			all, err := examine(cmd, o, x, format == "json")
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
	f.BoolVar(&x.Join, "join", false, "say why machines and nodes do not come together: of the NODE that is named, or of all; asks Azure for boot logs, where the role may")
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

// diagnoseJoins looks at how machines and nodes come together. What keeps it from being known is told first.
func (s *settings) diagnoseJoins(cmd *cobra.Command, o app.Options, x app.Examination, quiet bool) (all []doctor.Finding, err error) {
	wait := progress.NewLine(cmd.ErrOrStderr())
	defer wait.Clear()
	var d doctor.Diagnosis
	var facts doctor.Facts
	x.Learned = func(f doctor.Facts, known func(string) bool) {
		if facts = f; x.WithoutAzure {
			return
		}
		for _, one := range d.Next(f, known) {
			if one.Status == doctor.Problem && slices.Contains(needed, one.Check) {
				all = append(all, one)
			}
		}
		wait.Show(awaited(&d, x.Within))
	}
	bad := s.butKube(&o, wait.Before(cmd.ErrOrStderr()), slog.LevelError)
	if bad != nil { // then of Kubernetes alone
		all, x.WithoutAzure = append(all, doctor.Diagnose(doctor.Facts{Azure: doctor.Azure{Config: bad}})[0]), true
	}
	o.Election.Namespace = o.Namespace
	o.Kube, x.Unnamed = s.kube()
	wait.Show(awaited(&d, x.Within))
	app.Examine(cmd.Context(), o, x)
	wait.Clear()
	j := facts.Joining
	if j == nil || j.Snapshot == nil {
		if len(all) == 0 {
			all = []doctor.Finding{{Check: "kubernetes", Status: doctor.Unknown, Message: fmt.Sprintf("the nodes are not known: not everything was answered within %s", x.Within)}}
		}
		return all, printed(cmd, all, quiet, doctor.PrintJoin)
	}
	joins, known := doctor.Join(j, x.Joins)
	if !known {
		if j.Unread != "" {
			return nil, fmt.Errorf("there is no node %s, and machines are not known: %s", x.Joins, j.Unread)
		}
		return nil, fmt.Errorf("there is no node %s, and no machine of a group has that id or computer name", x.Joins)
	}
	if x.Joins != "" {
		return append(all, joins...), printed(cmd, append(all, joins...), quiet, doctor.PrintJoin)
	}
	return append(all, joins...), printed(cmd, append(all, joins...), quiet, doctor.PrintJoins)
}

// needed are the checks whose faults keep it from being known which machine is which node.
var needed = []string{"configuration", "metadata", "endpoints", "identity", "kubernetes"}

func printed(cmd *cobra.Command, all []doctor.Finding, asJSON bool, text func(io.Writer, []doctor.Finding) error) error {
	if asJSON {
		return doctor.PrintJSON(cmd.OutOrStdout(), all)
	}
	return text(cmd.OutOrStdout(), all)
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
