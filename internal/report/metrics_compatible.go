package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/reason"
)

// compatibleMetrics have the names, labels and meaning that dashboards and alerts for cluster-autoscaler expect. Those that sluice
// has no measure for are left out rather than filled with zeros.
type compatibleMetrics struct {
	safe, nodesMax, cores, memory prometheus.Gauge
	unneeded, deleting            prometheus.Gauge
	nodes, groups, unschedulable  *prometheus.GaugeVec
	activity                      *prometheus.GaugeVec
	scaledUp, lateRemoved         prometheus.Counter
	scaledDown, failed            *prometheus.CounterVec
	evicted, errors               *prometheus.CounterVec
}

func newCompatible(r prometheus.Registerer) compatibleMetrics {
	const prefix = "cluster_autoscaler_"
	c := compatibleMetrics{
		safe:          gauge(r, prefix+"cluster_safe_to_autoscale", "1 while no more nodes are unready than tolerated; otherwise no node is cordoned, drained or deleted."),
		nodesMax:      gauge(r, prefix+"max_nodes_count", "Most nodes that the cluster may have, 0 for no limit."),
		cores:         gauge(r, prefix+"cluster_cpu_current_cores", "Cores of all nodes."),
		memory:        gauge(r, prefix+"cluster_memory_current_bytes", "Memory of all nodes."),
		unneeded:      gauge(r, prefix+"unneeded_nodes_count", "Nodes that could go when their time has come and nothing forbids it."),
		deleting:      gauge(r, prefix+"pending_node_deletions", "Nodes that are on their way out."),
		nodes:         gauges(r, prefix+"nodes_count", "Nodes by state, and machines that are no nodes yet.", "state"),
		groups:        gauges(r, prefix+"node_groups_count", "Node groups.", "node_group_type"),
		unschedulable: gauges(r, prefix+"unschedulable_pods_count", "Pending pods that the scheduler found no node for or has not judged yet.", "type"),
		activity:      gauges(r, prefix+"last_activity", "When a completed cycle last did this, in Unix seconds.", "activity"),
		scaledUp:      counter(r, prefix+"scaled_up_nodes_total", "Machines that the cloud accepted to add."),
		lateRemoved:   counter(r, prefix+"old_unregistered_nodes_removed_count", "Machines without a node that the cloud accepted to delete."),
		scaledDown:    counters(r, prefix+"scaled_down_nodes_total", "Machines of nodes that the cloud accepted to delete.", "reason"),
		failed:        counters(r, prefix+"failed_scale_ups_total", "Growths and machines that failed, by the kind of failure.", "reason"),
		evicted:       counters(r, prefix+"evicted_pods_total", "Pods that were asked to leave a node.", "eviction_result"),
		errors:        counters(r, prefix+"errors_total", "Actions that failed.", "type"),
	}
	for _, why := range []string{"empty", "underutilized", "unready"} {
		c.scaledDown.WithLabelValues(why)
	}
	for _, result := range []string{"succeeded", "failed"} {
		c.evicted.WithLabelValues(result)
	}
	for _, kind := range []string{"cloudProviderError", "apiCallError"} {
		c.errors.WithLabelValues(kind)
	}
	return c
}

func (c compatibleMetrics) report(entry journal.Entry) {
	for _, f := range newFailures(entry) {
		c.failed.WithLabelValues(f.Kind).Inc()
	}
	for i, a := range entry.Plan.Actions {
		if i < len(entry.Results) {
			c.reportAction(a, entry.Results[i], entry)
		}
	}
	c.reportState(entry)
	at := float64(entry.Seen.Time.Unix())
	activities := []string{"main", "mainSuccessful", "autoscaling", "scaleUp"}
	if entry.Policy.Removal.Enabled {
		activities = append(activities, "scaleDown")
	}
	for _, activity := range activities {
		c.activity.WithLabelValues(activity).Set(at)
	}
}

func (c compatibleMetrics) reportAction(action plan.Action, r plan.Result, entry journal.Entry) {
	accepted, failed := r.Status == plan.Accepted, r.Status == plan.Failed
	switch {
	case failed && r.Kind == "kubernetes":
		c.errors.WithLabelValues("apiCallError").Inc()
	case failed:
		c.errors.WithLabelValues("cloudProviderError").Inc()
	}
	switch a := action.(type) {
	case plan.SetCapacity:
		if accepted || r.Status == plan.Asked {
			c.scaledUp.Add(float64(max(0, a.To-a.From)))
		}
		if failed {
			c.failed.WithLabelValues(r.Kind).Inc()
		}
	case plan.Evict:
		if accepted {
			c.evicted.WithLabelValues("succeeded").Inc()
		}
		if failed {
			c.evicted.WithLabelValues("failed").Inc()
		}
	case plan.DeleteInstances:
		if !accepted {
			return
		}
		for _, l := range a.Machines {
			if l.Node == "" {
				c.lateRemoved.Inc()
				continue
			}
			c.scaledDown.WithLabelValues(removalReason(entry.Seen.Node(l.Node))).Inc()
		}
	}
}

// removalReason is cluster-autoscaler's word for why a node leaves.
func removalReason(n *cluster.Node) string {
	if n != nil {
		switch removal, _ := cluster.RemovalOf(n.Object); removal.Why {
		case "underused", cluster.RanDry:
			return "underutilized"
		case "unready":
			return "unready"
		}
	}
	return "empty"
}

func (c compatibleMetrics) reportState(entry journal.Entry) {
	all := count(entry, "")
	c.safe.Set(indicator(all.healthy(entry.Policy.Health)))
	c.nodesMax.Set(float64(entry.Policy.Growth.MaxNodes))
	for state, n := range map[string]int{
		"ready": all.ready, "unready": all.unready, "notStarted": all.notStarted, "suspended": all.suspended,
		"unregistered": all.unregistered, "longUnregistered": all.longUnregistered,
	} {
		c.nodes.WithLabelValues(state).Set(float64(n))
	}
	c.groups.WithLabelValues("autoscaled").Set(float64(len(entry.Seen.Groups)))
	var cores, memory float64
	for _, n := range entry.Seen.Nodes {
		if n.Parked.UID != "" {
			continue
		}
		cores += n.Object.Status.Capacity.Cpu().AsApproximateFloat64()
		memory += n.Object.Status.Capacity.Memory().AsApproximateFloat64()
	}
	c.cores.Set(cores)
	c.memory.Set(memory)
	judged, unjudged := 0, 0
	for _, p := range entry.Seen.Pending {
		switch {
		case p.Unschedulable():
			judged++
		case len(p.Spec.SchedulingGates) == 0:
			unjudged++
		}
	}
	c.unschedulable.WithLabelValues("unschedulable").Set(float64(judged))
	c.unschedulable.WithLabelValues("scheduler_unprocessed").Set(float64(unjudged))
	unneeded, leaving := 0, 0
	for _, v := range entry.Plan.Verdicts {
		if v.Subject.Kind != reason.KindNode {
			continue
		}
		switch v.Outcome {
		case plan.NodeIdle:
			unneeded++
		case plan.NodeCordoned, plan.NodeDraining, plan.NodeDeleting, plan.NodeParking, plan.NodeGone:
			leaving++
		}
	}
	c.unneeded.Set(float64(unneeded))
	c.deleting.Set(float64(leaving))
}
