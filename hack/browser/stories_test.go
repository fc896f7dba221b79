package browser

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// site is sluice's port after some cycles.
type site struct {
	*httptest.Server
	prefix  string // of all addresses, "" or as the API server's proxy has
	web     *web.Server
	line    *timeline.Timeline
	entries []journal.Entry

	mu  sync.Mutex
	now time.Time
}

// proxied is a prefix as the API server's proxy of a Service has it.
const proxied = "/api/v1/namespaces/x/services/y/proxy"

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// report has the server show a further cycle.
func (s *site) report(e journal.Entry) {
	s.mu.Lock()
	s.now = e.Seen.Time
	s.entries = append(s.entries, e)
	s.mu.Unlock()
	s.line.Note(e)
	s.web.Report(e)
}

func (s *site) past(at time.Time) (journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Backward(s.entries) {
		if !e.Seen.Time.After(at) {
			return e, nil
		}
	}
	return journal.Entry{}, errors.New("no cycle is that old")
}

func (s *site) address(path string) string { return s.URL + s.prefix + "/" + path }

// serve serves these cycles below a prefix.
func serve(t *testing.T, prefix string, entries ...journal.Entry) *site {
	t.Helper()
	s := &site{prefix: prefix, line: &timeline.Timeline{}}
	s.web = web.New(web.Options{Now: s.clock, Timeline: s.line, Past: s.past, Version: "v1.0.0", API: func() []report.APIClass {
		return []report.APIClass{{Class: "reads of scale sets", Region: "westeurope", Answered: map[string]int{"200": 812, "429": 2}, Limited: true, Left: 40, Most: 60}}
	}})
	for _, e := range entries {
		s.report(e)
	}
	s.Server = httptest.NewServer(http.StripPrefix(prefix, s.web.Handler()))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// play are the cycles of a script.
func play(t *testing.T, script string) []journal.Entry {
	t.Helper()
	r, err := world.Run(t.Context(), []byte(script), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, r.Journal, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := history.Read(path, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var all []journal.Entry
	for {
		if _, err := read.Next(); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		e, err := read.Entry()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// scenario are the cycles of a scenario of the repository, until so long after its beginning; zero for all.
func scenario(t *testing.T, name string, until time.Duration) []journal.Entry {
	t.Helper()
	text, err := os.ReadFile("../../testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	script, _, _ := bytes.Cut(text, []byte("-- transcript --"))
	all := play(t, string(script))
	end := all[0].Seen.Time.Add(cmp.Or(until, 1000*time.Hour))
	if i := slices.IndexFunc(all, func(e journal.Entry) bool { return e.Seen.Time.After(end) }); i > 0 {
		all = all[:i]
	}
	return all
}

// busy is a render farm at work: it grows, Jobs run, a machine has not joined, one is silent, a pod is stuck.
const busy = `
policy scale-down-unneeded-time=10m
group render size=Standard_D16s_v5 min=2 max=40 machines=14 zones=1,2,3
group render-spot size=Standard_F16s_v2 spot=delete min=0 max=24 machines=3 zones=1,2,3 label=team=spot
group web size=Standard_D8s_v5 min=3 max=18 machines=9 zones=1,2,3
group data size=Standard_E16s_v5 min=3 max=6 machines=3 zones=1,2,3
daemonset agent cpu=200m memory=256Mi
job night pods=11 cpu=12 memory=40Gi runs=70m
job short pods=3 cpu=9 memory=20Gi runs=8m
deployment shop replicas=18 cpu=3 memory=9Gi
deployment cart replicas=3 cpu=10 memory=90Gi
budget cart max-unavailable=0
advance 26m
fault never-boots group=render-spot times=1
job spot pods=8 cpu=14 memory=20Gi selector=team=spot runs=3h
advance 9m
protect render_2
pod sim-fluid cpu=15 memory=200Gi owner=job
advance 2m
job frame pods=9 cpu=12 memory=40Gi runs=2h
advance 1m
silence web_7
advance 70s
`

// lostZone is a farm of which a zone falls silent.
const lostZone = `
group render size=Standard_D16s_v5 min=2 max=40 machines=18 zones=1,2,3
group web size=Standard_D8s_v5 min=3 max=18 machines=6 zones=1,2,3
daemonset agent cpu=200m memory=256Mi
job night pods=18 cpu=12 memory=40Gi runs=7h
deployment shop replicas=12 cpu=3 memory=9Gi
advance 50m
lose kubelets all zone=2
advance 4m
`

// decided is a cycle that decides about a snapshot.
func decided(t *testing.T, number uint64, s *cluster.Snapshot) journal.Entry {
	t.Helper()
	m := memory.Memory{}
	p, after := plan.Decide(s, policy.Default(), m)
	return journal.Entry{Cycle: number, Seen: s, Policy: policy.Default(), Before: m, Plan: p, After: after}
}

// large is a cycle with 5,000 nodes in 20 groups.
func large(t *testing.T) journal.Entry {
	t.Helper()
	var objects []any
	var groups []*cluster.Group
	for g := range 20 {
		var machines []*cluster.Instance
		for i := range 250 {
			name := fmt.Sprintf("pool%02d-%03d", g, i)
			node := Node(name)
			switch {
			case g == 7 && i < 3, g == 12 && i < 1:
				node = Node(name, Silent(Start.Add(-8*time.Minute)))
			case (i*7+g)%29 == 0: // idle
			default:
				objects = append(objects, Pod("pod-"+name, On(name), CPU(fmt.Sprintf("%dm", 1500+(i*37+g*211)%2500))))
			}
			node.Labels[corev1.LabelTopologyZone] = fmt.Sprint(i%3 + 1)
			objects = append(objects, node)
			machines = append(machines, Machine(fmt.Sprintf("%d", i), name, func(in *cluster.Instance) { in.UID += "-" + name; in.ProviderID += "-" + name }))
		}
		groups = append(groups, Group(fmt.Sprintf("pool%02d", g), 10, 250+g%3*50, machines...))
	}
	for i := range 40 {
		objects = append(objects, Pod(fmt.Sprintf("wait-%d", i)))
	}
	return decided(t, 1, cluster.New(Start, Objects(objects...), groups))
}
