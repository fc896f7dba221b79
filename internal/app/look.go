package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
)

// Look reads the cluster and the cloud once and returns what one cycle would do, with every action skipped. It holds no client that
// could write. Of the options it reads how to connect, the policy and the log.
func Look(ctx context.Context, o Options) (journal.Entry, error) {
	report.BridgeKlog(o.Log)
	client, err := kubernetes.NewForConfig(o.Kube)
	if err != nil {
		return journal.Entry{}, fmt.Errorf("connect to the API server: %w", err)
	}
	o.Azure.ReadOnly, o.Azure.Whole = true, true
	provider, err := azure.New(ctx, o.Azure)
	if err != nil {
		return journal.Entry{}, err
	}
	list := func() (cluster.Objects, error) {
		return kube.List(ctx, client, besides(o.Policy, o.Namespace))
	}
	seen, err := observe(ctx, provider, list, o.Policy, time.Now, nil, nil)
	if err != nil {
		return journal.Entry{}, err
	}
	for _, sentence := range o.Policy.Strangers(seen.Groups) {
		warnOfStranger(o.Log, sentence)
	}
	decided, _ := plan.Decide(seen, o.Policy, plan.Memory{})
	results := make([]plan.Result, len(decided.Actions))
	for i := range results {
		results[i] = plan.Result{Status: plan.Skipped, At: seen.Time, Message: "this command writes nothing"}
	}
	return journal.Entry{Cycle: 1, Seen: seen, Policy: o.Policy, Plan: decided, Results: results, DryRun: true}, nil
}
