package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
)

func runCommand() *cobra.Command {
	var s settings
	o := app.Options{Version: version}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the autoscaler",
		Long: `Run the autoscaler until it is told to stop.

On a machine of the cluster it needs nothing but an API server. Subscription, resource group, location and cloud come from instance
metadata; the identity is the machine's own. Node groups are the scale sets with the tags cluster-autoscaler-enabled=true, min and max.
Name others with --nodes or --node-group-auto-discovery. Everything else comes from an azure.json (--cloud-config) and the environment
variables of cluster-autoscaler. Examples are ARM_SUBSCRIPTION_ID and ARM_RESOURCE_GROUP, and for a service principal ARM_TENANT_ID,
ARM_CLIENT_ID and ARM_CLIENT_SECRET.

With --dry-run it decides as usual, and changes nothing in Azure or Kubernetes: no capacity, taint, event or lease. The log says once what
it would do, and sums it up once an hour. It can run beside cluster-autoscaler.`,
		Example: `  sluice run --nodes=1:10:agents --nodes=0:20:render
  sluice run --node-group-auto-discovery=label:cluster-autoscaler-enabled=true,cluster-autoscaler-name=prod
  sluice run --dry-run --nodes=1:10:agents --address=127.0.0.1:8085 --journal=/tmp/sluice.jsonl`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.into(&o, cmd.ErrOrStderr(), slog.LevelInfo); err != nil {
				return err
			}
			if err := check(&o); err != nil {
				return err
			}
			if moot := app.GivenWithoutEffect(cmd.Flags()); moot != "" {
				o.Log.Info("flags that have no effect; docs/reference/flags.md says why", "flags", moot)
			}
			o.EventComponent = eventSource(os.Args[0], cmd.Flags())
			err := app.Run(cmd.Context(), o)
			if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
				return nil // told to stop
			}
			return err
		},
	}
	s.addRun(cmd.Flags(), &o)
	return cmd
}

// addRun declares the flags of run.
func (s *settings) addRun(f *pflag.FlagSet, o *app.Options) {
	s.add(f)
	app.Bind(f, joiningFlags(&o.Joining))
	app.Bind(f, map[string]any{
		"dry-run": &o.DryRun, "hand-back": &o.HandBack, "scan-interval": &o.Timing.Resync, "address": &o.Address,
		"emit-per-nodegroup-metrics": &o.PerGroupMetrics, "record-duplicated-events": &o.RepeatEvents, "profiling": &o.Profiling,
		"debugging-snapshot-enabled": &o.Snapshots, "web-authorization": &o.Authorize, "tls-cert-file": &o.Certificate,
		"tls-private-key-file": &o.Key, "max-inactivity": &o.MaxInactivity, "max-failing-time": &o.MaxFailing,
		"max-startup-time": &o.MaxStartup, "namespace": &o.Namespace, "write-status-configmap": &o.WriteStatus,
		"status-config-map-name": &o.StatusName, "grpc-expander-url": &o.ExpanderURL, "grpc-expander-cert": &o.ExpanderCertificate,
		"journal": &o.Journal, "journal-max-bytes": &o.JournalLimits.File, "journal-keep-bytes": &o.JournalLimits.Total, "journal-keep": &o.JournalLimits.Age, "leader-elect": &o.Election.Enabled,
		"leader-elect-resource-name": &o.Election.Name, "leader-elect-lease-duration": &o.Election.Lease,
		"leader-elect-renew-deadline": &o.Election.Renew, "leader-elect-retry-period": &o.Election.Retry,
	})
}

// check finds what makes no sense among the flags that only run has, and completes the election.
func check(o *app.Options) error {
	if o.Timing.Resync < time.Second {
		return fmt.Errorf("--scan-interval=%s: give at least 1s", o.Timing.Resync)
	}
	if o.MaxInactivity < o.Timing.Resync {
		return fmt.Errorf("--max-inactivity=%s: give at least --scan-interval (%s)", o.MaxInactivity, o.Timing.Resync)
	}
	if o.MaxFailing <= 0 {
		return fmt.Errorf("--max-failing-time=%s: give a duration above zero, such as 15m", o.MaxFailing)
	}
	o.MaxStartup = max(o.MaxStartup, o.MaxFailing, o.MaxInactivity)
	if (o.Certificate == "") != (o.Key == "") {
		return fmt.Errorf("--tls-cert-file=%s, --tls-private-key-file=%s: give both or neither", o.Certificate, o.Key)
	}
	e := &o.Election
	for _, name := range []struct{ flag, value string }{
		{"namespace", o.Namespace}, {"status-config-map-name", o.StatusName}, {"leader-elect-resource-name", e.Name},
	} {
		if name.value == "" {
			return fmt.Errorf("--%s is empty: give a name, or leave the flag out", name.flag)
		}
	}
	e.Namespace = o.Namespace
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("leader election: name this process by its host: %w", err)
	}
	o.Instance = fmt.Sprintf("%s_%d", host, os.Getpid())
	e.Machine, e.Identity = app.Identify(host)
	if e.Enabled && (e.Retry <= 0 || e.Renew <= e.Retry || e.Lease <= e.Renew) {
		return fmt.Errorf("--leader-elect-lease-duration=%s, --leader-elect-renew-deadline=%s, --leader-elect-retry-period=%s: each must be longer than the next", e.Lease, e.Renew, e.Retry)
	}
	return nil
}
