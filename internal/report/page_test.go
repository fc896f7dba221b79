package report

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/reason"
)

// reference is a page of docs/reference.
func reference(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// here says what differs of cluster-autoscaler's families, by name.
var here = map[string]string{
	"cluster_safe_to_autoscale":            "0 stops scale-down only; 0 also while the right to change nodes is missing",
	"node_groups_count":                    "`autoprovisioned` is always 0",
	"unschedulable_pods_count":             "pods behind scheduling gates do not count",
	"max_nodes_count":                      "the smaller of `--max-nodes-total` and the sum of the groups' max",
	"cluster_cpu_current_cores":            "without nodes on their way out",
	"cluster_memory_current_bytes":         "without nodes on their way out",
	"node_group_target_count":              "absent while the capacity is unknown",
	"node_group_healthiness":               "0 also while the group cannot be read",
	"node_group_backoff_status":            "the reason is Azure's code",
	"last_activity":                        "every cycle sets all, a failed one only `main`",
	"function_duration_seconds":            "see Durations above",
	"function_duration_quantile_seconds":   "see Durations above",
	"pending_node_deletions":               "nodes that are cordoned, draining or being deleted",
	"errors_total":                         "cycles that could not be observed, and actions that failed; `cloudProviderError` and `apiCallError` alone are above 0",
	"failed_scale_ups_total":               "a scale-up that Azure accepted and failed later counts at once, under Azure's code",
	"scaled_down_nodes_total":              "a node emptied for a saving is `underutilized`",
	"evicted_pods_total":                   "each request counts, repeated ones too",
	"unremovable_nodes_count":              "by the first reason that [cluster-autoscaler has a name for](blocking.md), else `NotUnneededOtherReason`",
	"scale_down_in_cooldown":               "always 0 with `--scale-down-delay-type-local`",
	"overflowing_controllers_count":        "always 0: a controller may have any number of kinds of pods",
	"skipped_scale_events_count":           "cycles in which the limit prevented it",
	"created_node_groups_total":            "always 0: sluice makes no groups",
	"deleted_node_groups_total":            "always 0",
	"node_taints_count":                    "sluice's own taint of a removal counts as `ToBeDeletedByClusterAutoscaler`",
	"inconsistent_instances_migs_count":    "always 0: Google Cloud alone has them",
	"binpacking_heterogeneity":             "kinds of pods that a scale-up is for",
	"max_node_skip_eval_duration_seconds":  "always 0: no node is skipped",
	"node_removal_latency_seconds":         "from a node's cordon to its machine's deletion, or its return to service; `delay_reason` is `none`",
	"dra_node_template_resources_mismatch": "always 0: not measured",
	"skipped_pods_count":                   "always 0: no pod is skipped",
}

// TestThePageOfMetricsHasEveryFamily makes the table of sluice's families from the program, and that of cluster-autoscaler's from what that program has
// recorded.
func TestThePageOfMetricsHasEveryFamily(t *testing.T) {
	const heading, theirs = "\n## Families of sluice\n", "\n## Families of cluster-autoscaler\n"
	page := reference(t, "metrics.md")
	prose, _, _ := strings.Cut(page, heading)
	var b strings.Builder
	b.WriteString(prose + heading + "\n| family | type | labels | what it tells |\n|---|---|---|---|\n")
	own := everything(t)
	for _, name := range sortedKeys(own) {
		if short, is := strings.CutPrefix(name, "sluice_"); is {
			words := strings.SplitN(shape(own[name]), " ", 3)
			help := strings.TrimSuffix(own[name].GetHelp(), ".")
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", short, strings.ToLower(words[1]), strings.ReplaceAll(strings.Trim(words[2], "[]"), " ", ", "), help)
		}
	}
	b.WriteString(theirs + "\n| family | type | labels | what differs here |\n|---|---|---|---|\n")
	all := recorded(t, "all")
	for _, name := range sortedKeys(all) {
		words := strings.SplitN(shape(all[name]), " ", 3)
		short := strings.TrimPrefix(name, compatiblePrefix)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", short, strings.ToLower(words[1]), strings.ReplaceAll(strings.Trim(words[2], "[]"), " ", ", "), here[short])
	}
	for short := range here {
		if all[compatiblePrefix+short] == nil {
			t.Errorf("something is said of %s, and cluster-autoscaler has no such family", short)
		}
	}
	if *update {
		if err := os.WriteFile("../../docs/reference/metrics.md", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), page); diff != "" {
		t.Errorf("docs/reference/metrics.md is not current; run go test ./internal/report -run PageOfMetrics -update (-made +page):\n%s", diff)
	}
}

// reasonsOfIncumbent are the reasons of cluster-autoscaler's events.
var reasonsOfIncumbent = []string{
	"ScaledUpGroup", "FailedToScaleUpGroup", "ScaleUpTimedOut", "FailedToRevertScaleUp", "ScaleUpFailed", "ScaleDownEmpty", "ScaleDown", "ScaleDownFailed", "DeleteUnregistered",
	"DeleteUnregisteredFailed", "ClusterUnhealthy", "MaxNodesTotalReached", "GracefulDegradationStarted", "GracefulDegradationStopped", "ClusterAutoscalerCleanup", "TriggeredScaleUp",
	"NotTriggerScaleUp", "PriorityConfigMapInvalid", "PriorityConfigMapNotMatchedGroup", "PriorityConfigMapNoGroupMatched",
}

// TestThePageOfMetricsHasEveryEvent holds the page to each reason of an event that the source has, and cluster-autoscaler's twenty.
func TestThePageOfMetricsHasEveryEvent(t *testing.T) {
	page := reference(t, "metrics.md")
	var source string
	for _, file := range []string{"events_said.go", "events_cluster.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	reasons := regexp.MustCompile(`(?m)^	\w+ += "([A-Z]\w+)"`).FindAllStringSubmatch(source, -1)
	if len(reasons) < 20 {
		t.Fatalf("%d reasons are found in the source", len(reasons))
	}
	for _, m := range reasons {
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("docs/reference/metrics.md lacks the event %s", m[1])
		}
	}
	for _, name := range reasonsOfIncumbent {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/reference/metrics.md lacks cluster-autoscaler's event %s", name)
		}
	}
}

// TestNodesThatStayAreCountedUnderTheNamesOfThePage holds unremovable_nodes_count to docs/reference/blocking.md.
func TestNodesThatStayAreCountedUnderTheNamesOfThePage(t *testing.T) {
	named := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\|").FindAllStringSubmatch(reference(t, "blocking.md"), -1) {
		want := "NotUnneededOtherReason"
		if name := strings.Trim(m[2], "`"); name != "—" {
			want, _, _ = strings.Cut(strings.ReplaceAll(name, "`", ""), ":")
			named++
		}
		if got := unremovable([]reason.Reason{{Code: reason.Code(m[1])}}); got != want {
			t.Errorf("a node that stays for %s counts as %s, want %s", m[1], got, want)
		}
	}
	if named != len(unremovableNames) {
		t.Errorf("the page names %d reasons as cluster-autoscaler does, the metrics %d", named, len(unremovableNames))
	}
}
