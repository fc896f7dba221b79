package report

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
)

// scrape are the samples that the handler serves, without those of the Go runtime and the process.
func scrape(t *testing.T, m *Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics: %d %s", w.Code, w.Body)
	}
	samples := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			samples[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return samples
}

// idle is a group of two nodes without pods.
func idle() *world {
	w := newWorld()
	w.group("agents", 0, 3, 2)
	return w
}

func TestMetricsCountWhatCyclesDid(t *testing.T) {
	leaving := newWorld()
	leaving.group("agents", 0, 3, 2)
	leaving.cordon("agents-1", "underused", time.Minute)
	leaving.machine(leaving.groups[0], 9)
	leaving.groups[0].Capacity = 3
	late := func(noticed time.Time) *world {
		w := newWorld()
		w.group("agents", 0, 3, 1)
		n := w.node("agents-0")
		n.CreationTimestamp.Time = noon.Add(-16 * time.Minute)
		n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, n.CreationTimestamp
		w.kept.Groups = map[cluster.GroupID]memory.GroupMemory{"agents": {Noticed: noticed}}
		return w
	}
	draining := newWorld()
	draining.group("agents", 0, 3, 2)
	draining.pod("busy", "1", "agents-0")
	draining.pod("small", "1", "agents-1")
	draining.cordon("agents-1", "underused", time.Minute)

	kept := idle()
	kept.policy.Removal.Enabled = false

	for name, c := range map[string]struct {
		world  *world
		result memory.Result
		want   map[string]string
	}{
		"a growth": {growing(), accepted(), map[string]string{
			`sluice_cycles_total`:                                                                       "1",
			`sluice_cycle_duration_seconds_sum`:                                                         "0.25",
			`sluice_actions_total{action="SetCapacity",status="accepted"}`:                              "1",
			`sluice_actions_total{action="SetCapacity",status="failed"}`:                                "0",
			`sluice_growth_latency_seconds_sum`:                                                         "4.5",
			`sluice_growth_latency_seconds_count`:                                                       "1",
			`sluice_pending_pods{outcome="grows"}`:                                                      "1",
			`sluice_pending_pods{outcome="stuck"}`:                                                      "1",
			`sluice_pending_pods{outcome="waiting"}`:                                                    "0",
			`sluice_growth_failures_total{kind="quota"}`:                                                "0",
			`sluice_verdicts{kind="node",outcome="keep"}`:                                               "2",
			`sluice_group_capacity{group="agents"}`:                                                     "2",
			`sluice_group_min{group="agents"}`:                                                          "0",
			`sluice_group_max{group="agents"}`:                                                          "3",
			`sluice_group_nodes{group="agents"}`:                                                        "2",
			`sluice_group_backoff{group="agents"}`:                                                      "0",
			`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""}`: "1",
			`cluster_autoscaler_nodes_count{state="ready"}`:                                             "2",
			`cluster_autoscaler_unschedulable_pods_count{type="unschedulable"}`:                         "2",
			`cluster_autoscaler_cluster_safe_to_autoscale`:                                              "1",
			`cluster_autoscaler_cluster_cpu_current_cores`:                                              "8",
			`cluster_autoscaler_last_activity{activity="main"}`:                                         "1.7723664e+09",
		}},
		"a growth that failed": {growing(), failed(), map[string]string{
			`sluice_actions_total{action="SetCapacity",status="failed"}`:                                                             "1",
			`sluice_growth_latency_seconds_count`:                                                                                    "0",
			`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""}`:                              "0",
			`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="cloudProviderError"}`: "1",
			`cluster_autoscaler_errors_total{type="cloudProviderError"}`:                                                             "1",
		}},
		"a growth that the guard refused": {growing(), refused(), map[string]string{
			`sluice_guard_refusals_total{property="S-02"}`:                                              "1",
			`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""}`: "0",
		}},
		"machines deleted": {leaving, accepted(), map[string]string{
			`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="underutilized"}`: "1",
			`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="empty"}`:         "0",
			`cluster_autoscaler_old_unregistered_nodes_removed_count`:                                                            "1",
			`cluster_autoscaler_nodes_count{state="longUnregistered"}`:                                                           "1",
			`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="timeout"}`:        "1",
			`cluster_autoscaler_unneeded_nodes_count`:                                                                            "1",
			`cluster_autoscaler_pending_node_deletions`:                                                                          "1",
		}},
		"a node is not Ready in its time": {late(noon.Add(-time.Hour)), accepted(), map[string]string{
			`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="timeout"}`: "1",
		}},
		"a node was not Ready in its time, and that is known": {late(noon.Add(-time.Minute)), accepted(), map[string]string{
			`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="timeout"}`: "0",
		}},
		"what is watched": {draining, accepted(), map[string]string{
			`sluice_oldest_removal_seconds`:                   "60",
			`sluice_oldest_pending_pod_seconds`:               "0",
			`sluice_group_unreadable{group="agents"}`:         "0",
			`sluice_group_read_age_seconds{group="agents"}`:   "2",
			`sluice_reasons{code="NodeDraining",kind="node"}`: "1",
			`sluice_reasons{code="NodeBusy",kind="node"}`:     "",
		}},
		"idle nodes that wait for their time": {idle(), accepted(), map[string]string{
			`sluice_idle_nodes{code="NodeIdle",group="agents"}`: "2",
			`sluice_verdicts{kind="node",outcome="idle"}`:       "2",
		}},
		"idle nodes that stay while removal is switched off": {kept, accepted(), map[string]string{
			`sluice_idle_nodes{code="RemovalDisabled",group="agents"}`: "2",
			`sluice_idle_nodes{code="NodeIdle",group="agents"}`:        "",
		}},
		"a pod that waits": {growing(), accepted(), map[string]string{
			`sluice_oldest_pending_pod_seconds`:              "60",
			`sluice_reasons{code="NeedsMachine",kind="pod"}`: "1",
		}},
		"a pod evicted": {draining, accepted(), map[string]string{
			`cluster_autoscaler_evicted_pods_total{eviction_result="succeeded"}`: "1",
			`cluster_autoscaler_pending_node_deletions`:                          "1",
		}},
		"a pod not evicted": {draining, memory.Result{Status: memory.Failed, Kind: "kubernetes"}, map[string]string{
			`cluster_autoscaler_evicted_pods_total{eviction_result="failed"}`: "1",
			`cluster_autoscaler_errors_total{type="apiCallError"}`:            "1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMetrics()
			m.Report(c.world.decide(c.result), 250*time.Millisecond)
			got := scrape(t, m)
			for sample, want := range c.want {
				if got[sample] != want {
					t.Errorf("%s is %q, want %s", sample, got[sample], want)
				}
			}
		})
	}
}

func TestAFailureIsCountedOnce(t *testing.T) {
	m := NewMetrics()
	w := newWorld()
	g := w.group("agents", 0, 3, 0)
	g.Failure = &cluster.Failure{At: noon.Add(-time.Second), Kind: "allocation", Code: "AllocationFailed"}
	for range 3 {
		e := w.decide(accepted())
		m.Report(e, 0)
		_, w.kept = plan.Decide(e.Seen, e.Policy, e.Before)
	}
	if got := scrape(t, m)[`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="AllocationFailed"}`]; got != "1" {
		t.Errorf("a failure seen by three cycles counts %s times, want 1", got)
	}
	if got := scrape(t, m)[`sluice_group_backoff{group="agents"}`]; got != "1" {
		t.Errorf("sluice_group_backoff is %s, want 1", got)
	}
}

func TestAGroupThatIsGoneLeavesNoSeries(t *testing.T) {
	m := NewMetrics()
	w := newWorld()
	w.group("agents", 0, 3, 1)
	m.Report(w.decide(accepted()), 0)
	if !strings.Contains(fmt.Sprint(scrape(t, m)), `sluice_idle_nodes{code="NodeIdle",group="agents"}`) {
		t.Error("the group's idle node has no series while it is there")
	}
	m.Report(newWorld().decide(accepted()), 0)
	for sample := range scrape(t, m) {
		if strings.Contains(sample, "agents") {
			t.Errorf("%s is still there", sample)
		}
	}
}

func TestNoSampleNamesAPodANodeOrAMachine(t *testing.T) {
	m := NewMetrics()
	w := growing()
	w.machine(w.groups[0], 77)
	m.Report(w.decide(failed()), 0)
	for sample := range scrape(t, m) {
		for _, name := range []string{"web-0", "huge-0", "busy", "agents-0", "agents-1", "77"} {
			if strings.Contains(sample, `"`+name) || strings.Contains(sample, "/"+name) {
				t.Errorf("%s names %s", sample, name)
			}
		}
	}
}

func TestALatencyIsTheYoungestPods(t *testing.T) {
	w := growing()
	w.pod("web-1", "2", "")
	w.judgedAt(noon.Add(-time.Minute), len(w.objects.Pods)-1)
	if got := growthLatencies(w.decide(accepted())); len(got) != 1 || got[0] != 4500*time.Millisecond {
		t.Errorf("latencies %v, want [4.5s]", got)
	}
}

func TestALatencyIsNeverBelowZero(t *testing.T) {
	w := growing()
	for i := range w.objects.Pods {
		w.judgedAt(noon.Add(time.Second), i) // the API server's clock is ahead
	}
	if got := growthLatencies(w.decide(accepted())); len(got) != 1 || got[0] != 0 {
		t.Errorf("latencies %v, want [0s]", got)
	}
}

func TestHealthIsWhatTheDecisionSaysItIs(t *testing.T) {
	w := newWorld()
	w.group("agents", 0, 9, 8)
	for i := range 4 {
		n := w.objects.Nodes[i]
		n.Status.Conditions[0].Status = "Unknown"
		n.Status.Conditions[0].LastTransitionTime.Time = noon.Add(-time.Minute)
	}
	for _, tolerated := range []int{3, 4} {
		w.policy.Health.UnreadyCount = tolerated
		e := w.decide(accepted())
		stopped := false
		for _, v := range e.Plan.Verdicts {
			_, unhealthy := find(v.Because, "UnhealthyCluster")
			stopped = stopped || unhealthy
		}
		if got := count(e).all.healthy(w.policy.Health); got == stopped {
			t.Errorf("with %d unready nodes tolerated: healthy %t, but the decision stopped removals: %t", tolerated, got, stopped)
		}
	}
}

// TestNodesWhoseMachinesAreGoneAreNotUnready is for the time between the end of a machine and the deletion of its Node object: sluice's own scale-down is no
// sickness of the cluster.
func TestNodesWhoseMachinesAreGoneAreNotUnready(t *testing.T) {
	w := newWorld()
	w.group("agents", 0, 9, 8)
	w.policy.Health.UnreadyCount = 3
	w.ledger = clustertest.Gone("agents", w.groups[0].Instances[0].UID, w.groups[0].Instances[1].UID, w.groups[0].Instances[2].UID, w.groups[0].Instances[3].UID)
	for i := range 4 {
		name := fmt.Sprintf("agents-%d", i)
		w.cordon(name, "idle", time.Minute)
		clustertest.Silent(noon.Add(-time.Minute))(w.node(name))
	}
	w.groups[0].Instances, w.groups[0].Capacity = w.groups[0].Instances[4:], 4
	m := NewMetrics()
	m.Report(w.decide(accepted()), 0)
	for sample, want := range map[string]string{
		`sluice_verdicts{kind="node",outcome="gone"}`:     "4",
		`cluster_autoscaler_nodes_count{state="unready"}`: "0",
		`cluster_autoscaler_nodes_count{state="ready"}`:   "4",
		`cluster_autoscaler_cluster_safe_to_autoscale`:    "1",
	} {
		if got := scrape(t, m)[sample]; got != want {
			t.Errorf("%s is %q, want %s", sample, got, want)
		}
	}
}

func TestAFailedCycleIsCounted(t *testing.T) {
	m := NewMetrics()
	m.CycleFailed(noon, true)
	m.CycleFailed(noon.Add(time.Minute), false)
	got := scrape(t, m)
	for sample, want := range map[string]string{
		`cluster_autoscaler_errors_total{type="cloudProviderError"}`:  "1",
		`cluster_autoscaler_errors_total{type="apiCallError"}`:        "1",
		`cluster_autoscaler_last_activity{activity="main"}`:           "1.77236646e+09",
		`cluster_autoscaler_last_activity{activity="mainSuccessful"}`: "",
	} {
		if got[sample] != want {
			t.Errorf("%s is %q, want %q", sample, got[sample], want)
		}
	}
	if got["sluice_cycle_failures_total"] != "2" || got["sluice_cycles_total"] != "0" {
		t.Errorf("%s failures, %s cycles", got["sluice_cycle_failures_total"], got["sluice_cycles_total"])
	}
}
