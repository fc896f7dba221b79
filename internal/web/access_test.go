package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// guests are who may get what, by token.
type guests map[string]error

func (g guests) May(_ context.Context, token, path string) error {
	if err, known := g[token+" "+path]; known {
		return err
	}
	return ErrUnknown
}

func TestOnlyThoseWhomTheAPIServerLetsReadAreAnswered(t *testing.T) {
	s := New(Options{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "numbers") }), Profiling: true,
		Access: guests{
			"prometheus /metrics": nil,
			"stranger /metrics":   fmt.Errorf("%w: stranger may not get /metrics", ErrForbidden),
			"anybody /metrics":    errors.New("the API server does not answer"),
		},
	})
	s.Report(entry())
	for what, is := range map[string]struct {
		method, path, authorization string
		status                      int
		through                     string // shown besides, where a proxy takes the Authorization header off
	}{
		"who may":                                {"GET", "/metrics", "Bearer prometheus", 200, ""},
		"the scheme in any letter case":          {"GET", "/metrics", "bearer prometheus", 200, ""},
		"who may elsewhere":                      {"GET", "/api/v1/entry", "Bearer prometheus", 401, ""},
		"nobody":                                 {"GET", "/metrics", "", 401, ""},
		"nobody, at the index":                   {"GET", "/", "", 401, ""},
		"nobody, at a profile":                   {"GET", "/debug/pprof/heap", "", 401, ""},
		"nobody, where nothing is":               {"GET", "/nowhere", "", 401, ""},
		"another scheme":                         {"GET", "/metrics", "Basic prometheus", 401, ""},
		"a token beyond reason":                  {"GET", "/metrics", "Bearer " + strings.Repeat("x", 1<<20), 401, ""},
		"a token that nobody knows":              {"GET", "/metrics", "Bearer forged", 401, ""},
		"who may not":                            {"GET", "/metrics", "Bearer stranger", 403, ""},
		"when it cannot be told":                 {"GET", "/metrics", "Bearer anybody", 503, ""},
		"a path that only begins like health":    {"GET", "/healthz/../metrics", "", 401, ""},
		"health":                                 {"GET", "/healthz", "", 200, ""},
		"cluster-autoscaler's health":            {"GET", "/health-check", "", 200, ""},
		"readiness":                              {"GET", "/readyz", "", 200, ""},
		"who may, through a proxy":               {"GET", "/metrics", "", 200, "Bearer prometheus"},
		"who may not, through a proxy":           {"GET", "/metrics", "", 403, "Bearer stranger"},
		"another one through a proxy":            {"GET", "/metrics", "Bearer forged", 401, "Bearer prometheus"},
		"a write of who may, which is never one": {"POST", "/metrics", "Bearer prometheus", 405, ""},
	} {
		t.Run(what, func(t *testing.T) {
			r, w := httptest.NewRequest(is.method, is.path, nil), httptest.NewRecorder()
			if is.authorization != "" {
				r.Header.Set("Authorization", is.authorization)
			}
			if is.through != "" {
				r.Header.Set(TokenHeader, is.through)
			}
			s.Handler().ServeHTTP(w, r)
			if w.Code != is.status {
				t.Errorf("%s %s: %d %s, want %d", is.method, is.path, w.Code, w.Body, is.status)
			}
		})
	}
}
