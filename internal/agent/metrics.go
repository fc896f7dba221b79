package agent

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice.dev/sluice/guard"
)

// Metrics count what an agent does and what the guard stops. No pod, node or notice is ever a label value. A nil one counts nothing.
type Metrics struct {
	registry *prometheus.Registry
	writes   *prometheus.CounterVec
	refusals *prometheus.CounterVec
}

// What becomes of a write, as the label status says.
const (
	statusAccepted = "accepted"
	statusRefused  = "refused" // by the guard
	statusFailed   = "failed"
)

// NewMetrics are metrics with all counters of known labels at zero, with those of the Go runtime and of the process.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_agent_writes_total", Help: "Writes that the agent was about to make, by what became of them.",
		}, []string{"write", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_guard_refusals_total", Help: "Writes that the guard stopped, by the property of the safety contract.",
		}, []string{"property"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.writes, m.refusals)
	for _, w := range []guard.Write{guard.Announce{}, guard.Withdraw{}, guard.Agree{}} {
		for _, status := range []string{statusAccepted, statusRefused, statusFailed} {
			m.writes.WithLabelValues(kind(w), status)
		}
	}
	return m
}

// Handler answers GET /metrics in Prometheus' text format and in OpenMetrics, and nothing else.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// made counts a write that was sent, and what its answer was.
func (m *Metrics) made(w guard.Write, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.writes.WithLabelValues(kind(w), statusFailed).Inc()
	default:
		m.writes.WithLabelValues(kind(w), statusAccepted).Inc()
	}
}

// refused counts a write that the guard stopped.
func (m *Metrics) refused(w guard.Write, property string) {
	if m == nil {
		return
	}
	m.writes.WithLabelValues(kind(w), statusRefused).Inc()
	m.refusals.WithLabelValues(property).Inc()
}

// kind is the guard's name of a write, in lower case.
func kind(w guard.Write) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", w), "guard."))
}
