package report

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Metrics are Prometheus metrics of all cycles so far: sluice's own, and cluster-autoscaler's under their names. No pod, node or machine is ever a label value; groups, outcomes, actions and properties are. A scrape sees the
// state of one cycle, never half of two.
type Metrics struct {
	mu       sync.Mutex // held by a report and by a scrape
	registry *prometheus.Registry

	cycles       prometheus.Counter
	cycleFailed  prometheus.Counter
	failures     *prometheus.CounterVec
	cycleSeconds prometheus.Histogram
	growth       prometheus.Histogram
	actions      *prometheus.CounterVec
	refusals     *prometheus.CounterVec
	lacks        *prometheus.GaugeVec
	verdicts     *prometheus.GaugeVec
	pending      *prometheus.GaugeVec
	groups       groupMetrics
	watch        watchMetrics
	compatible   compatibleMetrics

	tally map[tallied]int // of the verdicts of a cycle, empty between cycles
}

// tallied is what verdicts are counted by.
type tallied struct {
	kind    reason.Kind
	outcome action.Outcome
}

// groupMetrics have one series for each node group.
type groupMetrics struct {
	capacity, min, max, nodes, backoff, actors *prometheus.GaugeVec
}

// NewMetrics are metrics with all counters of known labels at zero, with those of the Go runtime and of the process.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	seconds := []float64{.01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120, 300}
	m := &Metrics{
		registry:    r,
		tally:       map[tallied]int{},
		cycles:      counter(r, "sluice_cycles_total", "Cycles that were completed: observed, decided and performed."),
		cycleFailed: counter(r, "sluice_cycle_failures_total", "Cycles that could not be observed, so that nothing was decided."),
		failures:    counters(r, "sluice_growth_failures_total", "Growths and machines that failed, by the kind of failure.", "kind"),
		cycleSeconds: histogram(r, "sluice_cycle_duration_seconds", seconds,
			"How long a completed cycle took from the first read to the last answer."),
		growth: histogram(r, "sluice_growth_latency_seconds", seconds,
			"From the scheduler finding no node for the youngest pod a growth is for to the cloud accepting the growth. Pod times have a resolution of one second, so values are up to one second too long."),
		actions:  counters(r, "sluice_actions_total", "Actions that plans asked for, by what became of them.", "action", "status"),
		refusals: counters(r, "sluice_guard_refusals_total", "Writes that the guard, or the provider, stopped, by the property of the safety contract.", "property"),
		lacks:    gauges(r, "sluice_missing_rights", "1 for a right in Kubernetes that sluice does not have, and whether nodes stay for want of it.", "right", "halts"),
		verdicts: gauges(r, "sluice_verdicts", "Subjects of the last cycle by what becomes of them.", "kind", "outcome"),
		pending:  gauges(r, "sluice_pending_pods", "Pending pods of the last cycle by what becomes of them.", "outcome"),
		groups: groupMetrics{
			capacity: gauges(r, "sluice_group_capacity", "Machines the cloud wants the group to have; absent while unknown.", "group"),
			min:      gauges(r, "sluice_group_min", "Fewest machines the group may have.", "group"),
			max:      gauges(r, "sluice_group_max", "Most machines the group may have.", "group"),
			nodes:    gauges(r, "sluice_group_nodes", "Nodes of the group.", "group"),
			backoff:  gauges(r, "sluice_group_backoff", "1 while the group may not grow because of a failure.", "group"),
			actors:   gauges(r, "sluice_group_other_hands", "1 while a setting lets the cloud restart, delete or size machines of the group by itself.", "group", "kind"),
		},
		watch:      newWatch(r),
		compatible: newCompatible(r),
	}
	m.startAtZero()
	return m
}

// Also adds metrics of what runs beside the cycles.
func (m *Metrics) Also(more ...prometheus.Collector) { m.registry.MustRegister(more...) }

// Journal has two metrics of the journal: entries that could not be written, and bytes of its closed files. Without a journal there are none.
func (m *Metrics) Journal(failed func() uint64, closed func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "sluice_journal_write_failures_total", Help: "Entries that could not be written to the journal.",
	}, func() float64 { return float64(failed()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_journal_closed_bytes", Help: "Bytes of the journal's closed files.",
	}, func() float64 { return float64(closed()) }))
}

// Handler serves the metrics in Prometheus' text format and in OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.registry.Gather()
	})
	return promhttp.HandlerFor(gather, promhttp.HandlerOpts{})
}

// Report counts a completed cycle that took so long.
func (m *Metrics) Report(entry journal.Entry, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cycles.Inc()
	m.cycleSeconds.Observe(took.Seconds())
	for _, wait := range growthLatencies(entry) {
		m.growth.Observe(wait.Seconds())
	}
	counted, failures := count(entry), newFailures(entry)
	m.reportActions(entry)
	m.reportRefused(entry)
	m.reportFailures(entry, failures)
	m.reportLacks(entry)
	m.reportVerdicts(entry)
	m.reportGroups(entry, counted)
	m.watch.report(entry)
	m.compatible.report(entry, counted, failures)
}

// CycleFailed counts a cycle that began at that time and could not be observed: the cloud could not be read, or else the cluster.
func (m *Metrics) CycleFailed(at time.Time, cloud bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cycleFailed.Inc()
	kind := apiCallError
	if cloud {
		kind = cloudProviderError
	}
	m.compatible.errors.WithLabelValues(kind).Inc()
	m.compatible.activity.vec.WithLabelValues("main").Set(float64(at.Unix()))
}

func counter(r prometheus.Registerer, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func counters(r prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func gauge(r prometheus.Registerer, name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.MustRegister(g)
	return g
}

func gauges(r prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	r.MustRegister(g)
	return g
}

func histogram(r prometheus.Registerer, name string, buckets []float64, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}
