package monitoring

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// panel is one of a dashboard.
type panel = cog.Builder[dashboard.Panel]

// fewer is red below so many, and grey from there on.
func fewer(least float64) cog.Builder[dashboard.ThresholdsConfig] {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
		Steps([]dashboard.Threshold{{Color: "red"}, {Value: &least, Color: "text"}})
}

// grown is by how much a counter has grown in 5 minutes, by a label whose values nobody knows before: a series that is new counts in full, since increase takes
// its first value for where it began.
func grown(by, counter string) string {
	s := counter + `{` + chosen + `}`
	return `sum by (` + by + `) ((` + s + ` unless ` + s + ` offset 5m) or increase(` + s + `[5m])) > 0`
}

// azure says what Azure is asked, what it refuses, and what of sluice's share is left.
func azure() *dashboard.DashboardBuilder {
	const requests = `sluice_azure_requests_total{` + chosen + `}`
	d := page("sluice-azure", "sluice / Azure", "What is Azure asked, what does it refuse, and what is left of sluice's share of its limits?")
	for _, p := range []panel{
		figure("Requests a minute", "Sent to Azure Resource Manager, by all replicas.", "none", "0", `sum(rate(`+requests+`[5m])) * 60`, calm(0, 0)).Decimals(1),
		figure("Classes throttled now", "Classes of requests that Azure asked sluice not to send before some time.", "none", "0",
			`count(sluice_azure_throttled_until_timestamp_seconds{`+chosen+`} > time()) or vector(0)`, calm(1, 0)),
		figure("Refusals for throttling, 1 h", "Answers 429 in the last hour.", "none", "0", `round(sum(increase(sluice_azure_requests_total{status="429",`+chosen+`}[1h])))`, calm(1, 10)),
		figure("Refusals for rights, 1 h", "Answers 401 and 403 in the last hour. Ask: sluice doctor.", "none", "0",
			`round(sum(increase(sluice_azure_requests_total{status=~"401|403",`+chosen+`}[1h])))`, calm(0, 1)),
		figure("Without an answer, 1 h", "Requests to which no answer came in the last hour: network, proxy or Azure.", "none", "0",
			`round(sum(increase(sluice_azure_requests_total{status="none",`+chosen+`}[1h])))`, calm(1, 0)),
		figure("Groups in backoff", "Groups that may not grow because of a failure.", "none", "0", `sum(max by (cluster, namespace, group) (sluice_group_backoff{`+chosen+`}))`, calm(1, 0)),
		figure("Groups unreadable", "Groups about which Azure does not answer, or not in full.", "none", "0", `sum(max by (cluster, namespace, group) (sluice_group_unreadable{`+chosen+`}))`, calm(0, 1)),
		figure("Failed scale-ups, 1 h", "Scale-ups and machines that failed in the last hour.", "none", "0", `round(sum(increase(sluice_growth_failures_total{`+chosen+`}[1h])))`, calm(1, 0)),

		stacked(lines("Requests by class", "Requests a minute. Azure has a limit for each class and region.", "none", 12,
			query(`sum by (class) (rate(`+requests+`[$__rate_interval])) * 60`, "{{class}}"))),
		lines("Answers that are no success", "Answers a minute by status; none is no answer at all.", "none", 12,
			query(`sum by (class, status) (rate(sluice_azure_requests_total{status!~"2..|304",`+chosen+`}[$__rate_interval])) * 60 > 0`, "{{status}} {{class}}")),

		lines("Share that is left", "Requests that may be sent at once now, of what may be sent at once at most.", "percentunit", 12,
			query(`min by (class, region) (sluice_azure_budget_requests{`+chosen+`} / sluice_azure_budget_max_requests{`+chosen+`})`, "{{class}} {{region}}")).Max(1),
		lines("Requests not sent", "Requests a minute that sluice held: share keeps within its own share of the limits, throttled waits as Azure asked.", "none", 12,
			query(`sum by (class, reason) (rate(sluice_azure_requests_held_total{`+chosen+`}[$__rate_interval])) * 60 > 0`, "{{reason}} {{class}}")),

		lines("Azure asks to wait", "Seconds until requests of the class may be sent again.", "s", 12,
			query(`max by (class, region) (sluice_azure_throttled_until_timestamp_seconds{`+chosen+`} - time()) > 0`, "{{class}} {{region}}")),
		lines("Backoff", "Groups that may not grow because of a failure.", "none", 12,
			query(`max by (cluster, namespace, group) (sluice_group_backoff{`+chosen+`}) > 0`, "{{group}}")),

		lines("Failures by code", "Scale-ups that failed in 5 minutes, by Azure's code, or timeout for machines that did not become Ready nodes.", "none", 12,
			query(grown("reason", "cluster_autoscaler_failed_scale_ups_total"), "{{reason}}")),
		lines("Failures by kind", "The same, by the kind that decides what sluice does next: another size, zone or group, or the same again.", "none", 12,
			query(`sum by (kind) (increase(sluice_growth_failures_total{`+chosen+`}[5m])) > 0`, "{{kind}}")),

		lines("Writes that were stopped", "In 5 minutes, by the property of the safety contract (docs/safety.md).", "none", 12,
			query(grown("property", "sluice_guard_refusals_total"), "{{property}}")),
		rows("Azure changes groups by itself", "Settings of scale sets by which Azure restarts, deletes or resizes machines (docs/reference/other-hands.md).", 12,
			[]column{{"cluster", "cluster", ""}, {"group", "group", ""}, {"kind", "setting", ""}},
			latest("A", `max by (cluster, namespace, group, kind) (sluice_group_other_hands{`+chosen+`}) == 1`)),
	} {
		d.WithPanel(p)
	}
	return d
}
