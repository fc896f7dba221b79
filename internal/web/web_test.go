package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests turn.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// entry is a cycle in which group agents grew for pod default/web-0 while node agents-0 kept running.
func entry() journal.Entry {
	objects := cluster.Objects{
		Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "agents-0"}}},
		Pods:  cluster.NewPods(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}),
	}
	group := &cluster.Group{ID: "agents", Max: 3, Capacity: 1, Read: cluster.Read{At: noon.Add(-time.Second), Complete: true, Version: "7"}}
	pod, because := reason.Pod("default", "web-0"), reason.New(reason.GroupGrows, reason.Group("agents"), "from", 1, "to", 2, "max", 3, "pods", 1)
	return journal.Entry{
		Cycle: 7, Seen: cluster.New(noon, objects, []*cluster.Group{group}),
		Plan: action.Plan{
			Time:    noon,
			Actions: []action.Action{action.SetCapacity{Group: "agents", From: 1, To: 2, Pods: []string{"default/web-0"}, Because: because}},
			Verdicts: []action.Verdict{
				{Subject: pod, Outcome: action.PodGrows, Because: []reason.Reason{reason.New(reason.NeedsMachine, pod, "group", "agents")}},
				{Subject: reason.Node("agents-0"), Outcome: action.NodeKeep, Because: []reason.Reason{reason.New(reason.NodeUnmanaged, reason.Node("agents-0"))}},
				{Subject: reason.Group("agents"), Outcome: action.GroupGrow, Because: []reason.Reason{because}},
			},
		},
		Results: []memory.Result{{Status: memory.Accepted, At: noon.Add(time.Second)}},
	}
}

// ask sends a request to the server and returns what was answered.
func ask(s *Server, method, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, address, nil))
	return w
}

// read is the JSON object that was answered.
func read(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	var v map[string]any
	body := unpacked(t, w)
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// at follows keys and indices into a JSON value.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func TestNothingCanBeChanged(t *testing.T) {
	s := New(Options{Metrics: http.NotFoundHandler()})
	s.Report(entry())
	for _, address := range []string{"/", "/metrics", "/healthz", "/readyz", "/api/v1/entry", "/api/v1/explain?kind=pod&name=default/web-0", "/nowhere"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"} {
			w := ask(s, method, address)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, address, w.Code, w.Header().Get("Allow"))
			}
		}
	}
}

func TestEveryAddressOfTheIndexIsAnswered(t *testing.T) {
	s := New(Options{Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	s.Report(entry())
	listed := 0
	for line := range strings.Lines(ask(s, "GET", "/").Body.String()) {
		address, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(address, "/") {
			continue
		}
		listed++
		address, _, _ = strings.Cut(address, "|")
		for _, method := range []string{"GET", "HEAD"} {
			if w := ask(s, method, address); w.Code != http.StatusOK {
				t.Errorf("%s %s: %d %s", method, address, w.Code, w.Body)
			}
		}
	}
	if listed != 12 {
		t.Errorf("%d addresses are listed, want 12", listed)
	}
	if w := ask(s, "GET", "/nowhere"); w.Code != http.StatusNotFound {
		t.Errorf("GET /nowhere: %d", w.Code)
	}
}

func TestHealthFollowsTheCyclesOfALeader(t *testing.T) {
	c := &clock{now: noon}
	s := New(Options{Now: c.read, MaxInactivity: 10 * time.Minute, MaxFailing: 15 * time.Minute, Startup: 20 * time.Minute})
	blind := entry()
	for _, g := range blind.Seen.Groups {
		g.Problem = "Azure says no"
	}
	empty := entry()
	empty.Seen.Groups = nil
	succeeds := func() { s.CycleBegan(); s.Report(entry()) }
	fails := func() { s.CycleBegan(); s.Report(blind) }
	const never = "500 Error: no cycle has succeeded for 21m0s since the start (limit 20m0s)"
	for _, step := range []struct {
		after time.Duration
		do    func()
		want  string
		why   string
	}{
		{0, func() {}, "200 OK", "it has just started"},
		{20 * time.Minute, func() {}, "200 OK", "its start-up time is not over"},
		{21 * time.Minute, func() {}, never, "no cycle ever began"},
		{21 * time.Minute, s.CycleBegan, never, "a cycle began, and none succeeded"},
		{21 * time.Minute, fails, never, "no node group could be read"},
		{22 * time.Minute, succeeds, "200 OK", "a cycle succeeded"},
		{32 * time.Minute, func() {}, "200 OK", "the cycle began ten minutes ago"},
		{33 * time.Minute, func() {}, "500 Error: the last cycle began 11m0s ago (limit 10m0s)", "it began eleven minutes ago"},
		{37 * time.Minute, fails, "200 OK", "the last good cycle ended fifteen minutes ago"},
		{38 * time.Minute, fails, "500 Error: the last cycle that succeeded ended 16m0s ago (limit 15m0s)", "it ended sixteen minutes ago"},
		{39 * time.Minute, func() { s.CycleBegan(); s.Report(empty) }, "200 OK", "there is no node group that could not be read"},
		{40 * time.Minute, s.StandBy, "200 OK", "another replica leads"},
		{90 * time.Minute, func() {}, "200 OK", "another replica still leads"},
		{90 * time.Minute, s.Lead, "200 OK", "it leads again"},
		{110 * time.Minute, s.CycleBegan, "200 OK", "it has led for twenty minutes"},
		{111 * time.Minute, func() {}, never, "it leads again, and no cycle succeeds"},
	} {
		c.now = noon.Add(step.after)
		step.do()
		for _, address := range []string{"/healthz", "/health-check"} {
			w := ask(s, "GET", address)
			if got := strings.TrimSpace(fmt.Sprintf("%d %s", w.Code, w.Body)); got != step.want {
				t.Errorf("%s after %s: %q, want %q as %s", address, step.after, got, step.want, step.why)
			}
		}
	}
}

func TestReadyMeansThatItCanLeadOrWaitsForItsTurn(t *testing.T) {
	var lease error
	s := New(Options{Lease: func() error { return lease }})
	want := func(status int, body, why string) {
		t.Helper()
		if w := ask(s, "GET", "/readyz"); w.Code != status || w.Body.String() != body+"\n" {
			t.Errorf("%s: %d %s, want %d %s", why, w.Code, w.Body, status, body)
		}
	}
	unread := entry()
	unread.Seen.Groups[0].Read, unread.Seen.Groups[0].Problem = cluster.Read{}, "Azure says no"
	const nothing, unseen = "no cycle has been completed yet; the log says why when that lasts", "no node group could be read from Azure yet; the log says why"
	want(503, nothing, "before the first cycle")
	s.CycleBegan()
	want(503, nothing, "during the first cycle")
	s.StandBy()
	want(200, "OK: another replica leads", "standing by")
	lease = errors.New("lease a/b cannot be had")
	want(503, "lease a/b cannot be had", "standing by for a lease that cannot be had")
	s.Lead()
	want(503, "lease a/b cannot be had", "leading, and the lease is not renewed")
	lease = nil
	want(503, nothing, "leading before the first cycle")
	s.Report(unread)
	want(503, unseen, "after a cycle that could read no group")
	s.Report(entry())
	want(200, "OK", "after a cycle that has read one")
	s.Report(unread)
	want(200, "OK", "when Azure says no later")

	s = New(Options{})
	empty := entry()
	empty.Seen = cluster.New(noon, cluster.Objects{}, nil)
	s.Report(empty)
	want(200, "OK", "after a list of all groups that has none")
}

func TestEntryShowsPlanResultsAndEvidence(t *testing.T) {
	s := New(Options{})
	s.Report(entry())
	v := read(t, ask(s, "GET", "/api/v1/entry"))
	got := []any{
		at(v, "cycle"), at(v, "time"),
		at(v, "plan", "actions", 0, "kind"), at(v, "plan", "actions", 0, "action", "to"), at(v, "plan", "verdicts", 0, "because", 0, "sentence"),
		at(v, "results", 0, "status"), at(v, "groups", 0, "id"), at(v, "groups", 0, "read", "at"), at(v, "groups", 0, "read", "complete"),
	}
	want := []any{7.0, "2026-03-01T12:00:00Z", "SetCapacity", 2.0, "group agents grows for it", "accepted", "agents", "2026-03-01T11:59:59Z", true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	quiet := entry()
	quiet.Cycle, quiet.Results = 8, nil
	s.Report(quiet)
	v = read(t, ask(s, "GET", "/api/v1/entry"))
	if diff := cmp.Diff([]any{8.0, []any{}}, []any{at(v, "cycle"), at(v, "results")}); diff != "" {
		t.Errorf("the next entry (-want +got):\n%s", diff)
	}
}

func TestVerdictsCanBeAskedForByKind(t *testing.T) {
	s := New(Options{})
	s.Report(entry())
	for query, want := range map[string][]string{
		"":               {"default/web-0", "agents-0", "agents"},
		"?kind=pod":      {"default/web-0"},
		"?kind=node":     {"agents-0"},
		"?kind=group":    {"agents"},
		"?kind=instance": nil,
	} {
		list, isList := at(read(t, ask(s, "GET", "/api/v1/verdicts"+query)), "verdicts").([]any)
		if !isList {
			t.Errorf("%s: verdicts are no list", query)
		}
		var got []string
		for _, v := range list {
			got = append(got, at(v, "subject", "name").(string))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verdicts%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestExplainAnswersWhy(t *testing.T) {
	s := New(Options{})
	s.Report(entry())
	v := read(t, ask(s, "GET", "/api/v1/explain?kind=pod&name=default/web-0"))
	got := []any{
		at(v, "subject", "name"), at(v, "outcome"), at(v, "because", 0, "code"), at(v, "actions", 0, "result", "status"), at(v, "evidence", 0, "group"),
	}
	if diff := cmp.Diff([]any{"default/web-0", "grows", "NeedsMachine", "accepted", "agents"}, got); diff != "" {
		t.Errorf("explain (-want +got):\n%s", diff)
	}
}

func TestBadQuestionsAreAnsweredWithWhatIsAllowed(t *testing.T) {
	answered, fresh := New(Options{}), New(Options{})
	answered.Report(entry())
	for name, c := range map[string]struct {
		server  *Server
		address string
		status  int
		want    string
	}{
		"a kind that does not exist": {answered, "/api/v1/verdicts?kind=pods", 400, "kind=pods: give pod, node, group, instance, request or buffer, or leave it out for all"},
		"explain without a kind":     {answered, "/api/v1/explain?name=x", 400, "kind=: give pod, node, group, instance, request or buffer"},
		"explain without a name":     {answered, "/api/v1/explain?kind=pod", 400, "name is missing: give namespace/name of a pod, request or buffer, the name of a node or group, or group/id of an instance"},
		"a name that is unknown":     {answered, "/api/v1/explain?kind=pod&name=web-0", 404, `no pod "web-0" in this cycle; did you mean default/web-0?`},
		"entry before any cycle":     {fresh, "/api/v1/entry", 503, "no cycle has been completed by this replica yet"},
		"verdicts before any cycle":  {fresh, "/api/v1/verdicts", 503, "no cycle has been completed by this replica yet"},
		"explain before any cycle":   {fresh, "/api/v1/explain?kind=node&name=x", 503, "no cycle has been completed by this replica yet"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(c.server, "GET", c.address)
			if got := at(read(t, w), "error"); w.Code != c.status || got != c.want {
				t.Errorf("%d %q, want %d %q", w.Code, got, c.status, c.want)
			}
		})
	}
	near := at(read(t, ask(answered, "GET", "/api/v1/explain?kind=pod&name=web-0")), "near", 0)
	if near != "default/web-0" {
		t.Errorf("the first name near is %v", near)
	}
}

// TestOtherReadersLearnTheIntervalAndTheRequests that the page shows.
func TestOtherReadersLearnTheIntervalAndTheRequests(t *testing.T) {
	s := New(Options{Every: 10 * time.Minute, API: func() []report.APIClass {
		return []report.APIClass{{Class: "machine lists", Answered: map[string]int{"200": 3}, Limited: true, Left: 45, Most: 60}}
	}})
	if w := ask(s, "GET", "/api/v1/azure"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before a cycle: %d", w.Code)
	}
	s.Report(entry())
	if got := ask(s, "GET", "/api/v1/now").Header().Get(view.EveryHeader); got != "10m0s" {
		t.Errorf("a cycle comes every %q", got)
	}
	v := read(t, ask(s, "GET", "/api/v1/azure"))
	if diff := cmp.Diff([]any{7.0, "machine lists", 45.0, 3.0}, []any{at(v, "cycle"), at(v, "classes", 0, "class"), at(v, "classes", 0, "left"), at(v, "classes", 0, "answered", "200")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnswersAreNotKept(t *testing.T) {
	s := New(Options{})
	for _, address := range []string{"/", "/healthz", "/api/v1/entry"} {
		h := ask(s, "GET", address).Header()
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", address, h)
		}
	}
}

// TestAReplicaThatStandsByNamesTheOneThatLeads and gives no answer of its own, though it may have led before: it would be an old one.
func TestAReplicaThatStandsByNamesTheOneThatLeads(t *testing.T) {
	leader := ""
	s := New(Options{Leader: func() string { return leader }, Snapshots: true})
	s.Report(entry())
	s.StandBy()
	for _, address := range []string{"/api/v1/entry", "/api/v1/plan", "/api/v1/verdicts", "/api/v1/explain?kind=pod&name=default/web-0"} {
		leader = "sluice-b_0a0a0a0a_0b0b0b0b"
		w := ask(s, "GET", address)
		v := read(t, w)
		if w.Code != http.StatusServiceUnavailable || v["standsBy"] != true || v["leader"] != leader || v["error"] != "this replica of sluice stands by: ask "+leader+", which leads" {
			t.Errorf("%s: %d %v", address, w.Code, v)
		}
		leader = ""
		if v := read(t, ask(s, "GET", address)); v["standsBy"] != true || v["leader"] != nil || !strings.Contains(fmt.Sprint(v["error"]), "none is known to lead") {
			t.Errorf("%s with no leader: %v", address, v)
		}
	}
	s.Lead()
	s.Report(entry())
	if w := ask(s, "GET", "/api/v1/entry"); w.Code != http.StatusOK {
		t.Errorf("leading again: %d %s", w.Code, w.Body)
	}
}

func TestPlanIsTheOverviewOfTheLatestCycle(t *testing.T) {
	s := New(Options{})
	s.Report(entry())
	var want bytes.Buffer
	if err := report.NewOverview(entry()).WriteJSON(&want); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, ask(s, "GET", "/api/v1/plan")); string(got) != want.String() {
		t.Errorf("%s, want %s", got, &want)
	}
}
