package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/actuate"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/expander"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/policy"
)

// Options are everything that one process needs.
type Options struct {
	Kube     *rest.Config
	Azure    azure.Options
	Policy   *policy.Policy
	DryRun   bool // decide and tell, write nothing: no lease, event or ConfigMap either (S-24)
	HandBack bool // at its end a process that leads takes off nodes and pods what sluice has put there
	Timing   Timing
	Log      *slog.Logger

	Election    Election
	Instance    string // what Events name as their source, and nodes as their sluice where there is no election
	Namespace   string // of the status ConfigMap
	WriteStatus bool
	StatusName  string

	Address       string       // of metrics, health and the read-only API; "" for none
	Listener      net.Listener // instead of Address, for who wants to choose the port; closed at the end
	Profiling     bool         // /debug/pprof/ is answered there, too
	Snapshots     bool         // and /snapshotz
	Authorize     bool         // but for health only those are answered whom the API server lets get the path; this makes it TLS, too
	Certificate   string       // paths of PEM files: with them all answers go over TLS; without them and with Authorize the process makes its own
	Key           string
	MaxInactivity time.Duration // /healthz fails when no cycle has begun for so long,
	MaxFailing    time.Duration // when none has succeeded for so long,
	MaxStartup    time.Duration // and until the first one that succeeds, when none has for so long

	EventComponent  string // whom Events name as their source; "" for sluice
	RepeatEvents    bool   // tell an object the same in each cycle for as long as it is true (--record-duplicated-events)
	PerGroupMetrics bool   // cluster-autoscaler's metrics of each node group as well (--emit-per-nodegroup-metrics)

	ExpanderURL         string // of the server of the expander grpc; both are read only when the policy has it
	ExpanderCertificate string // path of a PEM file that vouches for it

	Joining Joining

	Journal       string // path; "" for none
	JournalLimits history.Limits

	Version string
}

// Run is one process: it serves metrics and health, waits for its turn to lead, and then turns the loop until ctx is done, whose
// error it returns. Other errors are one sentence for the operator.
func Run(ctx context.Context, o Options) error {
	CollectOften()
	client, err := kubernetes.NewForConfig(o.Kube)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	o.Azure.ReadOnly = o.DryRun
	o.Policy.Installation = o.Instance
	if o.Election.Enabled {
		o.Policy.Installation = o.Election.Namespace + "/" + o.Election.Name
	}
	var status *report.Status
	o.Azure.Ahead = func(ctx context.Context) error {
		if status == nil {
			return nil
		}
		return status.Ahead(ctx)
	}
	book := ledger.New(ledger.Horizon(o.Policy), time.Now)
	o.Azure.Ledger = book
	provider, err := azure.New(ctx, o.Azure)
	if err != nil {
		return err
	}
	var asked actuate.Expander
	if o.Policy.Growth.Expands(policy.GRPC) {
		client, err := expander.Dial(o.ExpanderURL, o.ExpanderCertificate)
		if err != nil {
			return err
		}
		defer client.Close() //nolint:errcheck // nothing is lost with it
		asked = client
	}
	metrics := report.NewMetrics()
	if o.PerGroupMetrics {
		metrics.EmitPerGroup()
	}
	classes := func() []report.APIClass { return apiClasses(provider.Budget()) }
	metrics.WatchAPI(classes)
	access, err := o.access()
	if err != nil {
		return err
	}
	shown := web.Options{
		Metrics: metrics.Handler(), MaxInactivity: o.MaxInactivity, MaxFailing: o.MaxFailing, Startup: o.MaxStartup, Profiling: o.Profiling, Snapshots: o.Snapshots, Access: access,
		Every: o.Timing.withDefaults().Resync, Version: o.Version, API: classes,
	}
	if o.Journal != "" {
		shown.Past = func(at time.Time) (journal.Entry, error) {
			defer ReturnMemory()
			return history.At(o.Journal, at, history.Shown)
		}
	}
	lock := o.election().lock(client)
	if o.election().Enabled {
		shown.Lease, shown.Leader = lock.problem, lock.leader
	}
	remembered, remembers, forget := o.timeline()
	defer forget()
	shown.Timeline = remembered
	server := web.New(shown)
	sinks := []Sink{&firstSink{log: o.Log}, logSink{report.NewLog(o.Log)}, metricsSink{metrics}, remembers, webSink{server}}
	if !o.DryRun {
		sinks = append(sinks, eventsSink{&report.Events{
			Client: client, Instance: o.Instance, Namespace: o.Namespace, Name: o.StatusName, Component: o.EventComponent, Repeat: o.RepeatEvents,
		}})
	}
	if o.WriteStatus && !o.DryRun {
		status = &report.Status{Client: client, Namespace: o.Namespace, Name: o.StatusName, Every: o.Timing.withDefaults().Resync, Operations: provider.SaveOperations, Merge: provider.MergeOperations}
		sinks = append(sinks, &statusSink{status: status, log: o.Log})
	}
	if o.Journal != "" {
		file, err := history.Open(o.Journal, o.JournalLimits)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // every entry was written when its cycle ended
		metrics.Journal(file.Failed, file.Closed)
		sinks = append(sinks, file)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped, err := Serve(o, server.Handler(), cancel)
	if err != nil {
		return err
	}
	defer stopped()
	if err := o.letIn(ctx, client, provider, metrics.Also, cancel); err != nil {
		return err
	}

	o.Log.Info("starting", "version", o.Version, "dry-run", o.DryRun, "api server", o.Kube.Host)
	if o.election().Enabled {
		server.StandBy()
	}
	var leading atomic.Bool
	metrics.Process(o.Version, leading.Load)
	var a *Autoscaler
	resumed := status == nil
	process := ctx
	var told sync.Once
	err = lead(ctx, lock, o.election(), o.Log, func(ctx context.Context, leads func() time.Time) error {
		server.Lead()
		leading.Store(true)
		defer leading.Store(false)
		defer server.StandBy()
		if a != nil && resumed {
			a = a.Anew()
		} else {
			var left report.Legacy
			if !resumed {
				left, resumed = resume(ctx, status, provider, o.Log)
			}
			a = New(Parts{
				Client: client, Cloud: provider, Ledger: book, Policy: o.Policy, DryRun: o.DryRun, Log: o.Log, Sinks: sinks, Timing: o.Timing, Began: server.CycleBegan,
				Namespace: o.Namespace, Expander: asked, Leads: leads, Learned: left.Lessons, Breakers: left.Breakers,
			})
		}
		if err := a.Start(ctx); err != nil {
			return err
		}
		told.Do(func() { tellOfServer(kube.AskServer(ctx, client), o.Log) })
		ReturnMemory()
		return o.handBack(process, client, leads, a.Run(ctx))
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// timeline is the memory of the last days, its sink, and what ends that. It is kept over restarts beside the journal, where there is one.
func (o Options) timeline() (*timeline.Timeline, Sink, func()) {
	line := &timeline.Timeline{}
	if o.Journal == "" {
		return line, timelineSink{line}, func() {}
	}
	keeper := timeline.NewKeeper(timeline.Beside(o.Journal), line, o.JournalLimits.Age)
	keeper.Journal, keeper.Log = o.Journal, o.Log
	return line, keeper, keeper.Close
}

// resume lets the provider follow the operations that an earlier process left behind, and returns what it knew of the groups, and whether its record could be
// read. Without it groups are watched by their reads, nodes teach anew, and machines that never joined are counted anew.
func resume(ctx context.Context, status *report.Status, provider *azure.Provider, log *slog.Logger) (left report.Legacy, read bool) {
	saved, err := status.SavedOperations(ctx)
	if read = err == nil; read {
		err = provider.ResumeOperations(saved)
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("operations of an earlier process are not followed", "err", err)
	}
	if left, err = status.Saved(ctx); err != nil && ctx.Err() == nil {
		log.Warn("not all is known that an earlier process knew of the groups", "err", err)
	}
	return left, read
}

// election is the configured one, or none in a dry run, which must not keep another autoscaler from leading.
func (o Options) election() Election {
	e := o.Election
	e.Enabled = e.Enabled && !o.DryRun
	return e
}

// tellOfServer says once by which version's rules pods are judged, and what is done without.
func tellOfServer(s cluster.Server, log *slog.Logger) {
	if s.Newer {
		log.Warn("the API server is newer than sluice", "why", s.Judged())
	} else if judged := s.Judged(); judged != "" {
		log.Info("the API server is known", "why", judged)
	}
	for _, w := range s.Unread() {
		log.Warn("an API is served in versions that sluice does not read", "api", w.API, "why", w.String())
	}
	for _, w := range s.Absent() {
		log.Info("an API is done without", "api", w.API, "why", w.String())
	}
}
