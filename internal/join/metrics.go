package join

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type metrics struct {
	given        prometheus.Counter
	refusals     *prometheus.CounterVec
	certificates *prometheus.CounterVec
	azure        *prometheus.CounterVec
	outstanding  prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		given: prometheus.NewCounter(prometheus.CounterOpts{Name: "sluice_join_tokens_total", Help: "Tokens that were given to machines."}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_join_refusals_total", Help: "Machines that were not let in, and certificates that were denied, by the code of the reason.",
		}, []string{"code"}),
		certificates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_join_certificates_total", Help: "Requests for certificates that were decided on.",
		}, []string{"signer", "decision"}),
		azure: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_join_azure_reads_total", Help: "Machines that were read one by one, and lists of machines that were read, to judge who joins.",
		}, []string{"of"}),
		outstanding: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_join_tokens_outstanding", Help: "Tokens of machines that have not joined yet."}),
	}
	for code := range rows {
		m.refusals.WithLabelValues(string(code))
	}
	for _, signer := range []string{certificates.KubeAPIServerClientKubeletSignerName, certificates.KubeletServingSignerName} {
		for _, decision := range []certificates.RequestConditionType{certificates.CertificateApproved, certificates.CertificateDenied} {
			m.certificates.WithLabelValues(strings.TrimPrefix(signer, "kubernetes.io/"), string(decision))
		}
	}
	for _, of := range []string{"machine", "list"} {
		m.azure.WithLabelValues(of)
	}
	return m
}

// Collectors are the door's metrics.
func (d *Door) Collectors() []prometheus.Collector {
	m := d.metrics
	return []prometheus.Collector{m.given, m.refusals, m.certificates, m.azure, m.outstanding}
}

// How much strangers can have written: lines of a code in a minute, and Events of a code in an hour.
const (
	linesPer  = 20
	eventsPer = 1
)

// told counts what was said lately.
type told struct {
	now func() time.Time

	mu    sync.Mutex
	lines map[Code]*window
	said  map[Code]*window
}

type window struct {
	from time.Time
	n    int
}

func newTold(now func() time.Time) *told {
	return &told{now: now, lines: map[Code]*window{}, said: map[Code]*window{}}
}

func (t *told) may(of map[Code]*window, code Code, per int, in time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	w := of[code]
	if w == nil || now.Sub(w.from) >= in {
		w = &window{from: now}
		of[code] = w
	}
	w.n++
	return w.n <= per
}

// refuse tells of a refusal: a metric, a line, and where somebody must act an Event.
func (d *Door) refuse(ctx context.Context, r *refusal, source netip.Addr, machine string) {
	d.metrics.refusals.WithLabelValues(string(r.code)).Inc()
	if d.told.may(d.told.lines, r.code, linesPer, time.Minute) {
		d.o.Log.Warn("refused to let a machine join", "code", r.code, "from", source, "machine", machine[:min(len(machine), 300)], "why", r.message, "detail", r.detail, "remedy", rows[r.code].remedy)
	}
	if rows[r.code].person && r.code != ClusterUnavailable || r.person {
		why := r.message
		if r.detail != "" {
			why += " (" + r.detail + ")"
		}
		d.event(ctx, r.code, why)
	}
}

// event tells a person, once an hour for each code.
func (d *Door) event(ctx context.Context, code Code, why string) {
	if !d.told.may(d.told.said, code, eventsPer, time.Hour) {
		return
	}
	if err := d.cluster.tell(ctx, code, why, d.o.Now()); err != nil {
		d.o.Log.Warn("an Event about joining cannot be written", "code", code, "err", err)
	}
}

// tell writes an Event about the namespace's records.
func (c *cluster) tell(ctx context.Context, code Code, why string, now time.Time) error {
	at := metav1.NewTime(now)
	message := why + ": " + rows[code].remedy
	_, err := c.client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "sluice-join."},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "sluice-join", APIVersion: "v1"},
		Type:           corev1.EventTypeWarning, Reason: string(code), Message: message[:min(len(message), 1000)],
		FirstTimestamp: at, LastTimestamp: at, Count: 1, Source: corev1.EventSource{Component: "sluice"},
	}, metav1.CreateOptions{})
	return err
}
