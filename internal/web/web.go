// Package web answers questions about a running autoscaler over HTTP: metrics, whether it is alive and ready, the page that browsers show, and
// the latest journal entry as JSON. It is read-only: everything but GET and HEAD is refused, and no answer causes a cycle.
package web

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"sync/atomic"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/journal"
)

// Options say what a server answers with. The zero value serves health and JSON with the default times.
type Options struct {
	Metrics       http.Handler     // for /metrics; nil for 404
	MaxInactivity time.Duration    // a leader that has not begun a cycle for so long is not healthy; 0 for 10 minutes (--max-inactivity)
	MaxFailing    time.Duration    // nor is one none of whose cycles has succeeded for so long; 0 for 15 minutes (--max-failing-time)
	Startup       time.Duration    // until its first cycle that succeeds this holds in place of both; 0 for 20 minutes (--max-startup-time)
	Profiling     bool             // /debug/pprof/ is answered, too
	Snapshots     bool             // and /snapshotz (--debugging-snapshot-enabled)
	Access        Access           // who may read; nil: everybody
	Lease         func() error     // why the lease cannot be had now, one sentence for everybody; nil when this or another replica holds it, and a nil func without a lease
	Now           func() time.Time // nil for time.Now

	Every    time.Duration                             // a cycle comes at least so often (--scan-interval)
	Version  string                                    // of the program
	Leader   func() string                             // who leads, as its lease names it; "" when nobody is known to
	API      func() []report.APIClass                  // what the cloud's API was asked; nil for a page without
	Timeline *timeline.Timeline                        // of the last hours and days; nil for pages without
	Past     func(at time.Time) (journal.Entry, error) // the last cycle at a time; nil when no journal is kept
}

// Server holds the latest entry and the times of cycles. All methods may be called at any time from anywhere.
type Server struct {
	options Options

	latest  atomic.Pointer[cycle]     // nil before the first complete cycle
	leading atomic.Pointer[time.Time] // since when, nil while this replica stands by
	began   atomic.Pointer[time.Time] // when the latest cycle began, nil before the first
	good    atomic.Pointer[time.Time] // when the latest cycle that succeeded ended, nil before the first of this leader
	read    atomic.Bool               // a cycle of this process has read something of the cloud
	written atomic.Int64              // pages, not answers
	streams streams
	visited visited
}

// New is a server of a process that has just started to lead.
func New(options Options) *Server {
	if options.MaxInactivity == 0 {
		options.MaxInactivity = 10 * time.Minute
	}
	if options.MaxFailing == 0 {
		options.MaxFailing = 15 * time.Minute
	}
	if options.Startup == 0 {
		options.Startup = 20 * time.Minute
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Server{options: options}
	s.Lead()
	return s
}

// StandBy says that another replica leads: this one is healthy and ready while it waits.
func (s *Server) StandBy() { s.leading.Store(nil) }

// Lead says that this replica leads from now on, and that its start-up time begins.
func (s *Server) Lead() {
	now := s.options.Now()
	s.began.Store(nil)
	s.good.Store(nil)
	s.leading.Store(&now)
}

// CycleBegan says that a cycle begins now, whatever comes of it.
func (s *Server) CycleBegan() {
	now := s.options.Now()
	s.began.Store(&now)
}

// Report gives the entry of a completed cycle. It is not changed after.
func (s *Server) Report(entry journal.Entry) {
	next := &cycle{Entry: &entry}
	if last := s.latest.Load(); last != nil {
		next.before = last.viewed.Load()
	}
	s.latest.Store(next)
	defer s.streams.tell()
	if readSome(entry.Seen.Groups) {
		s.read.Store(true)
	}
	if readable := func(g *cluster.Group) bool { return g.Problem == "" }; len(entry.Seen.Groups) == 0 || slices.ContainsFunc(entry.Seen.Groups, readable) {
		now := s.options.Now()
		s.good.Store(&now)
	}
}

// readSome says whether the cloud showed any of the groups, or that there is none.
func readSome(groups []*cluster.Group) bool {
	return len(groups) == 0 || slices.ContainsFunc(groups, func(g *cluster.Group) bool { return !g.Read.At.IsZero() })
}

// index is what / answers.
const index = `sluice

/                                               the page, for browsers: now, time, why, azure
/api/v1/now                                     the latest cycle as the page shows it
/metrics                                        Prometheus metrics
/healthz                                        200 while this process is alive and begins cycles; also /health-check
/readyz                                         200 once a group was read, or while another replica leads; not while the lease cannot be had
/api/v1/entry                                   the latest cycle: plan, results, groups
/api/v1/plan                                    the latest cycle in short, as sluice plan prints it
/api/v1/verdicts?kind=pod|node|group|instance   what becomes of everything, or of one kind
/api/v1/explain?kind=pod&name=default/web-0     why
/api/v1/told                                    what happened, the newest first; until=TIME
/api/v1/find?q=web                              things by a part of their name, also gone ones
/api/v1/azure                                   requests to Azure by class, against its limits

The answers of a cycle take at=TIME and after=TIME, such as at=2026-03-02T02:13:00Z, where a journal is kept.
`

// Handler answers all addresses that / lists.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.browse(mux)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /health-check", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	api := http.NewServeMux()
	api.HandleFunc("GET /api/v1/entry", s.entry)
	api.HandleFunc("GET /api/v1/now", s.now)
	api.HandleFunc("GET /api/v1/told", s.told)
	api.HandleFunc("GET /api/v1/find", s.find)
	api.HandleFunc("GET /api/v1/azure", s.azure)
	api.HandleFunc("GET /api/v1/plan", s.plan)
	api.HandleFunc("GET /api/v1/verdicts", s.verdicts)
	api.HandleFunc("GET /api/v1/explain", s.explain)
	mux.Handle("GET /api/v1/", bounded(apiReaders, api))
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", bounded(metricsReaders, s.options.Metrics))
	}
	if s.options.Snapshots {
		mux.Handle("GET /snapshotz", bounded(apiReaders, http.HandlerFunc(s.snapshot)))
	}
	if s.options.Profiling {
		profiles := http.NewServeMux()
		profiles.HandleFunc("GET /debug/pprof/", pprof.Index) // heap, goroutine and the others by name
		profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.Handle("GET /debug/pprof/", bounded(profileReaders, profiles))
	}
	if s.options.Access != nil {
		return readOnly(allowed(s.options.Access, mux))
	}
	return readOnly(mux)
}

// readOnly refuses every method but GET and HEAD, for every address, and forbids browsers to guess or keep answers.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			text(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered here\n")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
