package report

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// watchMetrics are what alerts watch: why things stay as they are, and since when.
type watchMetrics struct {
	reasons, idle    *prometheus.GaugeVec
	oldestPending    prometheus.Gauge
	oldestRemoval    prometheus.Gauge
	cost, unreadable *prometheus.GaugeVec
	readAge          *prometheus.GaugeVec
}

func newWatch(r prometheus.Registerer) watchMetrics {
	return watchMetrics{
		reasons:       gauges(r, "sluice_reasons", "Subjects of the last cycle whose verdict names the reason.", "kind", "code"),
		idle:          gauges(r, "sluice_idle_nodes", "Idle and underused nodes that stay, by the first reason that keeps each.", "group", "code"),
		oldestPending: gauge(r, "sluice_oldest_pending_pod_seconds", "Age of the oldest pending pod that sluice makes room for or cannot; 0 without one."),
		oldestRemoval: gauge(r, "sluice_oldest_removal_seconds", "For how long the node has been cordoned that sluice has cordoned first of those that are; 0 without one."),
		cost:          gauges(r, "sluice_group_cost_usd_per_hour", "List price of the group's machines; absent while unknown.", "group"),
		unreadable:    gauges(r, "sluice_group_unreadable", "1 while the cloud cannot be asked about the group, or does not answer in full.", "group"),
		readAge:       gauges(r, "sluice_group_read_age_seconds", "Age of the evidence on which the last cycle decided about the group; absent before the first read.", "group"),
	}
}

func (w watchMetrics) report(entry journal.Entry) {
	now := entry.Seen.Time
	w.reasons.Reset()
	w.idle.Reset()
	tally := map[[2]string]int{}
	ignored := map[string]bool{}
	for _, v := range entry.Plan.Verdicts {
		for i, r := range v.Because {
			if !slices.ContainsFunc(v.Because[:i], func(before reason.Reason) bool { return before.Code == r.Code }) {
				tally[[2]string{string(v.Subject.Kind), string(r.Code)}]++
			}
		}
		if v.Outcome == action.NodeIdle && len(v.Because) > 0 {
			if n := entry.Seen.Node(v.Subject.Name); n != nil {
				w.idle.WithLabelValues(string(n.Group), string(v.Because[0].Code)).Inc()
			}
		}
		if v.Subject.Kind == reason.KindPod && v.Outcome == action.PodIgnored {
			ignored[v.Subject.Name] = true
		}
	}
	oldest := now
	for _, p := range entry.Seen.Pending {
		if p.Created().Before(oldest) && !ignored[p.String()] {
			oldest = p.Created()
		}
	}
	for of, n := range tally {
		w.reasons.WithLabelValues(of[0], of[1]).Set(float64(n))
	}
	w.oldestPending.Set(now.Sub(oldest).Seconds())
	first := now
	for _, n := range entry.Seen.Nodes {
		if removal, on := cluster.RemovalOf(n.Object); on && n.Parked.UID == "" && removal.Since.Before(first) {
			first = removal.Since
		}
	}
	w.oldestRemoval.Set(now.Sub(first).Seconds())
	w.cost.Reset()
	w.unreadable.Reset()
	w.readAge.Reset()
	for _, g := range entry.Seen.Groups {
		id := string(g.ID)
		if usd, known := Cost(g); known {
			w.cost.WithLabelValues(id).Set(usd)
		}
		w.unreadable.WithLabelValues(id).Set(indicator(!g.Read.Complete || g.Problem != ""))
		if !g.Read.At.IsZero() {
			w.readAge.WithLabelValues(id).Set(max(0, now.Sub(g.Read.At).Seconds()))
		}
	}
}

// Process has metrics of the process itself: its version, and whether it leads.
func (m *Metrics) Process(version string, leads func() bool) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_leader", Help: "1 while this process leads, and decides; 0 while it stands by.",
	}, func() float64 { return indicator(leads()) }))
	gauges(m.registry, "sluice_build_info", "1, by the version of the program.", "version").WithLabelValues(version).Set(1)
}

// Cost is what the group's machines cost by the hour at list prices, those that are switched off included; nothing of a group that Azure has no
// more; false while that is unknown.
func Cost(g *cluster.Group) (usd float64, known bool) {
	if !g.Deleted.IsZero() {
		return 0, true
	}
	return float64(max(g.Capacity, 0)) * g.PriceUSDPerHour, g.Capacity >= 0 && (g.PriceUSDPerHour > 0 || g.Capacity == 0)
}
