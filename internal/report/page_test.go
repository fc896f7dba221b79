package report

import (
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

// TestThePageOfMetricsHasEveryFamily holds the page to name, type and labels of each of cluster-autoscaler's families.
func TestThePageOfMetricsHasEveryFamily(t *testing.T) {
	page, want := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (gauge|counter|histogram|summary) \\| ([a-z_, ]*)\\| .+ \\|$").FindAllStringSubmatch(reference(t, "metrics.md"), -1) {
		page[m[1]+" "+m[2]+" "+strings.TrimSpace(m[3])] = true
	}
	for _, f := range recorded(t, "all") {
		words := strings.SplitN(shape(f), " ", 3)
		want[strings.TrimPrefix(words[0], compatiblePrefix)+" "+strings.ToLower(words[1])+" "+strings.ReplaceAll(strings.Trim(words[2], "[]"), " ", ", ")] = true
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("docs/reference/metrics.md (-families +page):\n%s", diff)
	}
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
	if rows := regexp.MustCompile("(?m)^\\| `[A-Z]\\w+` \\| (status ConfigMap|priority ConfigMap|Node|Pod)[^|]* \\| .+ \\|$").FindAllString(page, -1); len(rows) != 20 {
		t.Errorf("docs/reference/metrics.md has %d of cluster-autoscaler's 20 reasons", len(rows))
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
