package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// family is one of the families that the program serves.
type family struct {
	kind   string
	labels []string
}

// served are the families on docs/reference/metrics.md, which a test of internal/report makes from the program's registry.
func served(t *testing.T) map[string]family {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "\n## Families of sluice\n")
	own, theirs, found := strings.Cut(tables, "\n## Families of cluster-autoscaler\n")
	if !found {
		t.Fatal("docs/reference/metrics.md lacks the tables of families")
	}
	all := map[string]family{}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram|summary) \\| ([\\w, ]*) \\|")
	for prefix, table := range map[string]string{"sluice_": own, "cluster_autoscaler_": theirs} {
		for _, m := range row.FindAllStringSubmatch(table, -1) {
			has := family{kind: m[2], labels: strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })}
			all[prefix+m[1]] = has
			if has.kind == "histogram" {
				all[prefix+m[1]+"_bucket"] = family{"counter", append(has.labels, "le")}
				all[prefix+m[1]+"_sum"], all[prefix+m[1]+"_count"] = family{"counter", has.labels}, family{"counter", has.labels}
			}
		}
	}
	if len(all) < 70 {
		t.Fatalf("%d families are found on the page", len(all))
	}
	return all
}

// scraped are the labels that a scrape adds to each series.
var scraped = []string{"cluster", "namespace", "job", "instance", "pod"}

// codes are the reason codes on docs/reference/reasons.md.
func codes(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	if len(all) < 150 {
		t.Fatalf("%d codes are found on the page", len(all))
	}
	return append(all, refusals(t)...)
}

// refusals are the codes of the door by which machines join, with those of package attest.
func refusals(t *testing.T) (all []string) {
	t.Helper()
	for _, file := range []string{"../../internal/join/refusal.go", "../../internal/attest/attest.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(` Code += "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1])
		}
	}
	if len(all) < 25 {
		t.Fatalf("%d codes of refusals are found", len(all))
	}
	return all
}

// values are those that labels may be selected by: a typing error in one makes a query that finds nothing. What is not here may have any value.
func values(t *testing.T) map[string][]string {
	return map[string][]string{
		"code":     codes(t),
		"kind":     {"cluster", "group", "node", "pod", "instance", "request", "buffer"},
		"halts":    {"true", "false"},
		"activity": {"main", "mainSuccessful", "autoscaling", "scaleUp", "scaleDown"},
		"action":   {"SetCapacity", "Cordon", "Evict", "DeleteInstances"},
		"status":   {"accepted", "failed", "refused", "401", "403", "429", "none", "2..", "304"},
		"outcome":  {"scheduling", "waiting", "grows", "rescues", "stuck", "ignored"},
	}
}

// A check reads PromQL and reports what finds nothing.
type check struct {
	have   map[string]family
	values map[string][]string
}

// variables of Grafana that stand for a duration.
var durations = strings.NewReplacer("$__rate_interval", "5m", "$__range", "3h")

// problems are what is wrong with a query: series, labels and values that the program does not have, labels that are kept and not there, and rates of what is no
// counter.
func (c check) problems(expr string) (wrong []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(durations.Replace(expr))
	if err != nil {
		return []string{err.Error()}
	}
	read := 0
	var names []string // of labels that a selector below may have
	parser.Inspect(parsed, func(n parser.Node, path []parser.Node) error {
		s, is := n.(*parser.VectorSelector)
		if !is || s.Name == "ALERTS" {
			return nil
		}
		read++
		of, exists := c.have[s.Name]
		if !exists {
			wrong = append(wrong, s.Name+" is no series of sluice")
			return nil
		}
		names = append(names, of.labels...)
		for _, m := range s.LabelMatchers {
			wrong = append(wrong, c.selects(s.Name, of, m)...)
		}
		rated, any := false, false
		for _, p := range path {
			if call, is := p.(*parser.Call); is {
				rated = rated || slices.Contains([]string{"rate", "increase"}, call.Func.Name)
				any = any || call.Func.Name == "absent"
			}
			if b, is := p.(*parser.BinaryExpr); is && b.Op == parser.LUNLESS {
				any = any || of.kind == "counter" // see grown
			}
		}
		if !any && rated != (of.kind == "counter") {
			wrong = append(wrong, s.Name+" is a "+of.kind+": its rate is what counts, or is not")
		}
		return nil
	})
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if a, is := n.(*parser.AggregateExpr); is && read > 0 {
			for _, label := range a.Grouping {
				if !slices.Contains(names, label) && !slices.Contains(scraped, label) {
					wrong = append(wrong, "no series of the query has the label "+label)
				}
			}
		}
		return nil
	})
	return wrong
}

// selectors is how many selectors of series of sluice a query has.
func (c check) selectors(expr string) (n int) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(durations.Replace(expr))
	if err != nil {
		return 0
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is && s.Name != "ALERTS" {
			n++
		}
		return nil
	})
	return n
}

// selects are the problems of one matcher of a selector.
func (c check) selects(name string, of family, m *labels.Matcher) (wrong []string) {
	switch {
	case m.Name == labels.MetricName || strings.HasPrefix(m.Value, "$") || slices.Contains(scraped, m.Name):
		return nil
	case !slices.Contains(of.labels, m.Name):
		return []string{name + " has no label " + m.Name}
	}
	for value := range strings.SplitSeq(m.Value, "|") {
		if known, some := c.values[m.Name]; some && !slices.Contains(known, value) {
			wrong = append(wrong, name+": no "+m.Name+" is "+value)
		}
	}
	return wrong
}

// TestChecksFindWhatIsWrong breaks a query in each way that the checks are for.
func TestChecksFindWhatIsWrong(t *testing.T) {
	c := check{served(t), values(t)}
	for expr, finds := range map[string]string{
		`sluice_leder`:                                    "no series",
		`sluice_pending_pods{outcom="stuck"}`:             "no label outcom",
		`sluice_pending_pods{outcome="stock"}`:            "no outcome is stock",
		`sluice_idle_nodes{code!~"NodeIdle|GroupAtMinn"}`: "no code is GroupAtMinn",
		`sum by (grup) (sluice_group_min)`:                "the label grup",
		`sluice_cycles_total`:                             "its rate",
		`rate(sluice_group_min[5m])`:                      "its rate",
		`sum(sluice_leader`:                               "unclosed",
	} {
		if got := strings.Join(c.problems(expr), "; "); !strings.Contains(got, finds) {
			t.Errorf("%s: %q is found, want %q", expr, got, finds)
		}
	}
}

// TestDashboardsReadSeriesThatExist is for each query of each panel, and for the variables.
func TestDashboardsReadSeriesThatExist(t *testing.T) {
	c := check{served(t), values(t)}
	for file, d := range dashboards(t) {
		queries := 0
		for _, p := range d.Panels {
			if len(p.Panel.Targets) == 0 || *p.Panel.Title == "" || *p.Panel.Description == "" {
				t.Errorf("%s: a panel has no query, no title or no description", file)
			}
			for _, target := range p.Panel.Targets {
				q, is := target.(prometheus.Dataquery)
				if !is {
					t.Fatalf("%s, %s: the query is a %T", file, *p.Panel.Title, target)
				}
				queries++
				for _, wrong := range c.problems(q.Expr) {
					t.Errorf("%s, %s: %s: %s", file, *p.Panel.Title, wrong, q.Expr)
				}
				if n := strings.Count(q.Expr, chosen); n == 0 || n < c.selectors(q.Expr) {
					t.Errorf("%s, %s: the reader's choice of clusters is not kept by every selector: %s", file, *p.Panel.Title, q.Expr)
				}
			}
		}
		if queries < 15 {
			t.Errorf("%s has %d queries", file, queries)
		}
		for _, v := range d.Templating.List {
			if v.Query == nil || v.Query.String == nil {
				t.Errorf("%s: variable %s has no query", file, v.Name)
				continue
			}
			if m := regexp.MustCompile(`label_values\((\w+)`).FindStringSubmatch(*v.Query.String); m != nil && c.have[m[1]].kind == "" {
				t.Errorf("%s: variable %s reads %s", file, v.Name, m[1])
			}
		}
	}
}

// TestRulesReadSeriesThatExist is for each rule.
func TestRulesReadSeriesThatExist(t *testing.T) {
	c := check{served(t), values(t)}
	for _, r := range rulesOf(t) {
		for _, wrong := range c.problems(r.Expr) {
			t.Errorf("%s%s: %s", r.Alert, r.Record, wrong)
		}
	}
}

// rule is a recording rule or an alert of deploy/monitoring/alerts.yaml.
type rule struct{ Record, Alert, Expr string }

func rulesOf(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile(folder + "/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 15 {
		t.Fatalf("%d rules are found", len(all))
	}
	return all
}
