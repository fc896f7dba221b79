package monitoring

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// now says whether sluice needs somebody, what waits and why, and what the groups are and cost.
//
// Gauges are summed, or the greatest is taken, over replicas: one that stands by has no state of the cluster.
func now() *dashboard.DashboardBuilder {
	d := page("sluice-now", "sluice / Now", "Does sluice need me? What waits, and why? What are the groups, and what do they cost?")
	for _, p := range []panel{
		figure("Leads", "Replicas that decide, one in each cluster. None: nothing is scaled.", "none", "no data", `sum(sluice_leader{`+chosen+`})`, fewer(1)),
		figure("Last cycle ended", "How long ago sluice last observed and decided. Look at the pod's log if it grows.", "s", "never",
			`time() - min(max by (cluster, namespace, job) (cluster_autoscaler_last_activity{activity="mainSuccessful",`+chosen+`}))`, calm(120, 600)),
		figure("Pods without a place", "No group may or can take them. Ask: sluice explain pod NAME.", "none", "0", `sum(sluice_pending_pods{outcome="stuck",`+chosen+`})`, calm(0, 1)),
		figure("Oldest pod waits", "Of the pods that sluice makes room for or cannot.", "s", "0 s", `max(sluice_oldest_pending_pod_seconds{`+chosen+`})`, calm(600, 1800)),
		figure("Oldest scale-down", "For how long the first cordoned node has been on its way out.", "s", "0 s", `max(sluice_oldest_removal_seconds{`+chosen+`})`, calm(7200, 21600)),
		figure("Oldest evidence", "Age of the oldest read of a group on which sluice decides.", "s", "unknown", `max(sluice_group_read_age_seconds{`+chosen+`})`, calm(300, 900)),
		figure("Rights missing", "Rights in Kubernetes that sluice lacks. Ask: sluice doctor.", "none", "0", `count(count by (right) (sluice_missing_rights{`+chosen+`})) or vector(0)`, calm(1, 0)),
		figure("USD an hour", "List price of all machines. Groups without a known price are left out.", "currencyUSD", "unknown",
			`sum(max by (cluster, namespace, job, group) (sluice_group_cost_usd_per_hour{`+chosen+`}))`, calm(0, 0)),

		rows("Needs a person", "Alerts of deploy/monitoring/alerts.yaml that fire. Each has a runbook of its name.", 24,
			[]column{{"alertname", "alert", ""}, {"severity", "severity", ""}, {"cluster", "cluster", ""}, {"group", "group", ""}, {"class", "class", ""}, {"region", "region", ""}, {"right", "right", ""}},
			latest("A", `ALERTS{alertname=~"Sluice.*",alertstate="firing",`+chosen+`} or ALERTS{alertname=~"Sluice.*",alertstate="firing",cluster="",namespace=""}`)).Height(6),

		stacked(lines("Pending pods", "By what becomes of them. Stuck pods get no machine without a person.", "none", 12,
			query(`sum by (outcome) (sluice_pending_pods{`+chosen+`})`, "{{outcome}}"))),
		lines("Why pods wait", "Pods by reason code. A pod may have several. docs/reference/reasons.md has each code.", "none", 12,
			query(`sum by (code) (sluice_reasons{kind="pod",`+chosen+`})`, "{{code}}")),

		rows("Groups", "Ask about one: sluice explain group NAME. Backoff and unreadable are 1 while the group may not grow, or cannot be read.", 24,
			[]column{{"cluster", "cluster", ""}, {"group", "group", ""}, {"Value #nodes", "nodes", ""}, {"Value #capacity", "size", ""}, {"Value #min", "min", ""}, {"Value #max", "max", ""},
				{"Value #backoff", "backoff", ""}, {"Value #unreadable", "unreadable", ""}, {"Value #age", "evidence age", "s"}, {"Value #cost", "USD an hour", "currencyUSD"}},
			latest("nodes", group("nodes")), latest("capacity", group("capacity")), latest("min", group("min")), latest("max", group("max")), latest("backoff", group("backoff")),
			latest("unreadable", group("unreadable")), latest("age", group("read_age_seconds")), latest("cost", group("cost_usd_per_hour"))).Height(10),

		lines("Idle nodes", "Idle and underused nodes that stay, by the first reason. NodeIdle and NodeUnderused wait for their time.", "none", 12,
			query(`sum by (code) (sluice_idle_nodes{`+chosen+`})`, "{{code}}")),
		stacked(lines("Nodes", "By what becomes of them.", "none", 12, query(`sum by (outcome) (sluice_verdicts{kind="node",`+chosen+`})`, "{{outcome}}"))),

		stacked(lines("USD an hour", "List price by group.", "currencyUSD", 12, query(`max by (cluster, namespace, group) (sluice_group_cost_usd_per_hour{`+chosen+`})`, "{{group}}"))),
		lines("Scale-ups and scale-downs", "What sluice asked of Azure and Kubernetes in 5 minutes, by what became of it. Deferred and skipped are left out.", "none", 12,
			query(`sum by (action, status) (increase(sluice_actions_total{action=~"SetCapacity|Cordon|Evict|DeleteInstances",status=~"accepted|failed|refused",`+chosen+`}[5m])) > 0`, "{{action}} {{status}}")),
		lines("Seconds a cycle", "From the first read to the last answer: half of the cycles take no more, and 99 of 100.", "s", 12,
			query(`histogram_quantile(0.5, sum by (le) (rate(sluice_cycle_duration_seconds_bucket{`+chosen+`}[$__rate_interval])))`, "half"),
			query(`histogram_quantile(0.99, sum by (le) (rate(sluice_cycle_duration_seconds_bucket{`+chosen+`}[$__rate_interval])))`, "99 of 100")),
		lines("From unschedulable pod to accepted scale-up", "In seconds: half of the scale-ups take no more, and 95 of 100.", "s", 12,
			query(`histogram_quantile(0.5, sum by (le) (rate(sluice_growth_latency_seconds_bucket{`+chosen+`}[$__range])))`, "half"),
			query(`histogram_quantile(0.95, sum by (le) (rate(sluice_growth_latency_seconds_bucket{`+chosen+`}[$__range])))`, "95 of 100")),
	} {
		d.WithPanel(p)
	}
	return d
}

// group is the value of a group's series, whichever replica has it.
func group(of string) string {
	return `max by (cluster, namespace, group) (sluice_group_` + of + `{` + chosen + `})`
}
