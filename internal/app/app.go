// Package app wires one autoscaler and turns its loop. The same loop runs in production, in the playground and in simulated
// worlds; only its edges differ.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/actuate"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// Sink is told of every cycle after its actions came back. A sink that fails spoils nothing but its own view.
type Sink interface {
	Report(ctx context.Context, entry journal.Entry, took time.Duration) error
}

// ProblemSink is a [Sink] that also shows why a cycle could not observe the cluster or the cloud.
type ProblemSink interface {
	Problem(ctx context.Context, err error)
}

// PhaseSink is a [Sink] that also hears how long the parts of a completed cycle took.
type PhaseSink interface {
	Timed(p report.Phases)
}

// Parts are what an autoscaler is made of.
type Parts struct {
	Client kubernetes.Interface
	Cloud  cloud.Provider
	Ledger *ledger.Book // which Cloud writes to as well; nil when nobody keeps one
	Policy *policy.Policy
	DryRun bool

	Namespace string           // of the ConfigMap that ranks groups; "" means kube-system
	Expander  actuate.Expander // of the expander grpc; nil when the policy has none

	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil discards
	Sinks  []Sink
	Timing Timing
	Began  func() // called when a cycle begins; may be nil

	Learned  cluster.Lessons // by an earlier process; nil when none is known
	Breakers memory.Breakers // what an earlier process knew of failures and windows

	Silent func() time.Duration // for how long the API server has said nothing; nil means that the observer knows
	Leads  func() time.Time     // until when nobody else leads; nil means that nobody else does

	// A simulation has time pass otherwise than the machine's clock has it: it brings what runs beside decisions, and the clock on which a
	// machine's sleep and a clock put forward are seen; nil means goroutines, and time.Now.
	Background kube.Background
	Wall       func() time.Time

	// Around stands around what performs plans, such as a simulation that tries what no plan says; nil means nothing does.
	Around func(Performer) Performer
}

// A Performer performs what a plan says, and says what became of it; see [actuate.Actuator.Perform].
type Performer interface {
	Perform(ctx context.Context, seen *cluster.Snapshot, p action.Plan) []memory.Result
}

// Autoscaler is one wired sluice. Start it, then either Step it by hand or Run it; not both.
type Autoscaler struct {
	parts     Parts
	observer  *kube.Observer
	meter     *kube.Meter
	rights    *kube.Rights
	scaled    *kube.Scaled
	actuator  *actuate.Actuator
	performer Performer // which is the actuator, or stands around it
	planner   plan.Planner
	kept      memory.Memory
	seen      *cluster.Snapshot // by the last cycle, nil before the first
	learned   cluster.Lessons   // of all snapshots
	strangers []string          // flags that name no group, as last warned of
	cycle     uint64
	looked    time.Time // when the last cycle had observed, on the wall clock and on one that nobody puts forward; zero before the first
	ended     time.Time // when the last complete cycle ended, on the wall clock; zero before the first
}

// New wires the parts. Nothing is read or written before [Autoscaler.Start].
func New(p Parts) *Autoscaler {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Wall == nil {
		p.Wall = time.Now
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	p.Timing = p.Timing.withDefaults()
	options := kube.Options{Now: p.Now, Log: p.Log, Besides: besides(p.Policy, p.Namespace), Bypassed: p.Policy.Growth.Bypasses, Background: p.Background}
	observer := kube.NewObserver(p.Client, options)
	silent := p.Silent
	if silent == nil {
		silent = func() time.Duration { return observer.Silent(p.Now()) }
	}
	rights := kube.NewRights(p.Client, options)
	if l, ok := p.Cloud.(cloud.Leaseholder); ok && p.Leads != nil {
		l.Lease(p.Leads)
	}
	a := &Autoscaler{
		parts:    p,
		observer: observer,
		meter:    kube.NewMeter(p.Client, options),
		rights:   rights,
		scaled:   kube.NewScaled(p.Client, options),
		learned:  p.Learned,
		kept:     p.Breakers.Memory(p.Now()),
		actuator: &actuate.Actuator{
			Cloud: p.Cloud, Nodes: kube.Writer{Client: p.Client, Owner: p.Policy.Installation, Lacks: rights.Lacks}, Objects: observer.Objects,
			Expander: p.Expander, Policy: p.Policy, DryRun: p.DryRun, Now: p.Now, Started: p.Now(), Log: p.Log,
			Seen: observer.Seen, Silent: silent, Leads: p.Leads, Ledger: p.Ledger,
		},
	}
	a.performer = a.actuator
	if p.Around != nil {
		a.performer = p.Around(a.actuator)
	}
	return a
}

// Anew is one that begins as a new process does, in place of this one, which has ended: it has read nothing yet, and timers start anew. It goes on with the
// same provider, which knows its own requests, and with what this one would have left to a new process. Nobody else may have led meanwhile.
func (a *Autoscaler) Anew() *Autoscaler {
	p := a.parts
	p.Learned, p.Breakers = a.learned, a.kept.Breakers(p.Now(), p.Policy)
	return New(p)
}

// besides is what the policy has read besides what every decision reads.
func besides(p *policy.Policy, namespace string) kube.Besides {
	r := p.Removal
	return kube.Besides{RankingNamespace: rankingNamespace(p, namespace), Controllers: r.Skip.CustomControllerPods, Replicas: r.Skip.MinReplicas > 0}
}

// rankingNamespace is where the ConfigMap that ranks groups is read, "" when no expander reads it.
func rankingNamespace(p *policy.Policy, namespace string) string {
	if !p.Growth.Expands(policy.Priority) {
		return ""
	}
	return cmp.Or(namespace, "kube-system")
}

// Start begins to follow the API server; see [kube.Observer.Start].
func (a *Autoscaler) Start(ctx context.Context) error { return a.observer.Start(ctx) }

// Seen is the newest resource version of a resource that decisions would rest on; see [kube.Observer.Seen].
func (a *Autoscaler) Seen(resource string) uint64 { return a.observer.Seen(resource) }

// Step turns the loop once: observe, decide, act, report. It never sleeps. An error means that there was nothing to decide on;
// everything else that goes wrong is in the entry.
func (a *Autoscaler) Step(ctx context.Context) (journal.Entry, error) {
	began := time.Now()
	a.cycle++
	if a.parts.Began != nil {
		a.parts.Began()
	}
	if !a.parts.DryRun {
		a.rights.Refresh(ctx)
	}
	var refreshed time.Time
	objects := func() (cluster.Objects, error) {
		refreshed = time.Now()
		return a.objects(ctx)
	}
	seen, err := observe(ctx, a.parts.Cloud, objects, a.parts.Policy, a.parts.Now, a.seen, a.learned)
	if err != nil {
		a.economize(nil)
		err = fmt.Errorf("cycle %d: %w", a.cycle, err)
		for _, s := range a.parts.Sinks {
			if p, ok := s.(ProblemSink); ok {
				p.Problem(ctx, err)
			}
		}
		return journal.Entry{}, err
	}
	observed, looked := time.Now(), a.parts.Wall()
	if !a.looked.IsZero() {
		a.kept = a.kept.Jumped(jump(looked.Round(0).Sub(a.looked.Round(0)), looked.Sub(a.looked)))
	}
	a.looked, a.seen = looked, seen
	seen.Fleet = a.parts.Ledger.See(seen, a.parts.Policy)
	a.learned = a.learned.Keep(seen.Groups)
	a.warnOfStrangers(seen)
	before := a.kept
	p, kept := a.planner.Decide(seen, a.parts.Policy, before)
	decided := time.Now()
	results := a.performer.Perform(ctx, seen, p)
	a.kept = kept.After(p, results, a.parts.Policy)
	if slices.ContainsFunc(results, func(r memory.Result) bool { return r.Code == actuate.Forbidden }) {
		a.rights.Recheck()
	}
	entry := journal.Entry{
		Cycle: a.cycle, Seen: seen, Policy: a.parts.Policy, Before: before, Plan: p, Results: results, DryRun: a.parts.DryRun, After: a.kept,
		Refused: refused(a.parts.Cloud), TookOver: tookOver(a.parts.Cloud),
	}
	a.economize(&entry)
	a.meter.Measure(ctx, p.Measure)
	took := time.Since(began)
	for _, s := range a.parts.Sinks {
		if err := s.Report(ctx, entry, took); err != nil && ctx.Err() == nil {
			a.parts.Log.Warn("report failed", "cycle", a.cycle, "err", err)
		}
	}
	a.tellPhases(report.Phases{Refreshed: refreshed.Sub(began), Observed: observed.Sub(began), Decided: decided.Sub(observed), Acted: took - decided.Sub(began), Took: time.Since(began)}, began)
	a.parts.Log.Debug("cycle", "cycle", a.cycle, "observe", observed.Sub(began), "decide", decided.Sub(observed), "act", took-decided.Sub(began), "report", time.Since(began)-took)
	return entry, nil
}

// tellPhases tells how long the parts of the cycle that began then took.
func (a *Autoscaler) tellPhases(p report.Phases, began time.Time) {
	if !a.ended.IsZero() {
		p.Waited = began.Sub(a.ended)
	}
	a.ended = began.Add(p.Took)
	for _, s := range a.parts.Sinks {
		if t, ok := s.(PhaseSink); ok {
			t.Timed(p)
		}
	}
}

// errCloud is in the chain of errors of cycles that could not read the cloud.
var errCloud = errors.New("read node groups")

// objects are what the API server says, with what was measured last.
func (a *Autoscaler) objects(ctx context.Context) (cluster.Objects, error) {
	os, err := a.observer.Objects()
	a.scaled.Refresh(ctx, os.CapacityBuffers)
	os.NodeUse = a.meter.Known()
	os.PodTemplates = a.scaled.Beside(os.PodTemplates)
	os.Lacks = slices.Concat(a.rights.Missing(), a.observer.Denied()).Sorted()
	return os, err
}

// Measuring says whether an answer of the metrics API is awaited. No cycle waits for it.
func (a *Autoscaler) Measuring() bool { return a.meter.Reading() }

// refused is what the provider has not done of its own accord since the cycle before.
func refused(p cloud.Provider) (all []journal.Refusal) {
	if r, ok := p.(cloud.Refuser); ok {
		for _, one := range r.Refused() {
			all = append(all, journal.Refusal(one))
		}
	}
	return all
}

// tookOver is what the provider has taken over from another process since the cycle before.
func tookOver(p cloud.Provider) (all []journal.Takeover) {
	if h, ok := p.(cloud.Heir); ok {
		for _, one := range h.TookOver() {
			all = append(all, journal.Takeover(one))
		}
	}
	return all
}

// Learned is what nodes have taught of all groups until now.
func (a *Autoscaler) Learned() cluster.Lessons { return a.learned }

// warnOfStrangers says, once, which flags name groups that are not there. A group may appear later.
func (a *Autoscaler) warnOfStrangers(seen *cluster.Snapshot) {
	strangers := a.parts.Policy.Strangers(seen.Groups)
	if slices.Equal(strangers, a.strangers) {
		return
	}
	a.strangers = strangers
	for _, sentence := range strangers {
		warnOfStranger(a.parts.Log, sentence)
	}
}

func warnOfStranger(log *slog.Logger, sentence string) {
	log.Warn("a flag has no effect, there is no such group; correct its name, or tag the scale set so that it is found", "flag", sentence)
}

// observe makes one snapshot: the cloud first, so that a node that registers meanwhile is seen. Groups have the limits of the hour. Last is the
// snapshot that it follows, nil for none, and learned what earlier ones knew.
func observe(ctx context.Context, c cloud.Provider, objects func() (cluster.Objects, error), allowed *policy.Policy, now func() time.Time, last *cluster.Snapshot, learned cluster.Lessons) (*cluster.Snapshot, error) {
	groups, cloudErr := c.Groups(ctx)
	if cloudErr != nil && len(groups) == 0 {
		return nil, fmt.Errorf("%w: %w", errCloud, cloudErr)
	}
	os, err := objects()
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", kube.Plain(err))
	}
	at := now()
	bound := make([]*cluster.Group, len(groups))
	for i, g := range groups {
		g.Learned = learned[g.ID]
		if last != nil && last.Group(g.ID) != nil {
			g.Joined = last.Group(g.ID).Joined
		}
		bound[i] = allowed.Bound(g, at)
	}
	if last == nil {
		return cluster.New(at, os, bound), nil
	}
	return last.Next(at, os, bound), nil
}
