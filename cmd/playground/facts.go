package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azuresim"
)

// facts are all that is known of the story when it is over. Summary and checks are read off them.
type facts struct {
	*story
	requests []azuresim.Request // Azure's log
	pods     []podHistory
	record   *record
	denied   []string // what the API server forbade to sluice
	events   int      // that sluice wrote
	status   bool     // its status ConfigMap exists
	growths  []growthFact
}

// growthFact is what one burst of pods cost and took in one group.
type growthFact struct {
	app      string
	group    string
	requests int           // for capacity, refused ones included
	latency  time.Duration // from the last pod turning unschedulable to the accepted request
	answered bool          // there was one
	machines int           // that it asked for
}

// gather collects the facts.
func gather(ctx context.Context, s *story) (*facts, error) {
	f := &facts{story: s, requests: s.azure.Requests(), pods: s.observer.podsOf(), denied: s.denied.list()}
	var err error
	if f.record, err = readJournal(s.path(journalFile)); err != nil {
		return nil, err
	}
	_, err = s.client.CoreV1().ConfigMaps(deploy.Namespace).Get(ctx, cluster.StatusName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the status ConfigMap: %w", err)
	}
	f.status = err == nil
	events, err := s.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	for _, e := range events.Items {
		if e.Source.Component == "sluice" {
			f.events++
		}
	}
	for _, e := range append([]episode{s.growth}, s.bursts...) {
		for _, g := range e.groups {
			f.growths = append(f.growths, f.growthOf(e, g))
		}
	}
	return f, nil
}

// growthOf compares the playground's own watch on pods with Azure's log.
func (f *facts) growthOf(e episode, g group) growthFact {
	if e.span.to.IsZero() { // the story got stuck in it
		e.span.to = time.Now()
	}
	var last time.Time
	for _, p := range f.pods {
		if p.app == e.app && e.span.holds(p.unschedulable) && p.unschedulable.After(last) {
			last = p.unschedulable
		}
	}
	fact := growthFact{app: e.app, group: g.name}
	before := g.min + f.askedBefore(g, e.span.from)
	for _, r := range growths(f.requests, g.name, e.span) {
		fact.requests++
		if accepted(r) && r.Capacity != nil && !last.IsZero() {
			fact.answered = true
			fact.latency = max(0, r.Time.Sub(last))
			fact.machines = int(*r.Capacity) - before
		}
	}
	return fact
}

// askedBefore is by how much accepted requests have changed a group's capacity until then.
func (f *facts) askedBefore(g group, until time.Time) int {
	capacity := g.min
	for _, r := range f.requests {
		switch {
		case r.ScaleSet != g.name || !accepted(r) || !r.Time.Before(until):
		case r.Kind == deleteKind:
			capacity -= len(r.InstanceIDs)
		case purposeOf(r.Kind) == write && r.Capacity != nil:
			capacity = int(*r.Capacity)
		}
	}
	return capacity - g.min
}

// latencies are those of every burst and group that was answered.
func (f *facts) latencies() []time.Duration {
	var all []time.Duration
	for _, g := range f.growths {
		if g.answered {
			all = append(all, g.latency)
		}
	}
	return all
}

// waits are the times from pending to running of the pods that had to wait for a machine.
func (f *facts) waits() []time.Duration {
	var all []time.Duration
	for _, p := range f.pods {
		if !p.unschedulable.IsZero() && !p.running.IsZero() {
			all = append(all, p.running.Sub(p.created))
		}
	}
	return all
}

// evictions are the pods that went through the eviction API, by the kind of their owner.
func (f *facts) evictions() map[string]int {
	n := map[string]int{}
	for _, p := range f.pods {
		if p.evicted {
			n[p.owner]++
		}
	}
	return n
}

// leftBeforeJobEnded counts the machines of the Job's group that were asked to go while the Job ran, and says whether the newest was
// one of them or its node stood on the removal ladder meanwhile.
func (f *facts) leftBeforeJobEnded() (older int, newest bool) {
	end := f.job.to
	if end.IsZero() {
		end = time.Now()
	}
	for _, r := range f.requests {
		if r.Kind != deleteKind || !accepted(r) || r.ScaleSet != f.newest.ScaleSet || !r.Time.Before(end) || f.newest.ScaleSet == "" {
			continue
		}
		for _, id := range r.InstanceIDs {
			if id == f.newest.InstanceID {
				newest = true
			} else {
				older++
			}
		}
	}
	on := f.observer.nodeOf(f.newest.ComputerName).everOn
	return older, newest || !on.IsZero() && on.Before(end)
}
