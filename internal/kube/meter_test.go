package kube

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// measuredAt is when all answers of these tests were measured.
var measuredAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// meterOf is a meter of a cluster, thirty seconds later, and what it tells.
func meterOf(t *testing.T, config *rest.Config) (*Meter, *bytes.Buffer) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	return NewMeter(client, Options{Now: func() time.Time { return measuredAt.Add(30 * time.Second) }, Log: slog.New(slog.NewTextHandler(said, nil))}), said
}

// once has a meter read once, within a bubble.
func (m *Meter) once(t *testing.T, nodes ...string) []cluster.NodeUse {
	t.Helper()
	m.Measure(t.Context(), nodes)
	synctest.Wait()
	if m.Reading() {
		t.Fatal("no answer has come")
	}
	var all []cluster.NodeUse
	for _, u := range m.Known() {
		all = append(all, *u)
	}
	return all
}

// says is a configuration by which every request is answered so.
func says(status int, body string) *rest.Config {
	return &rest.Config{Host: "http://metrics.invalid", QPS: -1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: readCloser{strings.NewReader(body)}, Request: r}, nil
	})}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func item(name, cpu string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"timestamp":"2026-01-01T00:00:00Z","window":"15s","usage":{"cpu":%s}}`, name, cpu)
}

// TestTheMeterBelievesWhatANodeCanUse gives it an answer whose items are what a metrics API, or somebody in its place, may make up.
func TestTheMeterBelievesWhatANodeCanUse(t *testing.T) {
	for name, c := range map[string]struct {
		items []string
		want  []cluster.NodeUse
	}{
		"what metrics-server says": {
			[]string{item("b", `"1500m"`), item("a", `"234567890n"`)},
			[]cluster.NodeUse{{Name: "a", MilliCPU: 235, At: measuredAt}, {Name: "b", MilliCPU: 1500, At: measuredAt}},
		},
		"nothing":                    {},
		"a negative number":          {items: []string{item("a", `"-3"`)}},
		"no number":                  {items: []string{item("a", `"NaN"`), item("b", `"Inf"`)}},
		"an empty string":            {items: []string{item("a", `""`)}},
		"a number in JSON":           {items: []string{item("a", `3`)}},
		"a huge number":              {items: []string{item("a", `"1000001"`), item("b", `"9E"`), item("c", `"99999999999999999999999999"`)}},
		"an exponent":                {items: []string{item("a", `"1e2147483647"`)}},
		"a very long number":         {items: []string{item("a", `"`+strings.Repeat("0", 1<<20)+`1"`)}},
		"a node that is not there":   {items: []string{item("ghost", `"4"`)}},
		"no name":                    {items: []string{`{"timestamp":"2026-01-01T00:00:00Z","usage":{"cpu":"4"}}`}},
		"no time":                    {items: []string{`{"metadata":{"name":"a"},"usage":{"cpu":"4"}}`}},
		"no object":                  {items: []string{`"a"`, `null`, `[]`, `3`}},
		"a time that is to come":     {[]string{strings.ReplaceAll(item("a", `"4"`), "00:00:00Z", "09:00:00Z")}, []cluster.NodeUse{{Name: "a", MilliCPU: 4000, At: measuredAt.Add(30 * time.Second)}}},
		"a node twice":               {[]string{item("a", `"1"`), item("a", `"2"`)}, []cluster.NodeUse{{Name: "a", MilliCPU: 1000, At: measuredAt}}},
		"one good item among others": {[]string{`null`, item("a", `"-1"`), item("b", `"2"`)}, []cluster.NodeUse{{Name: "b", MilliCPU: 2000, At: measuredAt}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, said := meterOf(t, says(http.StatusOK, `{"kind":"NodeMetricsList","items":[`+strings.Join(c.items, ",")+`]}`))
				if diff := cmp.Diff(c.want, m.once(t, "a", "b", "c")); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				if said.Len() > 0 {
					t.Errorf("told: %s", said)
				}
			})
		})
	}
}

// TestTheMeterKeepsOnlyWhatItAskedFor gives it the use of ten thousand nodes that nobody asked about.
func TestTheMeterKeepsOnlyWhatItAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&all, "%s,", item(fmt.Sprint("ghost-", i), `"4"`))
		}
		m, _ := meterOf(t, says(http.StatusOK, `{"items":[`+all.String()+item("a", `"1"`)+`]}`))
		if got := m.once(t, "a"); len(got) != 1 || got[0].Name != "a" {
			t.Errorf("kept %v", got)
		}
	})
}

// TestTheMeterTellsOnceWhatIsInItsWay has three reads end each way, and then one that succeeds. What was known stays known.
func TestTheMeterTellsOnceWhatIsInItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		config *rest.Config
		want   string
	}{
		"not served":   {says(http.StatusNotFound, "404 page not found"), `level=INFO msg="the use of nodes is not known: their requests alone decide" cause="the API server does not serve metrics.k8s.io"`},
		"no right":     {says(http.StatusForbidden, "no"), `level=WARN msg="the use of nodes is not known: their requests alone decide" cause="the API server denies the right to list nodes.metrics.k8s.io; grant it in the ClusterRole that sluice's service account is bound to (RBAC)"`},
		"out of order": {says(http.StatusServiceUnavailable, "no"), `level=WARN msg="the use of nodes is not known: their requests alone decide" cause="the metrics API does not answer as it should"`},
		"no JSON":      {says(http.StatusOK, "<html>"), `level=WARN msg="the use of nodes is not known: their requests alone decide" cause="the metrics API does not answer as it should"`},
		"endless": {
			says(http.StatusOK, `{"items":[`+strings.Repeat(" ", mostMeasured)), `level=WARN msg="the use of nodes is not known: their requests alone decide" cause="the metrics API does not answer as it should"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, said := meterOf(t, c.config)
				m.known = []*cluster.NodeUse{{Name: "a", MilliCPU: 7}}
				for range 3 {
					if got := m.once(t, "a"); len(got) != 1 || got[0].MilliCPU != 7 {
						t.Errorf("known: %v", got)
					}
				}
				if lines := strings.Count(said.String(), "\n"); lines != 1 || !strings.Contains(said.String(), c.want) {
					t.Errorf("told %d lines:\n%s\nwant one with\n%s", lines, said, c.want)
				}
				good, _ := meterOf(t, says(http.StatusOK, `{"items":[`+item("a", `"1"`)+`]}`))
				m.client = good.client
				if got := m.once(t, "a"); len(got) != 1 || got[0].MilliCPU != 1000 {
					t.Errorf("known: %v", got)
				}
				if !strings.Contains(said.String(), "the use of nodes is measured again") {
					t.Errorf("nobody hears that it is over: %s", said)
				}
			})
		})
	}
}

// TestNobodyWaitsForAMeterThatHangs asks a metrics API that never answers: the caller goes on at once, further questions are not put, and the read is given
// up in time.
func TestNobodyWaitsForAMeterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &kubesim.Cluster{}
		c.ServeMetrics(kubesim.MetricsHung)
		asked := 0
		config := c.RESTConfig()
		next := config.Transport
		config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			asked++
			return next.RoundTrip(r)
		})
		m, _ := meterOf(t, config)
		begun := time.Now()
		for range 5 {
			m.Measure(t.Context(), []string{"a"})
			synctest.Wait()
		}
		if took := time.Since(begun); took != 0 || asked != 1 || !m.Reading() || len(m.Known()) != 0 {
			t.Errorf("after %s: %d requests, reading %t, known %v", took, asked, m.Reading(), m.Known())
		}
		time.Sleep(measureTimeout)
		synctest.Wait()
		if m.Reading() {
			t.Errorf("still reading after %s", measureTimeout)
		}
		m.Measure(t.Context(), nil)
		if synctest.Wait(); asked != 1 {
			t.Error("a question about no node was put")
		}
		ctx, cancel := context.WithCancel(t.Context())
		m.Measure(ctx, []string{"a"})
		synctest.Wait()
		cancel()
		if synctest.Wait(); m.Reading() {
			t.Error("the process has ended, and the read goes on")
		}
	})
}
