package kubesim

import (
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MetricsState is how the metrics API behaves.
type MetricsState int

// The states of the metrics API. A new cluster has none.
const (
	MetricsGone      MetricsState = iota // the API server does not serve it
	MetricsServed                        // it answers
	MetricsHung                          // it takes requests and answers when it is in another state
	MetricsForbidden                     // nobody may read it
)

// metrics is the metrics API: what kubelets measured, and how it behaves.
type metrics struct {
	state MetricsState
	nodes map[string]nodeUse
	hung  chan struct{} // closed when it hangs no more
}

type nodeUse struct {
	cpu string
	age time.Duration
}

// metricsPath is where the metrics API lists nodes.
const metricsPath = "apis/metrics.k8s.io/v1beta1/nodes"

// Measure has the metrics API say of a node that it uses so much CPU, as was measured so long before each answer. Neither has to make sense.
// The API is served from the first call on.
func (c *Cluster) Measure(node, cpu string, age time.Duration) {
	c.lock()
	defer c.mu.Unlock()
	if c.api.metrics.nodes == nil {
		c.api.metrics.nodes, c.api.metrics.state = map[string]nodeUse{}, MetricsServed
	}
	c.api.metrics.nodes[node] = nodeUse{cpu, age}
}

// ServeMetrics has the metrics API behave so. Requests that hang are answered when it does no more.
func (c *Cluster) ServeMetrics(state MetricsState) {
	c.lock()
	defer c.mu.Unlock()
	m := &c.api.metrics
	if m.hung != nil {
		close(m.hung)
		m.hung = nil
	}
	if m.state = state; state == MetricsHung {
		m.hung = make(chan struct{})
	}
}

// MetricsHang says whether requests to the metrics API hang.
func (c *Cluster) MetricsHang() bool {
	c.lock()
	defer c.mu.Unlock()
	return c.api.metrics.hung != nil
}

// measured answers a request to the metrics API. The caller holds the lock.
func (m *metrics) measured(r *http.Request, now func() time.Time) (answer, bool) {
	if strings.Trim(r.URL.Path, "/") != metricsPath {
		return answer{}, false
	}
	switch m.state {
	case MetricsHung:
		return answer{hung: m.hung}, true
	case MetricsForbidden:
		return failure(apierrors.NewForbidden(schema.GroupResource{Group: "metrics.k8s.io", Resource: "nodes"}, "", nil)), true
	case MetricsGone:
		return failure(errNoSuchPath), true
	}
	type object = map[string]any
	names := make([]string, 0, len(m.nodes))
	for name := range m.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	items := make([]object, 0, len(names))
	for _, name := range names {
		use := m.nodes[name]
		items = append(items, object{
			"metadata": object{"name": name}, "timestamp": now().Add(-use.age).Format(time.RFC3339), "window": "15s",
			"usage": object{"cpu": use.cpu, "memory": "1Gi"},
		})
	}
	return encoded(object{"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": object{}, "items": items}), true
}
