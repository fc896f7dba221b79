package app

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/policy"
)

// silentCloud cannot be read.
type silentCloud struct{ cloud.Provider }

func (silentCloud) Groups(context.Context) ([]*cluster.Group, error) {
	return nil, errors.New("429 Too Many Requests")
}

// emptyCloud has no groups.
type emptyCloud struct{ cloud.Provider }

func (emptyCloud) Groups(context.Context) ([]*cluster.Group, error) { return nil, nil }

// TestACycleThatFailsCountsAsWhatCouldNotBeRead holds the types of cluster-autoscaler's errors_total.
func TestACycleThatFailsCountsAsWhatCouldNotBeRead(t *testing.T) {
	down := func() (cluster.Objects, error) { return cluster.Objects{}, errors.New("connection refused") }
	for kind, c := range map[string]cloud.Provider{"cloudProviderError": silentCloud{}, "apiCallError": emptyCloud{}} {
		metrics := report.NewMetrics()
		_, err := observe(t.Context(), c, down, policy.Default(), nil, nil, nil)
		if err == nil {
			t.Fatalf("%s: observed what cannot be read", kind)
		}
		metricsSink{metrics}.Problem(t.Context(), err)
		w := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if want := `cluster_autoscaler_errors_total{type="` + kind + `"} 1`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("after %v the metrics do not say %s", err, want)
		}
	}
}
