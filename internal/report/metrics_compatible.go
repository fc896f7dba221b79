package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// compatibleMetrics have the names, types, labels and meaning that dashboards and alerts for cluster-autoscaler expect: all its families. Those that
// nothing here can ever change are there at zero. docs/reference/metrics.md says what each means here.
type compatibleMetrics struct {
	safe, nodesMax, cores, memory *gaugeOne
	unneeded, deleting, cooling   *gaugeOne
	nodes, groups, unschedulable  *gaugeMany
	coreLimits, memoryLimits      *gaugeMany
	unremovable, taints           *gaugeMany
	activity                      *gaugeMany

	function *prometheus.HistogramVec
	quantile *prometheus.SummaryVec

	scaledUp, scaledUpGPU     *prometheus.CounterVec
	failed, failedGPU         *prometheus.CounterVec
	failedNodes               *prometheus.CounterVec
	scaledDown, scaledDownGPU *prometheus.CounterVec
	lateRemoved               prometheus.Counter
	evicted, errors, skipped  *prometheus.CounterVec
	heterogeneity, latency    *prometheus.HistogramVec

	perGroup *perGroupMetrics // nil unless somebody asked for them
}

// perGroupMetrics are those that cluster-autoscaler has with --emit-per-nodegroup-metrics alone.
type perGroupMetrics struct {
	min, max, target, healthiness, backoff *prometheus.GaugeVec
}

const compatiblePrefix = "cluster_autoscaler_"

// gpuLabels tell machines with devices apart; all are empty for one without.
var gpuLabels = []string{"gpu_resource_name", "gpu_name", "dra_drivers"}

func newCompatible(r prometheus.Registerer) compatibleMetrics {
	one := func(name, help string) *gaugeOne { return &gaugeOne{gauge(r, compatiblePrefix+name, help)} }
	many := func(name, help, label string) *gaugeMany {
		return newGaugeMany(gauges(r, compatiblePrefix+name, help, label))
	}
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return counters(r, compatiblePrefix+name, help, labels...)
	}
	seconds := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: compatiblePrefix + name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(h)
		return h
	}
	c := compatibleMetrics{
		safe:          one("cluster_safe_to_autoscale", "1 while no more nodes are unready than tolerated; otherwise no node is cordoned, drained or deleted."),
		nodesMax:      one("max_nodes_count", "Most nodes that all groups may have together, or the cluster, whichever is less."),
		cores:         one("cluster_cpu_current_cores", "Cores of all nodes that are not on their way out."),
		memory:        one("cluster_memory_current_bytes", "Memory of all nodes that are not on their way out."),
		unneeded:      one("unneeded_nodes_count", "Nodes that could go when their time has come and nothing forbids it."),
		deleting:      one("pending_node_deletions", "Nodes that are on their way out."),
		cooling:       one("scale_down_in_cooldown", "1 while no node is removed because of a growth, a deletion or a failure a while ago."),
		nodes:         many("nodes_count", "Nodes by state, and machines that are no nodes yet.", "state"),
		groups:        many("node_groups_count", "Node groups.", "node_group_type"),
		unschedulable: many("unschedulable_pods_count", "Pending pods that the scheduler found no node for or has not judged yet.", "type"),
		coreLimits:    many("cpu_limits_cores", "Least and most cores of the cluster.", "direction"),
		memoryLimits:  many("memory_limits_bytes", "Least and most memory of the cluster.", "direction"),
		unremovable:   many("unremovable_nodes_count", "Nodes that stay, by cluster-autoscaler's name for the first reason.", "reason"),
		taints:        many("node_taints_count", "Taints of nodes by kind.", "type"),
		activity:      many("last_activity", "When a cycle last did this, in Unix seconds.", "activity"),

		function: seconds("function_duration_seconds", "How long parts of a cycle took, by the nearest function of cluster-autoscaler.",
			prometheus.ExponentialBuckets(0.01, 1.5, 30), "function"),
		quantile: prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Name: compatiblePrefix + "function_duration_quantile_seconds", Help: "How long parts of a cycle took, as a summary without quantiles.", MaxAge: time.Hour,
		}, []string{"function"}),

		scaledUp:      count("scaled_up_nodes_total", "Machines that the cloud accepted to add.", gpuLabels...),
		scaledUpGPU:   count("scaled_up_gpu_nodes_total", "Of these, machines with GPUs.", gpuLabels[:2]...),
		failed:        count("failed_scale_ups_total", "Growths and machines that failed.", append([]string{"reason"}, gpuLabels...)...),
		failedGPU:     count("failed_gpu_scale_ups_total", "Of these, growths and machines of groups with GPUs.", "reason", gpuLabels[0], gpuLabels[1]),
		failedNodes:   count("failed_node_creations_total", "Machines that failed to be added: of a growth that failed, all that it was for.", "reason"),
		scaledDown:    count("scaled_down_nodes_total", "Machines of nodes that the cloud accepted to delete.", append([]string{"reason"}, gpuLabels...)...),
		scaledDownGPU: count("scaled_down_gpu_nodes_total", "Of these, machines with GPUs.", "reason", gpuLabels[0], gpuLabels[1]),
		lateRemoved:   counter(r, compatiblePrefix+"old_unregistered_nodes_removed_count", "Machines without a node that the cloud accepted to delete."),
		evicted:       count("evicted_pods_total", "Pods that were asked to leave a node.", "eviction_result"),
		errors:        count("errors_total", "Cycles and actions that failed.", "type"),
		skipped:       count("skipped_scale_events_count", "Cycles in which a limit of the whole cluster kept a group from growing, or a node from going.", "direction", "reason"),

		heterogeneity: seconds("binpacking_heterogeneity", "Kinds of pods that a growth is for.", prometheus.ExponentialBuckets(1, 2, 6), "instance_type", "cpu_count", "namespace_count"),
		latency: seconds("node_removal_latency_seconds", "From a node's cordon to the deletion of its machine, or until it was given back.",
			prometheus.ExponentialBuckets(1, 1.5, 19), "deleted", "delay_reason"),
	}
	r.MustRegister(c.quantile)
	c.startAtZero()
	zeros(r)
	return c
}

// startAtZero begins the series whose labels are known before anything has happened.
func (c compatibleMetrics) startAtZero() {
	for _, kind := range []string{"cloudProviderError", "apiCallError", "internalError", "transientError", "configurationError", "nodeGroupDoesNotExistError", "unexpectedScaleDownStateError"} {
		c.errors.WithLabelValues(kind)
	}
	c.scaledUp.WithLabelValues("", "", "")
	for _, why := range []string{cloudProviderError, apiCallError, timedOut} {
		c.failed.WithLabelValues(why, "", "", "")
		c.failedNodes.WithLabelValues(why)
	}
	for _, why := range []string{"empty", "underutilized", "unready"} {
		c.scaledDown.WithLabelValues(why, "", "", "")
	}
	for _, result := range []string{"succeeded", "failed"} {
		c.evicted.WithLabelValues(result)
	}
	for _, direction := range []string{"up", "down"} {
		for _, limit := range []string{cpuLimit, memoryLimit} {
			c.skipped.WithLabelValues(direction, limit)
		}
	}
}

// zeros are families of cluster-autoscaler that nothing here changes: groups are made and deleted by people, each pod and each node is looked at in each
// cycle, and templates are not compared device by device.
func zeros(r prometheus.Registerer) {
	for _, name := range []string{"created_node_groups_total", "deleted_node_groups_total"} {
		counters(r, compatiblePrefix+name, "Node groups that were "+name[:7]+" automatically: always 0.", "group_type").WithLabelValues("")
	}
	for _, z := range []struct{ name, help string }{
		{"overflowing_controllers_count", "Controllers whose pods are too different to be told apart: always 0."},
		{"inconsistent_instances_migs_count", "Instance groups of Google Cloud whose lists disagree: always 0."},
		{"max_node_skip_eval_duration_seconds", "For how long a node was not looked at: always 0, each is looked at in each cycle."},
	} {
		gauge(r, compatiblePrefix+z.name, z.help)
	}
	gauges(r, compatiblePrefix+"skipped_pods_count", "Pods that a cycle had no time for: always 0.", "requestor").WithLabelValues("")
	mismatch := gauges(r, compatiblePrefix+"dra_node_template_resources_mismatch", "Devices of nodes that their group's template lacks: not measured, always 0.", "driver", "mismatch_type")
	for _, kind := range []string{"missing", "extra", "mismatch", "unknown"} {
		mismatch.WithLabelValues("", kind)
	}
}

// EmitPerGroup adds the families that have one series for each group (--emit-per-nodegroup-metrics). It is called once.
func (m *Metrics) EmitPerGroup() {
	family := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return gauges(m.registry, compatiblePrefix+name, help, append([]string{"node_group"}, labels...)...)
	}
	m.compatible.perGroup = &perGroupMetrics{
		min:         family("node_group_min_count", "Fewest machines the group may have."),
		max:         family("node_group_max_count", "Most machines the group may have."),
		target:      family("node_group_target_count", "Machines the cloud wants the group to have; absent while unknown."),
		healthiness: family("node_group_healthiness", "1 while the group was read and no more of its nodes are unready than tolerated."),
		backoff:     family("node_group_backoff_status", "1 while the group may not grow because of a failure.", "reason"),
	}
}

// Phases are how long the parts of one cycle took.
type Phases struct {
	Waited    time.Duration // before it, 0 for the first
	Refreshed time.Duration // reading the cloud
	Observed  time.Duration // that, and joining it with the cluster
	Decided   time.Duration
	Acted     time.Duration
	Took      time.Duration // all of it, reports included
}

// Timed observes the parts of a cycle under the names of cluster-autoscaler's functions that are nearest to them.
func (m *Metrics) Timed(p Phases) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range []struct {
		name string
		took time.Duration
	}{
		{"main", p.Took},
		{"loopWait", p.Waited},
		{"cloudProviderRefresh", p.Refreshed},
		{"updateClusterState", p.Observed},
		{"scaleUp", p.Decided},
		{"findUnneeded", p.Decided},
		{"scaleDown", p.Acted},
	} {
		m.compatible.function.WithLabelValues(f.name).Observe(f.took.Seconds())
		m.compatible.quantile.WithLabelValues(f.name).Observe(f.took.Seconds())
	}
}

// gaugeOne is a gauge without labels.
type gaugeOne struct{ prometheus.Gauge }

func (g *gaugeOne) set(n int) { g.Set(float64(n)) }

// gaugeMany is a gauge with one label that is set for all its values at once: one that is not set again goes to 0, as its series is there already.
type gaugeMany struct {
	vec   *prometheus.GaugeVec
	known map[string]prometheus.Gauge
	next  map[string]float64
}

func newGaugeMany(vec *prometheus.GaugeVec) *gaugeMany {
	return &gaugeMany{vec, map[string]prometheus.Gauge{}, map[string]float64{}}
}

// add adds to what the value will be.
func (g *gaugeMany) add(label string, n float64) { g.next[label] += n }

// publish sets what was added since the last time.
func (g *gaugeMany) publish() {
	for label := range g.next {
		if g.known[label] == nil {
			g.known[label] = g.vec.WithLabelValues(label)
		}
	}
	for label, series := range g.known {
		series.Set(g.next[label])
	}
	clear(g.next)
}
