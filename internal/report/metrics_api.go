package report

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// APIClass is what one class of requests to the cloud's API has spent, and what it may spend now.
type APIClass struct {
	Class    string         `json:"class"`
	Region   string         `json:"region"`
	Answered map[string]int `json:"answered"`       // requests sent so far, by status
	Held     map[string]int `json:"held,omitempty"` // requests not sent so far, by reason

	Limited bool      `json:"limited"` // whether the cloud publishes a limit; the next two mean nothing when not
	Left    float64   `json:"left,omitempty"`
	Most    float64   `json:"most,omitempty"`
	Until   time.Time `json:"until,omitzero"` // the cloud asked for no request before; zero when it may be asked
}

// Counts are the requests of the class: all that were answered, those of them that were refused, and those that were not sent.
func (c APIClass) Counts() (answered, refused, held int) {
	for status, n := range c.Answered {
		if answered += n; strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5") {
			refused += n
		}
	}
	for _, n := range c.Held {
		held += n
	}
	return answered, refused, held
}

// apiClasses reads the classes at each scrape.
type apiClasses struct {
	read func() []APIClass

	requests, held, left, most, until *prometheus.Desc
}

// WatchAPI adds what the cloud's API was asked, and what is left to ask, as read tells at each scrape. It is called once.
func (m *Metrics) WatchAPI(read func() []APIClass) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"class", "region"}, labels...), nil)
	}
	m.registry.MustRegister(&apiClasses{
		read:     read,
		requests: desc("sluice_azure_requests_total", "Requests to Azure Resource Manager by class and status; none when no answer came.", "status"),
		held:     desc("sluice_azure_requests_held_total", "Requests that were not sent: share, to keep within sluice's share of Azure's limits; throttled, before the time Azure asked for.", "reason"),
		left:     desc("sluice_azure_budget_requests", "Requests that sluice's share of Azure's limit allows at once now."),
		most:     desc("sluice_azure_budget_max_requests", "Requests that sluice's share of Azure's limit allows at once when nothing was spent."),
		until:    desc("sluice_azure_throttled_until_timestamp_seconds", "Until when Azure asked to be left alone; 0 when it did not."),
	})
}

// Describe implements [prometheus.Collector].
func (a *apiClasses) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{a.requests, a.held, a.left, a.most, a.until} {
		out <- d
	}
}

// refusing are the statuses that alerts count. They have series from the start: one that appears with its first value shows no increase.
var refusing = []string{"401", "403", "429", "none"}

// Collect implements [prometheus.Collector].
func (a *apiClasses) Collect(out chan<- prometheus.Metric) {
	for _, c := range a.read() {
		send := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, t, v, append([]string{c.Class, c.Region}, labels...)...)
		}
		for _, status := range refusing {
			if c.Answered[status] == 0 {
				send(a.requests, prometheus.CounterValue, 0, status)
			}
		}
		for status, n := range c.Answered {
			if n == 0 {
				continue
			}
			send(a.requests, prometheus.CounterValue, float64(n), status)
		}
		for reason, n := range c.Held {
			send(a.held, prometheus.CounterValue, float64(n), reason)
		}
		if c.Limited {
			send(a.left, prometheus.GaugeValue, c.Left)
			send(a.most, prometheus.GaugeValue, c.Most)
		}
		until := 0.
		if !c.Until.IsZero() {
			until = float64(c.Until.UnixMilli()) / 1000
		}
		send(a.until, prometheus.GaugeValue, until)
	}
}
