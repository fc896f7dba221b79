package world

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/kubesim"
)

// Trouble at the boundary to Kubernetes, and with sluice's own processes. fault.go has that to Azure.

// apiWrites are sluice's writes to Kubernetes by what scripts call them.
var apiWrites = map[string]kubesim.Fault{
	"cordon":      {Verb: "patch", Resource: "nodes"},
	"evict":       {Verb: "create", Resource: "pods", Subresource: "eviction"},
	"delete-node": {Verb: "delete", Resource: "nodes"},
	"gate":        {Verb: "patch", Resource: "pods"},
}

// apiTroubles are what may become of them.
var apiTroubles = map[string]func(*kubesim.Fault){
	"conflict": func(f *kubesim.Fault) { f.Code, f.Reason = http.StatusConflict, metav1.StatusReasonConflict },
	"throttled": func(f *kubesim.Fault) {
		f.Code, f.Reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
	},
	"broken": func(f *kubesim.Fault) {
		f.Code, f.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
	},
	"forbidden":    func(f *kubesim.Fault) { f.Code, f.Reason = http.StatusForbidden, metav1.StatusReasonForbidden },
	"lost-request": func(*kubesim.Fault) {},
	"lost-answer":  func(f *kubesim.Fault) { f.AfterEffect = true },
}

// apiServer is how the API server is to sluice and its agents: the way to it, its troubles, and what of its store somebody has kept.
type apiServer struct {
	clock *simClock
	carry func(http.RoundTripper) http.RoundTripper // nil for none

	silent      func() // ends the silence of watches; nil while they speak
	silentSince time.Time
	slow        time.Duration // what it takes to answer a write of sluice's

	backup   *backup   // of its store; nil for none
	restored time.Time // when that was put back last
}

// carried is a way to the API server, as [Options.Kubernetes] has it.
func (a *apiServer) carried(next http.RoundTripper) http.RoundTripper {
	if a.carry == nil {
		return next
	}
	return a.carry(next)
}

// endings are what ends by itself, or with heal: troubles, a rival, a lease.
type endings struct {
	clock *simClock
	all   []ending
}

// ending is something that ends by itself at a time.
type ending struct {
	at  time.Time
	end func() error
}

func doAPIFault(w *world, s *statement) error {
	trouble, known := apiTroubles[s.names[0]]
	if !known {
		return fmt.Errorf("api-fault: %q is no trouble known here; there are %s", s.names[0], strings.Join(sortedKeys(apiTroubles), ", "))
	}
	of := s.value("of", "cordon")
	f, known := apiWrites[of]
	if !known {
		return s.bad("of", of, strings.Join(sortedKeys(apiWrites), ", "))
	}
	times, err := s.number("times", 0)
	if err != nil {
		return err
	}
	lasts, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	f.Times = times
	trouble(&f)
	w.endings.until(lasts, w.cluster.Inject(f))
	return nil
}

// userAgent is what sluice calls itself to the API server.
const userAgent = "sluice"

// doAPIDeny takes a right from sluice alone: agents and people have their own.
func doAPIDeny(w *world, s *statement) error {
	w.cluster.Deny(userAgent, s.names[0], s.names[1])
	return nil
}

func doAPIAllow(w *world, s *statement) error {
	w.cluster.Allow(s.names[0], s.names[1])
	return nil
}

// doSilent has watches say nothing. What they had to say before is heard first, so that a story is the same each time.
func doSilent(ctx context.Context, w *world, s *statement) error {
	lasts, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	if lasts == 0 {
		return fmt.Errorf("silent-api: give how long, such as for=40s")
	}
	if err := w.hear(ctx); err != nil {
		return err
	}
	w.api.speak()
	w.api.silent, w.api.silentSince = w.cluster.Inject(kubesim.Fault{Stall: true}), w.now()
	w.endings.until(lasts, w.api.speak)
	return nil
}

// speak ends the silence of watches, if there is one. A process that begins needs them.
func (a *apiServer) speak() {
	if a.silent != nil {
		a.silent()
		a.silent = nil
	}
}

// doSlow has the API server take its time with sluice's writes.
func doSlow(w *world, s *statement) error {
	after, err := s.duration("after", 0)
	if err != nil {
		return err
	}
	lasts, err := s.duration("for", 0)
	if err != nil {
		return err
	}
	if after <= 0 || after > mostWait || lasts == 0 {
		return fmt.Errorf("slow-api: give after, at most %s, and for how long, such as after=5s for=2m", mostWait)
	}
	w.api.slow = after
	w.endings.until(lasts, func() { w.api.slow = 0 })
	return nil
}

// sluggish is a way to an API server that takes its time. Sluice writes from one goroutine only, the world's, whose clock goes on meanwhile; what it watches and
// lists has a clock of its own.
type sluggish struct {
	clock *simClock
	api   *apiServer
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (s sluggish) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if !asks(r) {
		s.clock.add(s.api.slow)
	}
	return resp, err
}

// asks says whether a request is a question, though not by GET: what sluice may do, and where a machine's boot log is. Neither is a write, and nothing of
// its own waits for either.
func asks(r *http.Request) bool {
	return r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") || strings.HasSuffix(r.URL.Path, "/retrieveBootDiagnosticsData")
}

// doCut ends a silence, too: a new watch begins with what the one before it had not told.
func doCut(ctx context.Context, w *world, s *statement) error {
	w.api.speak()
	if err := w.hear(ctx); err != nil {
		return err
	}
	w.cluster.CutWatches(s.names[0])
	return nil
}

// until has something end after a while, with heal at the latest; zero: only then.
func (es *endings) until(lasts time.Duration, end func()) {
	e := ending{end: func() error { end(); return nil }}
	if lasts > 0 {
		e.at = es.clock.now().Add(lasts)
	}
	es.all = append(es.all, e)
}

// end ends what ends by now, or all of it.
func (es *endings) end(all bool) error {
	for _, e := range slices.Clone(es.all) {
		if !all && (e.at.IsZero() || es.clock.now().Before(e.at)) {
			continue
		}
		if err := e.end(); err != nil {
			return err
		}
	}
	es.all = slices.DeleteFunc(es.all, func(e ending) bool { return all || !e.at.IsZero() && !es.clock.now().Before(e.at) })
	return nil
}

// next is when something ends by itself; zero when nothing does.
func (es *endings) next() (next time.Time) {
	for _, e := range es.all {
		if !e.at.IsZero() && (next.IsZero() || e.at.Before(next)) {
			next = e.at
		}
	}
	return next
}

// doSkew has another process take over on a machine whose clock is wrong. Azure's and the cluster's are right.
func doSkew(ctx context.Context, w *world, s *statement) error {
	text, back := strings.CutPrefix(s.names[0], "-")
	d, err := timed(text)
	if err != nil {
		return fmt.Errorf("skew %s: give a duration such as 20s or -20s", s.names[0])
	}
	if back {
		d = -d
	}
	w.procs.skew = d
	return w.begin(ctx, w.procs.legacy(w.now()))
}

// doLimits has another process take over that was told other limits for a group.
func doLimits(ctx context.Context, w *world, s *statement) error {
	i := slices.IndexFunc(w.groups.specs, func(g azure.GroupSpec) bool { return g.Name == s.names[0] })
	if i < 0 {
		return fmt.Errorf("limits: there is no group %s", s.names[0])
	}
	least, err := s.number("min", w.groups.specs[i].Min)
	if err != nil {
		return err
	}
	most, err := s.number("max", w.groups.specs[i].Max)
	if err != nil {
		return err
	}
	if least > most {
		return fmt.Errorf("limits %s: min=%d is above max=%d", s.names[0], least, most)
	}
	w.groups.specs = slices.Clone(w.groups.specs)
	w.groups.specs[i].Min, w.groups.specs[i].Max = least, most
	if w.groups.discover != nil {
		return w.groups.tagLimits(w.groups.specs[i])
	}
	if w.procs.rival != nil {
		w.procs.rival.stop()
		w.procs.rival = nil
	}
	return w.begin(ctx, w.procs.legacy(w.now()))
}

// silence is for how long the API server has said nothing: watches are not renewed by the world's clock, and the world itself says so.
func (a *apiServer) silence() time.Duration {
	if a.silent == nil {
		return 0
	}
	return a.clock.now().Sub(a.silentSince)
}

// doLease has the process fail to renew its lease from now on: when that has ended, another one takes over, unless the same one is to renew it later.
func doLease(ctx context.Context, w *world, s *statement) error {
	left, err := s.duration("left", 15*time.Second)
	if err != nil {
		return err
	}
	back, err := s.duration("back", 0)
	if err != nil {
		return err
	}
	main := &w.procs.main
	main.leads = w.now().Add(left)
	ends := main.leads
	w.endings.all = append(w.endings.all, ending{at: ends, end: func() error {
		if !main.leads.Equal(ends) {
			return nil // another process leads already
		}
		main.leads = time.Time{}
		if w.now().Before(ends) {
			return nil // it was healed in time
		}
		if back > 0 {
			w.holdFor(back)
			return nil
		}
		return w.begin(ctx, w.procs.legacy(w.now()))
	}})
	return nil
}

// holdFor has the process hold everything for a while, as while its lease has ended and nobody else has it. Then it goes on.
func (w *world) holdFor(back time.Duration) {
	main := &w.procs.main
	held := main.life
	main.held, main.leads = true, w.now()
	main.hold()
	w.out.say(w.elapsed(), "sluice", "", "holds", "its lease has ended")
	w.endings.all = append(w.endings.all, ending{at: w.now().Add(back), end: func() error {
		if main.life != held {
			return nil // another process leads already
		}
		main.leads = time.Time{}
		w.out.say(w.elapsed(), "sluice", "", "leads", "its lease is renewed")
		return w.lead(main.sluice.Anew())
	}})
}
