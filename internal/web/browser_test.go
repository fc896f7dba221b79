package web

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/web/page"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// browse asks as a browser does.
func browse(s *Server, address string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", address, nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	s.Handler().ServeHTTP(w, r)
	return w
}

// shown is a server with two cycles, of which the first can be asked for.
func shown() *Server {
	first := entry()
	line := &timeline.Timeline{}
	s := New(Options{Version: "v1", Timeline: line, Now: func() time.Time { return noon.Add(13 * time.Second) }, Past: func(at time.Time) (journal.Entry, error) {
		if at.Before(first.Seen.Time) {
			return journal.Entry{}, errors.New("the journal holds no cycle within 24h0m0s")
		}
		return first, nil
	}})
	line.Note(first)
	s.Report(first)
	second := entry()
	second.Cycle++
	second.Seen.Time = noon.Add(10 * time.Second)
	line.Note(second)
	s.Report(second)
	return s
}

// TestWhatIsGoneIsExplained as of the last cycle that knew it, on the page and to programs; and not for a time before it went.
func TestWhatIsGoneIsExplained(t *testing.T) {
	line := &timeline.Timeline{}
	without := func(cycle uint64, at time.Time) journal.Entry {
		e := entry()
		e.Cycle, e.Seen, e.Plan.Verdicts = cycle, cluster.New(at, cluster.Objects{}, nil), nil
		return e
	}
	before, later := without(6, noon.Add(-10*time.Second)), without(8, noon.Add(10*time.Second))
	s := New(Options{Timeline: line, Now: func() time.Time { return noon.Add(13 * time.Second) }, Past: func(at time.Time) (journal.Entry, error) {
		if at.Before(noon.Add(-time.Second)) {
			return before, nil
		}
		return entry(), nil
	}})
	line.Note(entry())
	line.Note(later)
	s.Report(later)
	v := read(t, ask(s, "GET", "/api/v1/explain?kind=group&name=agents"))
	if got, want := at(v, "gone"), later.Seen.Time.UTC().Format(time.RFC3339); got != want || at(v, "outcome") != "grow" {
		t.Errorf("gone %v, want %s: %v", got, want, v)
	}
	if w := ask(s, "GET", "/api/v1/explain?kind=group&name=agents&at=2026-03-01T11:59:55Z"); w.Code != http.StatusNotFound {
		t.Errorf("before it was there: %d %s", w.Code, unpacked(t, w))
	}
	if body := browse(s, "/why/group/agents").Body.String(); !strings.Contains(body, "GroupGrows") {
		t.Errorf("the page: %s", body)
	}
}

func TestEveryPageIsThere(t *testing.T) {
	s := shown()
	for address, words := range map[string][]string{
		"/":                            {"Nothing needs you", "agents", "cycle 8"},
		"/?level=memory&state=busy":    {"agents"},
		"/time":                        {"in the last 24 h", "Lives of machines"},
		"/time?range=1h":               {"in the last 1 h"},
		"/why":                         {"Ask why", "default/web-0"},
		"/why/pod/default/web-0":       {"pod default/web-0: grows", "NeedsMachine", "sluice explain pod default/web-0"},
		"/why/node/agents-0":           {"node agents-0: keep"},
		"/why/group/agents":            {"group agents: grow"},
		"/azure":                       {"Azure answers", "agents"},
		"/find?q=web":                  {"default/web-0"},
		"/find":                        {"Give a part of the name"},
		"/?at=2026-03-01T12:00:05Z":    {"You see", "cycle 7"},
		"/azure?at=2026-03-01T12:00Z":  {"is not a time"},
		"/?at=2026-02-01T00:00:00Z":    {"That time cannot be shown."},
		"/why/pod/default/nobody":      {"No pod is called default/nobody in this cycle."},
		"/why/city/paris":              {"There is no such page."},
		"/why/pod/default/web-0?at=no": {"is not a time"},
	} {
		w := browse(s, address)
		body := w.Body.String()
		for _, word := range words {
			if !strings.Contains(body, word) {
				t.Errorf("GET %s: %d, lacks %q", address, w.Code, word)
			}
		}
		if got := w.Header().Get("Content-Security-Policy"); got != page.ContentSecurityPolicy {
			t.Errorf("GET %s: policy %q", address, got)
		}
		if strings.Contains(body, "<script>") || strings.Contains(body, " style=") || strings.Contains(body, "onclick") || strings.Contains(body, "http://") || strings.Contains(body, "https://") {
			t.Errorf("GET %s holds what the policy forbids, or an address outside", address)
		}
		for _, asset := range []string{"assets/page.css", "assets/page.js"} {
			if want := strings.Repeat("../", strings.Count(strings.SplitN(address, "?", 2)[0], "/")-1) + asset; !strings.Contains(body, `"`+want+`"`) && !strings.Contains(body, `"./`+want+`"`) {
				t.Errorf("GET %s does not name %s relative to itself", address, want)
			}
		}
	}
}

func TestWhatIsNoBrowserGetsTheList(t *testing.T) {
	if got := ask(shown(), "GET", "/").Body.String(); got != index {
		t.Errorf("GET /: %s", got)
	}
}

func TestAPageIsWrittenOnceForAll(t *testing.T) {
	s := shown()
	for range 50 {
		browse(s, "/")
		browse(s, "/why/pod/default/web-0")
	}
	if got := s.written.Load(); got != 2 {
		t.Errorf("100 readers of two pages had %d pages written, want 2", got)
	}
}

// TestWhatAClusterSaysIsText has tenants name things as no tenant should.
func TestWhatAClusterSaysIsText(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>"'><script>alert(2)</script>`
	e := entry()
	about := reason.Ref{Kind: reason.KindPod, Name: "default/" + evil}
	e.Plan.Verdicts = append(e.Plan.Verdicts, action.Verdict{Subject: about, Outcome: action.PodStuck, Because: []reason.Reason{
		reason.New(reason.SchedulerRefused, reason.Group("agents"), "plugin", evil, "message", "\x1b[31m\u202e"+strings.Repeat("x", 100_000)),
	}})
	e.Seen.Groups[0].Problem = evil
	line := &timeline.Timeline{}
	line.Note(e)
	s := New(Options{Timeline: line})
	s.Report(e)
	for _, address := range []string{"/", "/why", "/time", "/azure", "/find?q=%3Cimg%20src=x%20onerror=alert(1)%3E", "/why/pod/default/%3Cimg%20src=x%20onerror=alert(1)%3E%22'%3E%3Cscript%3Ealert(2)%3C%2Fscript%3E", "/?by=" + `%22%3E%3Cimg%20src=x%3E`} {
		body := browse(s, address).Body.String()
		for _, bad := range []string{"<img", "<script>", "\x1b", "\u202e"} {
			if strings.Contains(body, bad) {
				t.Errorf("GET %s: the page holds %q", address, bad)
			}
		}
		if len(body) > 100_000 {
			t.Errorf("GET %s: %d bytes, as a tenant likes them", address, len(body))
		}
	}
}

// TestAPageThatOthersHaveReadSaysWhatChangedSince looks at a cycle that stays the latest: the loop hangs, then another replica leads.
func TestAPageThatOthersHaveReadSaysWhatChangedSince(t *testing.T) {
	c := &clock{now: noon}
	s := New(Options{Now: c.read, Every: 10 * time.Second, Leader: func() string { return "control-plane-1" }})
	s.Report(entry())
	const hangs, stands = "No cycle has been completed for 10 m", "This replica stands by"
	if body := browse(s, "/").Body.String(); strings.Contains(body, hangs) || strings.Contains(body, stands) {
		t.Errorf("a fresh cycle is called old: %s", body)
	}
	c.now = noon.Add(10 * time.Minute)
	if body := browse(s, "/").Body.String(); !strings.Contains(body, hangs) {
		t.Error("nothing is said of a loop that hangs")
	}
	s.StandBy()
	if body := browse(s, "/").Body.String(); !strings.Contains(body, stands) || !strings.Contains(body, "control-plane-1 leads") {
		t.Error("nothing is said of another leader")
	}
	slow := New(Options{Now: c.read, Every: 10 * time.Minute})
	slow.Report(entry())
	if body := browse(slow, "/").Body.String(); strings.Contains(body, hangs) {
		t.Error("a loop that turns every ten minutes is said to hang")
	}
}

// TestWhoLooksAtThePastKeepsNobodyFromNow has readers wait for a cycle that is hard to read.
func TestWhoLooksAtThePastKeepsNobodyFromNow(t *testing.T) {
	begun, done := make(chan struct{}, 1), make(chan struct{})
	s := New(Options{Past: func(time.Time) (journal.Entry, error) {
		begun <- struct{}{}
		<-done
		return entry(), nil
	}})
	s.Report(entry())
	answers := make(chan string, 2*pageReaders)
	for range cap(answers) {
		go func() { answers <- browse(s, "/?at=2026-03-01T12:00:00Z").Body.String() }()
	}
	<-begun
	for range cap(answers) - mostWaiting {
		if got := <-answers; !strings.Contains(got, "others look at the past") && !strings.Contains(got, "requests are being answered here") {
			t.Errorf("one more reader of the past got %s", got)
		}
	}
	if w := browse(s, "/"); w.Code != http.StatusOK {
		t.Errorf("now: %d %s", w.Code, w.Body)
	}
	close(done)
	for range mostWaiting {
		<-answers
	}
}

func TestAStandbyNamesTheLeader(t *testing.T) {
	s := New(Options{Leader: func() string { return "control-plane-0" }})
	s.StandBy()
	w := browse(s, "/")
	if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(body, "control-plane-0 leads: ask it.") {
		t.Errorf("%d %s", w.Code, body)
	}
}

// TestAReplicaWithoutItsLeaseSaysWhy and sends nobody to another replica: the API server is gone, and nobody leads.
func TestAReplicaWithoutItsLeaseSaysWhy(t *testing.T) {
	const why = "lease sluice cannot be had: the API server has not answered about it for 40s (limit 15s)"
	s := New(Options{Lease: func() error { return errors.New(why) }, Leader: func() string { return "control-plane-0" }})
	s.StandBy()
	for _, path := range []string{"/", "/api/v1/plan"} {
		if body := browse(s, path).Body.String(); !strings.Contains(body, why) || strings.Contains(body, "leads: ask it") {
			t.Errorf("%s: %s", path, body)
		}
	}
	s.Report(entry())
	s.StandBy()
	if body := browse(s, "/").Body.String(); !strings.Contains(body, why) || strings.Contains(body, "stands by") {
		t.Errorf("with a cycle: %s", body)
	}
}

// TestAStreamTellsOfEachCycle reads the stream over a socket, as a browser does.
func TestAStreamTellsOfEachCycle(t *testing.T) {
	s := New(Options{})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	defer server.CloseClientConnections()
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ends before %q", want)
	}
	next("no cycle yet")
	for cycle, want := range map[uint64]string{7: `"cycle":7`} {
		e := entry()
		e.Cycle = cycle
		s.Report(e)
		next(want)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	var all streams
	for range mostStreams {
		if _, ok := all.join(); !ok {
			t.Fatal("a stream was refused before the limit")
		}
	}
	if _, ok := all.join(); ok {
		t.Error("a stream beyond the limit was let in")
	}
	for range 3 {
		all.tell() // nobody reads: nothing waits
	}
}
