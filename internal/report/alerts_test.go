package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/join"
)

// everything are metrics in which each family of the program has a series, and their families. It fails where one has none.
func everything(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	m := NewMetrics()
	m.Process("1.0.0", func() bool { return true })
	m.Journal(func() uint64 { return 0 }, func() int64 { return 0 })
	m.WatchAPI(func() []APIClass {
		return []APIClass{{Class: "reads", Region: "westeurope", Answered: map[string]int{"200": 1}, Held: map[string]int{"share": 1}, Limited: true}}
	})
	stopped := idle()
	stopped.objects.Lacks = cluster.Lacks{cluster.PatchNode}
	stopped.groups[0].OtherActors = []cluster.Actor{{Kind: cluster.HandRepairs}}
	stopped.groups[0].PriceUSDPerHour = 1
	reported(m, growing(), stopped)
	m.Report(growing().decide(refused()), 0)
	m.Report(growing().decide(failed()), 0)
	m.Report(stopped.decide(accepted()), 0)
	door := theDoor(t)
	gathered, err := prometheus.Gatherers{m.registry, door}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range gathered {
		all[f.GetName()] = f
	}
	described := make(chan *prometheus.Desc)
	go func() {
		m.registry.Describe(described)
		door.Describe(described)
		close(described)
	}()
	name := regexp.MustCompile(`fqName: "(sluice_\w+)"`)
	for d := range described {
		if found := name.FindStringSubmatch(d.String()); len(found) > 0 && all[found[1]] == nil {
			t.Errorf("%s has no series here: nothing holds its name, its labels and its help", found[1])
		}
	}
	return all
}

// theDoor has the metrics that the program has with --join-address, and sluice join serve.
func theDoor(t *testing.T) *prometheus.Registry {
	t.Helper()
	ca, _, err := join.NewIdentity(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	door, err := join.New(join.Options{Distribution: join.K3s, Groups: []string{"farm"}, Server: "https://10.10.0.4:6443", CA: ca, Key: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(door.Collectors()...)
	return r
}

// TestAlertsAndDashboardsReadMetricsThatExist is for a name that changes. Labels and their values are held by hack/monitoring, which can read PromQL.
func TestAlertsAndDashboardsReadMetricsThatExist(t *testing.T) {
	files, err := filepath.Glob("../../deploy/monitoring/*")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files are found: %v", len(files), err)
	}
	have := everything(t)
	recorded := regexp.MustCompile(`\w+(:\w+)+`) // series that rules make
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read := regexp.MustCompile(`\b(?:sluice|cluster_autoscaler)_\w+`).FindAllString(recorded.ReplaceAllString(string(text), ""), -1)
		if len(read) < 5 {
			t.Errorf("%s reads %d metrics", file, len(read))
		}
		for _, name := range read {
			if have[name] == nil && have[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")] == nil {
				t.Errorf("%s reads %s, which the program does not have", file, name)
			}
		}
	}
}

// TestOwnMetricsKeepPrometheusConventions leaves out cluster-autoscaler's names, which are as they are.
func TestOwnMetricsKeepPrometheusConventions(t *testing.T) {
	var own []*dto.MetricFamily
	for name, f := range everything(t) {
		if strings.HasPrefix(name, "sluice_") {
			own = append(own, f)
		}
		if name != strings.ToLower(name) {
			t.Errorf("%s is not in lower case", name)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(own).Lint()
	if err != nil || len(own) < 30 {
		t.Fatalf("%d families: %v", len(own), err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range own {
		if help := f.GetHelp(); !strings.HasSuffix(help, ".") || slices.Contains([]string{"", "."}, help) {
			t.Errorf("%s: its help is no sentence: %q", f.GetName(), help)
		}
	}
}
