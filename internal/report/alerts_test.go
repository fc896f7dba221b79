package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/plan/action"
)

// described is how a metric's description names itself and its labels.
var described = regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`)

// labelsOf are the labels of every metric, by name.
func labelsOf(m *Metrics) map[string][]string {
	m.WatchAPI(nil)
	all := make(chan *prometheus.Desc)
	go func() {
		m.registry.Describe(all)
		close(all)
	}()
	of := map[string][]string{}
	for d := range all {
		if found := described.FindStringSubmatch(d.String()); found != nil {
			of[found[1]] = strings.Split(found[2], ",")
		}
	}
	return of
}

var (
	metricOf   = regexp.MustCompile(`\b((?:sluice|cluster_autoscaler)_\w+)(?:\{([^}]*)\})?`)
	selectorOf = regexp.MustCompile(`(\w+)="([^"]*)"`)
	keptBy     = regexp.MustCompile(`by \(([\w, ]+)\) \(((?:sluice|cluster_autoscaler)_\w+)`)
)

// valuesOf are those of labels that alerts select by.
var valuesOf = map[string][]string{"outcome": {string(action.PodStuck)}, "halts": {"true", "false"}}

// TestAlertsReadMetricsThatExist holds the metrics and labels of deploy/monitoring/alerts.yaml to those of the program, and what is told to the labels that are kept.
func TestAlertsReadMetricsThatExist(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(deploy.Alerts, &file); err != nil {
		t.Fatal(err)
	}
	m := NewMetrics()
	m.Process("1.0.0", func() bool { return false })
	m.Journal(func() uint64 { return 0 }, func() int64 { return 0 })
	have := labelsOf(m)
	for _, r := range file.Groups[0].Rules {
		read := metricOf.FindAllStringSubmatch(r.Expr, -1)
		if len(read) == 0 || r.For == "" || r.Labels["severity"] == "" {
			t.Errorf("%s reads no metric, or says neither how long nor how severe", r.Alert)
		}
		for _, m := range read {
			labels, exists := have[m[1]]
			if !exists {
				t.Errorf("%s reads %s, which the program does not have", r.Alert, m[1])
			}
			for _, one := range selectorOf.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels, one[1]) || !slices.Contains(valuesOf[one[1]], one[2]) {
					t.Errorf("%s selects %s of %s, whose labels are %q", r.Alert, one[0], m[1], labels)
				}
			}
		}
		kept := map[string]bool{}
		for _, by := range keptBy.FindAllStringSubmatch(r.Expr, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				if kept[label] = true; !slices.Contains(have[by[2]], label) {
					t.Errorf("%s: %s has no label %s", r.Alert, by[2], label)
				}
			}
		}
		for _, said := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1) {
			if !kept[said[1]] {
				t.Errorf("%s tells label %s, which its expression does not keep", r.Alert, said[1])
			}
		}
	}
}
