package deploy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write docs/reference/alerts.md")

// ruleFile is what deploy/monitoring/alerts.yaml may have.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// rule is a recording rule or an alert.
type rule struct {
	Record      string            `json:"record"`
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

const alertsPage = "../docs/reference/alerts.md"

// steps are the lines of a description: what the alert means, where to look, what to do.
var steps = regexp.MustCompile("^Means: (.+)\nLook: (.+)\nDo: (.+)$")

// TestThePageOfAlertsHasARunbookForEach makes the runbooks of what each alert says itself, so that the page and the notification are the same.
func TestThePageOfAlertsHasARunbookForEach(t *testing.T) {
	const heading = "\n## Recording rules\n"
	var file ruleFile
	if err := yaml.UnmarshalStrict(Alerts, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 {
		t.Fatalf("%d groups, want one: the chart takes the first", len(file.Groups))
	}
	text, err := os.ReadFile(alertsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	prose, _, found := strings.Cut(page, heading)
	if !found {
		t.Fatalf("%s has no heading %q", alertsPage, heading)
	}
	var records, alerts strings.Builder
	for _, r := range file.Groups[0].Rules {
		if r.Alert == "" {
			fmt.Fprintf(&records, "| `%s` | `%s` |\n", r.Record, r.Expr)
			continue
		}
		if r.For == "" || !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
			t.Errorf("%s says not how long, how severe or what", r.Alert)
		}
		if want := "https://sluice.dev/sluice/docs/reference/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		says := steps.FindStringSubmatch(r.Annotations["description"])
		if says == nil {
			t.Errorf("%s: its description has other lines than Means, Look and Do: %q", r.Alert, r.Annotations["description"])
			continue
		}
		fmt.Fprintf(&alerts, "\n## %s\n\n%s after %s of:\n\n```promql\n%s\n```\n\n- Means: %s\n- Look: %s\n- Do: %s\n", r.Alert, r.Labels["severity"], r.For, r.Expr, linked(says[1]), linked(says[2]), linked(says[3]))
	}
	made := prose + heading + "\n| series | rule |\n|---|---|\n" + records.String() + alerts.String()
	if *update {
		if err := os.WriteFile(alertsPage, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(made, page); diff != "" {
		t.Errorf("%s is not current; run go test ./deploy -run PageOfAlerts -update (-made +page):\n%s", alertsPage, diff)
	}
}

// linked is a sentence in which the name of an alert leads to its runbook.
func linked(says string) string {
	return regexp.MustCompile(`\bSluice[A-Z]\w+`).ReplaceAllStringFunc(says, func(alert string) string { return "[" + alert + "](#" + strings.ToLower(alert) + ")" })
}

// TestRunbooksNameCommandsThatExist holds what the alerts tell a person to type to the program's commands.
func TestRunbooksNameCommandsThatExist(t *testing.T) {
	sources, err := filepath.Glob("../cmd/sluice/*.go")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Use: +"(\w+)`).FindAllStringSubmatch(string(text), -1) {
			commands[m[1]] = true
		}
	}
	said := regexp.MustCompile("(?:Ask: |`)sluice (\\w+)").FindAllStringSubmatch(string(Alerts), -1)
	if len(said) < 20 {
		t.Fatalf("%d commands are found", len(said))
	}
	for _, m := range said {
		if !commands[m[1]] {
			t.Errorf("an alert names sluice %s, which is no command", m[1])
		}
	}
}
