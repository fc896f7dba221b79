package world

import (
	"context"
	"fmt"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
)

// followed are the resources that sluice follows.
var followed = []string{"nodes", "pods", "daemonsets", "poddisruptionbudgets", "namespaces"}

// patience bounds, in real time, how long sluice may take to hear what Kubernetes has said inside of one process.
const patience = 20 * time.Second

// hear waits until sluice has seen all that the cluster has to show. It is the one place where real time passes.
func (w *world) hear(ctx context.Context) error {
	begun := time.Now()
	for _, resource := range followed {
		for w.sluice.Seen(resource) < w.cluster.ResourceVersion(resource) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if time.Since(begun) > patience {
				return fmt.Errorf("at %s sluice has seen %s up to version %d after %s, and the cluster is at %d",
					clock(w.elapsed()), resource, w.sluice.Seen(resource), patience, w.cluster.ResourceVersion(resource))
			}
			time.Sleep(20 * time.Microsecond)
		}
	}
	return nil
}

// shortest is the pause after which a timer that is due already turns the loop again.
const shortest = 20 * time.Millisecond

// cycle turns sluice's loop once and says when it is due again, by the rules of app.Autoscaler.Run.
func (w *world) cycle(ctx context.Context) error {
	if err := w.hear(ctx); err != nil {
		return err
	}
	w.cycles++
	entry, err := w.sluice.Step(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.witness.watchNodes()
	wait := w.timing.Resync
	if err == nil && again(entry) {
		wait = min(wait, w.retry)
		w.retry = min(2*w.retry, w.timing.Resync)
	} else if err == nil {
		w.retry = w.timing.Retry
	}
	w.due = w.now().Add(wait)
	if err == nil {
		w.dueAt(entry.Plan.Next)
	}
	w.dueAt(w.provider.NextPoll())
	if err != nil {
		w.tellFault(err)
		return nil
	}
	if err := w.encoder.Encode(entry); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	w.tellPlan(entry)
	return nil
}

// dueAt has a cycle at t at the latest.
func (w *world) dueAt(t time.Time) {
	if t.IsZero() {
		return
	}
	if soonest := w.now().Add(shortest); t.Before(soonest) {
		t = soonest
	}
	if t.Before(w.due) {
		w.due = t
	}
}

// again says whether an action met a state that the decision did not know.
func again(entry journal.Entry) bool {
	for _, r := range entry.Results {
		if r.Status == plan.Refused || r.Status == plan.Failed && r.Kind == string(cloud.Conflict) {
			return true
		}
	}
	return false
}
