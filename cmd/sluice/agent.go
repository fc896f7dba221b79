package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/report"
)

// eventKinds are what Azure announces to machines.
var eventKinds = []string{"Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"}

func agentCommand() *cobra.Command {
	var s settings
	var address string
	a := agent.Agent{Now: time.Now, Metrics: agent.NewMetrics()}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Read Azure's notices on a node, and write them on its Node",
		Long: `Read what Azure announces to this machine: that a spot machine is taken away, or a machine deleted, redeployed or
restarted. The agent writes the notice on its own node, which then takes no more pods. "sluice run" evicts the pods within their
disruption budgets and the time that is left. Pods that may not be evicted (of a Job, bare, or annotated) work until only their grace
period is left. When sluice has marked the node as empty, the agent lets Azure proceed; not if the notice is also about other machines.
When Azure withdraws a notice, the node takes pods again. Where no sluice runs, the agent keeps new pods away and does nothing more.

It runs on every node, as a DaemonSet (deploy/agent.yaml) or as a systemd unit (deploy/sluice-agent.service). It needs no credentials of
Azure. It asks the machine's own metadata service once a second. It asks the API server only when there is a notice.`,
		Example: `  sluice agent --node-name=agents-3
  sluice agent --heed=Preempt,Terminate --dry-run`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if a.Log, err = s.logger(cmd.ErrOrStderr(), slog.LevelInfo); err != nil {
				return err
			}
			report.BridgeKlog(a.Log)
			for i, kind := range a.Heeds {
				known := slices.IndexFunc(eventKinds, func(k string) bool { return strings.EqualFold(k, kind) })
				if known < 0 {
					return fmt.Errorf("--heed=%s: give kinds of %s", kind, strings.Join(eventKinds, ", "))
				}
				a.Heeds[i] = eventKinds[known]
			}
			config, err := s.kube()
			if err != nil {
				return err
			}
			if a.Client, err = kubernetes.NewForConfig(config); err != nil {
				return fmt.Errorf("connect to the API server: %w", err)
			}
			a.Metadata = &imds.Client{Endpoint: s.endpoints.metadata, Log: a.Log}
			ctx, cancel := context.WithCancelCause(cmd.Context())
			stop, err := app.Serve(app.Options{Address: address}, a.Metrics.Handler(), cancel)
			if err != nil {
				return err
			}
			defer stop()
			if err := a.Run(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil // told to stop
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.Node, "node-name", os.Getenv("NODE_NAME"), "the node that this machine is; empty: $NODE_NAME, else the machine's computer name")
	f.StringSliceVar(&a.Heeds, "heed", agent.DefaultHeeds, "kinds of events to write on the node, of Freeze, Reboot, Redeploy, Preempt, Terminate; a Freeze only keeps new pods away")
	app.BindAs(f, "dry-run", &a.DryRun, "tell what would be done, but change nothing")
	f.StringVar(&address, "address", "", "where /metrics is answered, such as :8086; empty: nowhere")
	s.addCommon(f)
	return cmd
}
