package web

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAPageIsWrittenOnceACycle has many readers ask for every page, with and without gzip.
func TestAPageIsWrittenOnceACycle(t *testing.T) {
	s := New(Options{})
	want := int64(0)
	for cycle := range 3 {
		e := entry()
		e.Cycle = uint64(cycle)
		s.Report(e)
		for _, address := range []string{"/api/v1/entry", "/api/v1/verdicts", "/api/v1/verdicts?kind=pod", "/api/v1/verdicts?kind=node"} {
			want++
			for _, accepts := range []string{"", "gzip", "br, GZIP;q=0.5", "identity"} {
				for range 10 {
					r, w := httptest.NewRequest("GET", address, nil), httptest.NewRecorder()
					r.Header.Set("Accept-Encoding", accepts)
					s.Handler().ServeHTTP(w, r)
					if got := at(read(t, w), "cycle"); got != float64(cycle) {
						t.Fatalf("%s with %q: cycle %v, want %d", address, accepts, got, cycle)
					}
				}
			}
			if got := s.written.Load(); got != want {
				t.Errorf("after 40 readers of %s in cycle %d: %d pages were written, want %d", address, cycle, got, want)
			}
		}
	}
}

// TestThePagesAreWhatTheirPartsAre holds what is written piece by piece to what encoding/json writes of the whole.
func TestThePagesAreWhatTheirPartsAre(t *testing.T) {
	e := entry()
	s := New(Options{})
	s.Report(e)
	whole := func(v any) (out map[string]any) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for address, want := range map[string]map[string]any{
		"/api/v1/entry":             whole(map[string]any{"cycle": e.Cycle, "time": e.Seen.Time, "plan": e.Plan, "results": e.Results, "groups": e.Seen.Groups}),
		"/api/v1/verdicts":          whole(map[string]any{"cycle": e.Cycle, "time": e.Seen.Time, "verdicts": e.Plan.Verdicts}),
		"/api/v1/verdicts?kind=pod": whole(map[string]any{"cycle": e.Cycle, "time": e.Seen.Time, "verdicts": e.Plan.Verdicts[:1]}),
	} {
		if diff := cmp.Diff(want, read(t, ask(s, "GET", address))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
}

func TestGzipIsForReadersWhoTakeIt(t *testing.T) {
	for accepts, want := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip;q=1.0, *;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "gzip;q=x": false, "gzipped": false, "GZip": true, ",;,": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accepts)
		if got := takesGzip(r); got != want {
			t.Errorf("Accept-Encoding: %q: %v, want %v", accepts, got, want)
		}
	}
}

func TestAPageThatCannotBeWrittenIsNotKept(t *testing.T) {
	c := &cycle{}
	failure := errors.New("no")
	if _, err := c.page("a", func(io.Writer) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if p, err := c.page("a", func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }); err != nil || len(p) == 0 {
		t.Errorf("the next: %q, %v", p, err)
	}
}

// TestReadersBeyondTheLimitAreSentAway holds requests while others come: those of health are answered, and pages of other kinds.
func TestReadersBeyondTheLimitAreSentAway(t *testing.T) {
	goes, came := make(chan struct{}), make(chan struct{})
	s := New(Options{Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		came <- struct{}{}
		<-goes
		text(w, http.StatusOK, "numbers")
	})})
	s.Report(entry())
	handler := s.Handler()
	get := func(address string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		return w
	}
	answered := make(chan int)
	for range metricsReaders {
		go func() { answered <- get("/metrics").Code }()
		<-came
	}
	w := get("/metrics")
	if got, want := at(read(t, w), "error"), "4 requests are being answered here (limit 4): try again in 5s"; w.Code != 503 || got != want || w.Header().Get("Retry-After") != "5" {
		t.Errorf("one more: %d %q, Retry-After %q; want 503 %q after 5 s", w.Code, got, w.Header().Get("Retry-After"), want)
	}
	for _, address := range []string{"/healthz", "/readyz", "/", "/api/v1/entry"} {
		if w := get(address); w.Code != http.StatusOK {
			t.Errorf("%s meanwhile: %d %s", address, w.Code, w.Body)
		}
	}
	close(goes)
	for range metricsReaders {
		if code := <-answered; code != http.StatusOK {
			t.Errorf("one that was let in: %d", code)
		}
	}
	go func() { <-came }()
	if w := get("/metrics"); w.Code != http.StatusOK {
		t.Errorf("after they have gone: %d %s", w.Code, w.Body)
	}
}

// unpacked is the body of an answer, whichever encoding it has.
func unpacked(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes()
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
