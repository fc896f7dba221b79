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

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
)

func runCommand() *cobra.Command {
	var s settings
	o := app.Options{Version: version}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the autoscaler",
		Long: `Run the autoscaler until it is told to stop.

On a machine of the cluster it needs nothing but an API server: subscription, resource group, location and cloud come from
instance metadata, the identity is the machine's own, and node groups are the scale sets with the tags
cluster-autoscaler-enabled=true, min and max. Node groups are named by --nodes or --node-group-auto-discovery;
everything else by an azure.json (--cloud-config) and the environment variables of cluster-autoscaler, such as
ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP, and ARM_TENANT_ID, ARM_CLIENT_ID and ARM_CLIENT_SECRET for a service principal.

With --dry-run it decides as usual, and changes nothing in Azure or Kubernetes: no capacity, no taint, no event, no lease.
The log says what it would do, once when that arises, and sums it up once an hour. It can run beside cluster-autoscaler.`,
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
	showSections(cmd)
	return cmd
}

// addRun declares the flags of run.
func (s *settings) addRun(f *pflag.FlagSet, o *app.Options) {
	s.add(f)
	f.BoolVar(&o.DryRun, "dry-run", false, "decide and tell, but change nothing")
	f.BoolVar(&o.HandBack, "hand-back", false, "when told to stop, take everything of sluice off nodes and pods, for another autoscaler; sluice uninstall does the rest")
	f.DurationVar(&o.Timing.Resync, "scan-interval", 10*time.Second, "a cycle at least so often; what happens in the cluster starts one sooner")
	f.StringVar(&o.Address, "address", ":8085", "address of metrics, health and the read-only API; 127.0.0.1:8085 for this machine alone; empty: none")
	f.BoolVar(&o.PerGroupMetrics, "emit-per-nodegroup-metrics", false, "also serve cluster-autoscaler's metrics that have one series for each node group; sluice's own are always there")
	f.BoolVar(&o.RepeatEvents, "record-duplicated-events", false, "send an Event again in each cycle while it stays true, instead of after five minutes")
	f.BoolVar(&o.Profiling, "profiling", false, "answer /debug/pprof/ at --address as well, for go tool pprof")
	f.BoolVar(&o.Snapshots, "debugging-snapshot-enabled", false, "answer /snapshotz at --address as well: nodes, pods and node groups as the latest cycle saw them, as JSON, without annotations and environments")
	f.BoolVar(&o.Authorize, "web-authorization", false, "answer at --address, but for health, only those whose bearer token the API server knows and lets get the path, and over TLS; needs deploy/web-authorization.yaml")
	f.StringVar(&o.Certificate, "tls-cert-file", "", "PEM file of the certificate that --address shows; without it answers go in the clear, or with --web-authorization under a certificate that the process makes for itself")
	f.StringVar(&o.Key, "tls-private-key-file", "", "PEM file of the key of --tls-cert-file")
	f.DurationVar(&o.MaxInactivity, "max-inactivity", 10*time.Minute, "/healthz and /health-check fail when no cycle has begun for so long, so that a kubelet starts the process anew")
	f.DurationVar(&o.MaxFailing, "max-failing-time", 15*time.Minute, "they fail when no cycle has succeeded for so long: the cluster could not be read, or no node group")
	f.DurationVar(&o.MaxStartup, "max-startup-time", 20*time.Minute, "until the first cycle succeeds this holds in place of both; at least the longer of them")
	f.StringVar(&o.Namespace, "namespace", "kube-system", "namespace of the lease, the status ConfigMap and the ConfigMap cluster-autoscaler-priority-expander")
	f.BoolVar(&o.WriteStatus, "write-status-configmap", true, "keep the status ConfigMap up to date")
	f.StringVar(&o.StatusName, "status-config-map-name", cluster.StatusName, "name of the status ConfigMap")
	f.StringVar(&o.ExpanderURL, "grpc-expander-url", "", "address of the server that --expander=grpc asks, such as expander.kube-system.svc:7000")
	f.StringVar(&o.ExpanderCertificate, "grpc-expander-cert", "", "PEM file of the certificate, or of its authority, that this server shows")
	f.StringVar(&o.Journal, "journal", "", "file that records every cycle, for explain and replay; empty: none")
	f.Int64Var(&o.JournalMaxBytes, "journal-max-bytes", 64<<20, "the journal's file begins anew at this size; the one before is kept as FILE.1")
	e := &o.Election
	f.BoolVar(&e.Enabled, "leader-elect", true, "of several replicas let one act")
	f.StringVar(&e.Name, "leader-elect-resource-name", "cluster-autoscaler", "name of the lease; cluster-autoscaler's own, so that the two never act at once")
	f.DurationVar(&e.Lease, "leader-elect-lease-duration", 15*time.Second, "how long a lease lasts")
	f.DurationVar(&e.Renew, "leader-elect-renew-deadline", 10*time.Second, "the leader stops when it could not renew for this long, and goes on when it can")
	f.DurationVar(&e.Retry, "leader-elect-retry-period", 2*time.Second, "pause between tries to get or renew the lease")
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
