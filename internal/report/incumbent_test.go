package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// families are metrics by name, without those of other programs than cluster-autoscaler.
type families map[string]*dto.MetricFamily

// recorded are the metrics of a cluster-autoscaler in some state, as testdata has them: written after its documentation, with cut buckets and without help.
func recorded(t *testing.T, name string) families {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "cluster-autoscaler-"+name+".prom"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ours are sluice's metrics under cluster-autoscaler's names.
func ours(t *testing.T, m *Metrics) families {
	t.Helper()
	gathered, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := families{}
	for _, f := range gathered {
		if strings.HasPrefix(f.GetName(), compatiblePrefix) {
			all[f.GetName()] = f
		}
	}
	return all
}

// shape is the name, the type and the names of the labels of a family.
func shape(f *dto.MetricFamily) string {
	labels := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			labels[l.GetName()] = true
		}
	}
	return fmt.Sprintf("%s %s %v", f.GetName(), f.GetType(), sortedKeys(labels))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// samples are the values of gauges and counters, by name and labels.
func (fs families) samples(without ...string) map[string]float64 {
	values := map[string]float64{}
	for name, f := range fs {
		if slices.Contains(without, strings.TrimPrefix(name, compatiblePrefix)) || f.GetType() != dto.MetricType_GAUGE && f.GetType() != dto.MetricType_COUNTER {
			continue
		}
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			values[fmt.Sprint(strings.TrimPrefix(name, compatiblePrefix), labels)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// sum adds the values of a family's series that have these labels, given as name and value in turn.
func (fs families) sum(name string, labels ...string) float64 {
	total := 0.
	for _, m := range fs[compatiblePrefix+name].GetMetric() {
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == labels[i] && l.GetValue() == labels[i+1] })
		}
		if matches {
			total += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return total
}

// calm is a cluster in which nothing is to be done, and the state in which cluster-autoscaler-calm.prom was written.
func calm() *world {
	w := newWorld()
	w.group("agents", 1, 3, 2)
	w.pod("busy", "3", "agents-0")
	w.pod("busier", "3", "agents-1")
	return w
}

// trouble is a cluster at its max, half of whose nodes are silent, with a pod that nothing holds and a group that failed to grow.
func trouble() *world {
	w := newWorld()
	w.group("agents", 0, 8, 8)
	for i := range 8 {
		w.pod(fmt.Sprintf("busy-%d", i), "3", fmt.Sprintf("agents-%d", i))
	}
	for i := range 4 {
		c := &w.objects.Nodes[i].Status.Conditions[0]
		c.Status, c.LastTransitionTime.Time = corev1.ConditionUnknown, noon.Add(-time.Minute)
	}
	w.pod("web-0", "2", "")
	w.kept.Groups = map[cluster.GroupID]memory.GroupMemory{"agents": {Backoff: memory.Backoff{Until: noon.Add(time.Minute), Code: "QuotaExceeded", Message: "4 of 4 cores are in use"}}}
	return w
}

// reported are metrics after these worlds, the last of which is the state that they show.
func reported(m *Metrics, worlds ...*world) *Metrics {
	m.EmitPerGroup()
	m.Timed(Phases{Took: time.Second})
	for _, w := range worlds {
		m.Report(w.decide(accepted()), time.Second)
	}
	return m
}

// gpus gives all machines of a world a GPU.
func gpus(w *world) *world {
	one := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	for _, g := range w.groups {
		for name, q := range one {
			g.Template.Status.Capacity[name], g.Template.Status.Allocatable[name] = q, q
		}
	}
	for _, n := range w.objects.Nodes {
		n.Status.Capacity, n.Status.Allocatable = n.Status.Capacity.DeepCopy(), n.Status.Allocatable.DeepCopy()
		for name, q := range one {
			n.Status.Capacity[name], n.Status.Allocatable[name] = q, q
		}
	}
	return w
}

// TestMetricsAreThoseOfClusterAutoscaler holds each of its families, their types and the names of their labels, once all that counts has happened.
func TestMetricsAreThoseOfClusterAutoscaler(t *testing.T) {
	leaving := newWorld()
	leaving.group("agents", 0, 3, 2)
	leaving.cordon("agents-1", "idle", time.Minute)
	m := reported(NewMetrics(), gpus(leaving), gpus(growing()))
	m.Report(gpus(growing()).decide(failed()), time.Second)
	m.Report(growing().decide(accepted()), time.Second)

	var want, got []string
	for _, f := range recorded(t, "all") {
		want = append(want, shape(f))
	}
	for _, f := range ours(t, m) {
		got = append(got, shape(f))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) != 42 {
		t.Errorf("%d families are recorded, want 42", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("families (-theirs +ours):\n%s", diff)
	}
	for sample, want := range map[string]float64{
		"scaled_up_gpu_nodes_totalmap[gpu_name:generic gpu_resource_name:nvidia.com/gpu]":                            1,
		"scaled_up_nodes_totalmap[dra_drivers: gpu_name:generic gpu_resource_name:nvidia.com/gpu]":                   1,
		"scaled_up_nodes_totalmap[dra_drivers: gpu_name: gpu_resource_name:]":                                        1,
		"failed_gpu_scale_ups_totalmap[gpu_name:generic gpu_resource_name:nvidia.com/gpu reason:cloudProviderError]": 1,
		"scaled_down_gpu_nodes_totalmap[gpu_name:generic gpu_resource_name:nvidia.com/gpu reason:empty]":             1,
		"scaled_down_nodes_totalmap[dra_drivers: gpu_name:generic gpu_resource_name:nvidia.com/gpu reason:empty]":    1,
		"failed_scale_ups_totalmap[dra_drivers: gpu_name:generic gpu_resource_name:nvidia.com/gpu reason:timeout]":   0,
		"failed_node_creations_totalmap[reason:cloudProviderError]":                                                  1,
		"node_group_target_countmap[node_group:agents]":                                                              2,
		"scaled_down_nodes_totalmap[dra_drivers: gpu_name: gpu_resource_name: reason:empty]":                         0,
		"node_taints_countmap[type:ToBeDeletedByClusterAutoscaler]":                                                  0,
		"unremovable_nodes_countmap[reason:NotUnderutilized]":                                                        2,
		"created_node_groups_totalmap[group_type:]":                                                                  0,
		"skipped_scale_events_countmap[direction:up reason:CpuResourceLimit]":                                        0,
		"dra_node_template_resources_mismatchmap[driver: mismatch_type:extra]":                                       0,
	} {
		if got := ours(t, m).samples()[sample]; got != want {
			t.Errorf("%s is %g, want %g", sample, got, want)
		}
	}
}

// TestSeriesStartAtZeroWhereClusterAutoscalersDo is for rules that look for an increase: a series that appears with its first value shows none.
func TestSeriesStartAtZeroWhereClusterAutoscalersDo(t *testing.T) {
	got := ours(t, NewMetrics()).samples()
	theirs := recorded(t, "start").samples()
	if len(theirs) < 30 {
		t.Fatalf("only %d series are recorded", len(theirs))
	}
	for sample := range theirs {
		if value, there := got[sample]; !there || value != 0 {
			t.Errorf("%s: there %t, at %g", sample, there, value)
		}
	}
}

// TestMetricsOfAGroupAreThereOnRequestAlone holds --emit-per-nodegroup-metrics.
func TestMetricsOfAGroupAreThereOnRequestAlone(t *testing.T) {
	m := NewMetrics()
	m.Report(calm().decide(accepted()), time.Second)
	for name := range ours(t, m) {
		if strings.HasPrefix(name, compatiblePrefix+"node_group_") {
			t.Errorf("%s is there though nobody asked for it", name)
		}
	}
}

// TestTheUsualAlertsFireAsTheyDoForClusterAutoscaler evaluates the rules that people have for cluster-autoscaler on its metrics and on ours, in the
// same states of a cluster, and holds that what both show of these states is the same.
func TestTheUsualAlertsFireAsTheyDoForClusterAutoscaler(t *testing.T) {
	soon, later := float64(noon.Unix())+30, float64(noon.Unix())+3600
	at := func(now float64) func(families) bool {
		return func(fs families) bool { return now-fs.sum("last_activity", "activity", "main") > 300 }
	}
	rules := []struct {
		expr  string
		fires func(families) bool
		calm  bool
		bad   bool // in trouble
	}{
		{"cluster_safe_to_autoscale != 1", func(fs families) bool { return fs.sum("cluster_safe_to_autoscale") != 1 }, false, true},
		{"sum(unschedulable_pods_count) > 0", func(fs families) bool { return fs.sum("unschedulable_pods_count") > 0 }, false, true},
		{"sum(nodes_count) / sum(max_nodes_count) * 100 > 75", func(fs families) bool { return fs.sum("nodes_count")/fs.sum("max_nodes_count")*100 > 75 }, false, true},
		{"sum(nodes_count) >= max_nodes_count", func(fs families) bool { return fs.sum("nodes_count") >= fs.sum("max_nodes_count") }, false, true},
		{"nodes_count{state=unready} > 0", func(fs families) bool { return fs.sum("nodes_count", "state", "unready") > 0 }, false, true},
		{"sum(errors_total) > 0", func(fs families) bool { return fs.sum("errors_total") > 0 }, false, true},
		{"sum(failed_scale_ups_total) > 0", func(fs families) bool { return fs.sum("failed_scale_ups_total") > 0 }, false, true},
		{"cluster_cpu_current_cores / cpu_limits_cores{direction=maximum} > 0.9", func(fs families) bool {
			return fs.sum("cluster_cpu_current_cores")/fs.sum("cpu_limits_cores", "direction", "maximum") > 0.9
		}, false, false},
		{"max(node_group_backoff_status) > 0", func(fs families) bool { return fs.sum("node_group_backoff_status") > 0 }, false, true},
		{"time() - last_activity{activity=main} > 300, soon", at(soon), false, false},
		{"time() - last_activity{activity=main} > 300, an hour later", at(later), true, true},
	}
	failing := NewMetrics()
	failing.Report(growing().decide(failed()), time.Second)
	for name, c := range map[string]struct {
		m    *Metrics
		want func(i int) bool
	}{
		"calm":    {reported(NewMetrics(), calm()), func(i int) bool { return rules[i].calm }},
		"trouble": {reported(failing, trouble()), func(i int) bool { return rules[i].bad }},
	} {
		theirs, ours := recorded(t, name), ours(t, c.m)
		for i, rule := range rules {
			if got := rule.fires(theirs); got != c.want(i) {
				t.Errorf("%s: %s fires %t on what is recorded of cluster-autoscaler", name, rule.expr, got)
			}
			if got := rule.fires(ours); got != c.want(i) {
				t.Errorf("%s: %s fires %t, want %t", name, rule.expr, got, c.want(i))
			}
		}
		// Reasons differ in their words.
		without := []string{"unremovable_nodes_count", "node_group_backoff_status", "node_taints_count"}
		if diff := cmp.Diff(theirs.samples(without...), ours.samples(without...)); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", name, diff)
		}
	}
}

// TestTheUsualDashboardsFindTheirSeries is for what the dashboards 3831 and 12623 of grafana.com and that of kubernetes-autoscaling-mixin select, and the
// mixin's alerts. docs/reference/metrics.md speaks of these.
func TestTheUsualDashboardsFindTheirSeries(t *testing.T) {
	selected := []string{
		"nodes_count state=ready", "nodes_count state=unready", "nodes_count state=notStarted", "max_nodes_count", "node_groups_count", "cluster_safe_to_autoscale",
		"unschedulable_pods_count", "unschedulable_pods_count type=unschedulable", "last_activity activity=scaleDown", "last_activity activity=scaleUp",
		"last_activity activity=autoscaling", "evicted_pods_total eviction_result=succeeded", "scaled_up_nodes_total", "scaled_down_nodes_total", "unneeded_nodes_count",
	}
	leads, standsBy := ours(t, reported(NewMetrics(), calm(), trouble())), ours(t, NewMetrics())
	for _, s := range selected {
		name, label, _ := strings.Cut(s, " ")
		key, value, _ := strings.Cut(label, "=")
		found := 0
		for _, m := range leads[compatiblePrefix+name].GetMetric() {
			if key == "" || slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == key && l.GetValue() == value }) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s selects no series", s)
		}
		// They sum over all replicas.
		if name != "last_activity" && standsBy.sum(name) != 0 {
			t.Errorf("%s is %g where a replica has never led: the sum over replicas is false", name, standsBy.sum(name))
		}
	}
	if n := len(standsBy[compatiblePrefix+"last_activity"].GetMetric()); n != 0 {
		t.Errorf("last_activity has %d series where a replica has never led: time() minus it is the age of 1970", n)
	}
}

// TestMostNodesAreThoseOfAllGroupsOrOfTheCluster holds the number that dashboards divide by.
func TestMostNodesAreThoseOfAllGroupsOrOfTheCluster(t *testing.T) {
	for limit, want := range map[int]float64{0: 8, 5: 5, 20: 8} {
		w := calm()
		w.group("spot", 0, 5, 0)
		w.policy.Growth.Max.Nodes = limit
		if got := ours(t, reported(NewMetrics(), w)).sum("max_nodes_count"); got != want {
			t.Errorf("--max-nodes-total=%d: max_nodes_count %g, want %g", limit, got, want)
		}
	}
}

// TestTheStatusIsAsClusterAutoscalerWritesIt compares every key and value of the status of one state but times and the cloud's own words.
func TestTheStatusIsAsClusterAutoscalerWritesIt(t *testing.T) {
	text, err := os.ReadFile("testdata/cluster-autoscaler-trouble.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	report(t, &Status{Client: client}, trouble())
	m := shown(t, client)
	theirs, ours := plain(t, string(text)), plain(t, m.Data["status"])
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("status (-theirs +ours):\n%s", diff)
	}
	var written struct{ Time string }
	if err := yaml.Unmarshal([]byte(m.Data["status"]), &written); err != nil || m.Annotations[updatedAnnotation] != written.Time {
		t.Errorf("the annotation says %q, the status %q (%v)", m.Annotations[updatedAnnotation], written.Time, err)
	}
	if _, err := time.Parse(updatedLayout, written.Time); err != nil {
		t.Error(err)
	}
}

// plain is a status without times, and with marks in the place of words that differ from cloud to cloud.
func plain(t *testing.T, text string) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var blank func(v any)
	blank = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				blank(one)
			}
		case map[string]any:
			for key, value := range v {
				switch key {
				case "time", "lastProbeTime", "lastTransitionTime", "errorCode", "errorMessage":
					if s, is := value.(string); !is || s == "" {
						t.Errorf("%s is %v, want a string", key, value)
					}
					v[key] = "some"
				default:
					blank(value)
				}
			}
		}
	}
	blank(doc)
	return doc
}
