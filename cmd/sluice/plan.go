package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
)

func planCommand() *cobra.Command {
	var s settings
	var o app.Options
	var w whom
	var format string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what one cycle would do now, and why; nothing is written",
		Long: `Show what the running sluice decided in its last cycle, with its own flags and all that it has learned. It is asked
through the API server (rights: deploy/reader.yaml), or at --server.

The command decides by itself if none runs, with --server=none, or with flags that say how to decide. Then it reads the cluster and Azure
once, as "sluice run" with these flags would, and writes nothing. The status ConfigMap says what a running sluice has learned from nodes,
and which machines never joined. The plan says so if it cannot be read. Only a running sluice knows how long nodes have been idle. Here
idle nodes have just become so.

Exit code 0: nothing to do; 1: it would act, or no node group is found; 2: error, also when no node group can be read.`,
		Example: "  sluice plan\n  sluice plan --context=prod -o json\n  sluice plan --nodes=1:10:agents",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			here, err := w.here(cmd.Flags())
			if err != nil {
				return err
			}
			w.namespace = o.Namespace
			made, err := s.plan(cmd.Context(), o, w, here, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			show := made.WriteText
			if format == "json" {
				show = made.WriteJSON
			}
			if err := show(cmd.OutOrStdout()); err != nil {
				return err
			}
			if err := sighted(made); err != nil {
				return err
			}
			if len(made.Groups) == 0 {
				if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "sluice: "+report.NoGroup()); err != nil {
					return err
				}
				return exit(exitActs)
			}
			if len(made.Deeds) > 0 {
				return exit(exitActs)
			}
			return nil
		},
	}
	s.add(cmd.Flags())
	s.addKubectl(cmd.Flags())
	w.add(cmd.Flags())
	named := pflag.NewFlagSet("", pflag.ContinueOnError)
	app.BindAs(named, "namespace", &o.Namespace, "namespace of sluice: of its service, the status ConfigMap and the ConfigMap cluster-autoscaler-priority-expander")
	named.Lookup("namespace").Shorthand = "n"
	cmd.Flags().AddFlagSet(named)
	statusName(cmd.Flags(), &o)
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	takeAll(cmd.Flags(), runCommand().Flags())
	return cmd
}

// statusName declares the name of the status ConfigMap.
func statusName(f *pflag.FlagSet, o *app.Options) {
	app.BindAs(f, "status-config-map-name", &o.StatusName, "name of the status ConfigMap, which has what nodes have taught a running sluice")
}

// takeAll has a verb take the flags of run that mean nothing to it, and not show them: people give it the arguments of their Deployment.
func takeAll(own, run *pflag.FlagSet) {
	run.VisitAll(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil {
			f.Hidden, f.Shorthand = true, ""
			own.AddFlag(f)
		}
	})
}

func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("--output=%s: give text or json", format)
	}
	return nil
}

// sighted refuses to call it nothing to do when Azure showed nothing of any group.
func sighted(made report.Overview) error {
	problem := ""
	for _, g := range made.Groups {
		if g.Problem == "" {
			return nil
		}
		problem = g.Problem
	}
	if problem == "" {
		return nil // there is no group
	}
	return fmt.Errorf("no node group can be read: %s", problem)
}

// plan is what the running sluice decided last, or what this process decides once.
func (s *settings) plan(ctx context.Context, o app.Options, w whom, here bool, stderr io.Writer) (made report.Overview, why error) {
	if !here {
		err := s.ask(ctx, w, "api/v1/plan", nil, &made)
		var none *noSluice
		if !errors.As(err, &none) {
			return made, err
		}
		defer func() {
			if why != nil {
				why = none.besides(why)
				return
			}
			_, _ = io.WriteString(stderr, decidedHere(none))
		}()
	}
	entry, err := s.once(ctx, o, stderr)
	if err != nil {
		return made, err
	}
	return report.NewOverview(entry), nil
}

// once reads the live cluster and decides. Its log is for trouble only, and goes to stderr: the answer is what the user asked for.
func (s *settings) once(ctx context.Context, o app.Options, stderr io.Writer) (journal.Entry, error) {
	wait := progress.NewLine(stderr)
	defer wait.Clear()
	if err := s.into(&o, wait.Before(stderr), slog.LevelWarn); err != nil {
		if errors.Is(err, app.ErrNoCluster) {
			err = fmt.Errorf("%w; %s", err, doctor.Offline)
		}
		return journal.Entry{}, err
	}
	wait.Show("reading the cluster and Azure, which takes seconds")
	entry, err := app.Look(ctx, o)
	var lost *url.Error
	var refused *cloud.Error
	switch {
	case errors.As(err, &refused):
		err = fmt.Errorf("%w; sluice doctor says what mends it", err)
	case !errors.As(err, &lost), strings.HasPrefix(lost.URL, o.Kube.Host):
		err = reaching(err)
	}
	entry.Results = nil // nothing was tried: the actions are planned, not skipped
	return entry, err
}

// reaching says of an error of the API server what to check, where that is plain.
func reaching(err error) error {
	var lost *url.Error
	switch {
	case errors.As(err, &lost):
		return fmt.Errorf("%w; check the address of the API server in the kubeconfig, and the network between", kube.Plain(err))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; check the token or certificate in the kubeconfig", err)
	}
	return err
}
