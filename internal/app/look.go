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
	"sluice.dev/sluice/plan/memory"
)

// Look reads the cluster and the cloud once and returns what one cycle would do, with every action skipped. It holds no client that
// could write. What nodes have taught a running sluice it takes from the status ConfigMap: the entry says where it could not. Of the options it reads how to
// connect, the policy, the namespace and name of that ConfigMap, and the log.
func Look(ctx context.Context, o Options) (journal.Entry, error) {
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
	left, without := report.ReadLegacy(ctx, client, o.Namespace, o.StatusName)
	seen, err := observe(ctx, provider, list, o.Policy, time.Now, nil, left.Lessons)
	if err != nil {
		return journal.Entry{}, err
	}
	for _, sentence := range o.Policy.Strangers(seen.Groups) {
		warnOfStranger(o.Log, sentence)
	}
	before := left.Breakers.Memory(seen.Time)
	decided, _ := plan.Decide(seen, o.Policy, before)
	results := make([]memory.Result, len(decided.Actions))
	for i := range results {
		results[i] = memory.Result{Status: memory.Skipped, At: seen.Time, Message: "this command writes nothing"}
	}
	entry := journal.Entry{Cycle: 1, Seen: seen, Policy: o.Policy, Before: before, Plan: decided, Results: results, DryRun: true}
	if without != nil {
		entry.Without = kube.Plain(without).Error()
	}
	return entry, nil
}
