package report

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Reasons and types of failures, as cluster-autoscaler has them.
const (
	cloudProviderError = "cloudProviderError"
	apiCallError       = "apiCallError"
	timedOut           = "timeout"
	cpuLimit           = "CpuResourceLimit"
	memoryLimit        = "MemoryResourceLimit"
)

// report counts what a completed cycle did, and shows the state that it saw.
func (c compatibleMetrics) report(entry journal.Entry, counted census, failures []failure) {
	for _, f := range failures {
		c.failure(f.reason(), f.Group, entry, f.machines)
	}
	for i, a := range entry.Plan.Actions {
		if i < len(entry.Results) {
			c.act(a, entry.Results[i], entry)
		}
	}
	c.state(entry, counted)
	c.pods(entry)
	c.verdicts(entry)
	c.eachGroup(entry, counted)
	at := float64(entry.Seen.Time.Unix())
	for _, activity := range []string{"main", "mainSuccessful", "autoscaling", "scaleUp"} {
		c.activity.vec.WithLabelValues(activity).Set(at)
	}
	if entry.Policy.Removal.Enabled {
		c.activity.vec.WithLabelValues("scaleDown").Set(at)
	}
}

// state shows nodes, groups and limits.
func (c compatibleMetrics) state(entry journal.Entry, counted census) {
	all, allowed := counted.all, entry.Policy
	_, halted := entry.Seen.Objects.Lacks.Halting()
	c.safe.Set(indicator(all.healthy(allowed.Health) && !halted))
	for state, n := range map[string]int{
		"ready": all.ready, "unready": all.unready, "notStarted": all.notStarted, "suspended": all.suspended,
		"unregistered": all.unregistered, "longUnregistered": all.longUnregistered,
	} {
		c.nodes.add(state, float64(n))
	}
	most := 0
	for _, g := range entry.Seen.Groups {
		most += g.Max
	}
	if limit := allowed.Growth.Max.Nodes; limit > 0 {
		most = min(most, limit)
	}
	c.nodesMax.set(most)
	c.groups.add("autoscaled", float64(len(entry.Seen.Groups)))
	c.groups.add("autoprovisioned", 0)
	c.coreLimits.add("minimum", float64(allowed.Removal.Keep.Cores))
	c.coreLimits.add("maximum", float64(allowed.Growth.Max.Cores))
	c.memoryLimits.add("minimum", float64(allowed.Removal.Keep.MemoryGiB<<30))
	c.memoryLimits.add("maximum", float64(allowed.Growth.Max.MemoryGiB<<30))
	c.cooling.Set(indicator(entry.After.CoolsDown(allowed.Removal, entry.Seen.Time)))
	milli, bytes := int64(0), int64(0)
	for _, n := range entry.Seen.Nodes {
		for _, t := range n.Object.Spec.Taints {
			c.taints.add(allowed.Growth.Taints.Kind(t), 1)
		}
		_, leaves := cluster.RemovalOf(n.Object)
		_, taken := cluster.IncumbentSince(n.Object)
		if leaves || taken || n.Parked.UID != "" {
			continue
		}
		milli += n.Object.Status.Capacity.Cpu().MilliValue()
		bytes += n.Object.Status.Capacity.Memory().Value()
	}
	c.cores.Set(float64(milli) / 1000)
	c.memory.Set(float64(bytes))
	for _, g := range []*gaugeMany{c.nodes, c.groups, c.coreLimits, c.memoryLimits, c.taints} {
		g.publish()
	}
}

// pods counts those that wait for a node.
func (c compatibleMetrics) pods(entry journal.Entry) {
	c.unschedulable.add("unschedulable", 0)
	c.unschedulable.add("scheduler_unprocessed", 0)
	for _, p := range entry.Seen.Pending {
		switch {
		case p.Unschedulable():
			c.unschedulable.add("unschedulable", 1)
		case len(p.Spec.SchedulingGates) == 0:
			c.unschedulable.add("scheduler_unprocessed", 1)
		}
	}
	c.unschedulable.publish()
}

// verdicts counts nodes by what becomes of them, and whether a limit of the whole cluster stood in the way.
func (c compatibleMetrics) verdicts(entry journal.Entry) {
	unneeded, leaving := 0, 0
	var skipped struct{ upCPU, upMemory, downCPU, downMemory bool }
	for _, v := range entry.Plan.Verdicts {
		for _, why := range v.Because {
			switch why.Code {
			case reason.ClusterCoresLimit:
				skipped.upCPU = true
			case reason.ClusterMemoryLimit:
				skipped.upMemory = true
			case reason.ClusterMinimum:
				skipped.downCPU = skipped.downCPU || why.Facts["resource"] == "cores"
				skipped.downMemory = skipped.downMemory || why.Facts["resource"] == "GiB of memory"
			}
		}
		if v.Subject.Kind != reason.KindNode {
			continue
		}
		switch v.Outcome {
		case action.NodeIdle:
			unneeded++
			c.unremovable.add(unremovable(v.Because), 1)
		case action.NodeKeep, action.NodeHold:
			c.unremovable.add(unremovable(v.Because), 1)
		case action.NodeCordoned, action.NodeDraining, action.NodeDeleting, action.NodeParking, action.NodeGone:
			leaving++
		}
	}
	c.unneeded.set(unneeded)
	c.deleting.set(leaving)
	c.unremovable.publish()
	for _, s := range []struct {
		direction, limit string
		happened         bool
	}{{"up", cpuLimit, skipped.upCPU}, {"up", memoryLimit, skipped.upMemory}, {"down", cpuLimit, skipped.downCPU}, {"down", memoryLimit, skipped.downMemory}} {
		if s.happened {
			c.skipped.WithLabelValues(s.direction, s.limit).Inc()
		}
	}
}

// eachGroup shows every group, where somebody asked for that.
func (c compatibleMetrics) eachGroup(entry journal.Entry, counted census) {
	m := c.perGroup
	if m == nil {
		return
	}
	m.min.Reset()
	m.max.Reset()
	m.target.Reset()
	m.healthiness.Reset()
	m.backoff.Reset()
	for _, g := range entry.Seen.Groups {
		id, of := string(g.ID), counted.groups[g.ID]
		m.min.WithLabelValues(id).Set(float64(g.Min))
		m.max.WithLabelValues(id).Set(float64(g.Max))
		if g.Capacity >= 0 {
			m.target.WithLabelValues(id).Set(float64(g.Capacity))
		}
		m.healthiness.WithLabelValues(id).Set(indicator(of.well(entry.Policy.Health)))
		backoff, resting := find(of.verdict.Because, reason.GroupBackoff)
		m.backoff.WithLabelValues(id, backoff.Facts["code"]).Set(indicator(resting))
	}
}

// unremovable is cluster-autoscaler's name for why a node stays: of the first reason that it has one for.
func unremovable(because []reason.Reason) string {
	for _, why := range because {
		if name, named := unremovableNames[why.Code]; named {
			return name
		}
	}
	return "NotUnneededOtherReason"
}

// unremovableNames are cluster-autoscaler's names of reasons, as docs/reference/blocking.md has them; a reason that it does not know counts as
// NotUnneededOtherReason.
var unremovableNames = map[reason.Code]string{
	reason.NodeUnmanaged:        "NotAutoscaled",
	reason.NodeScaleDownOff:     "ScaleDownDisabledAnnotation",
	reason.GroupAtMin:           "NodeGroupMinSizeReached",
	reason.GroupBelowMin:        "NodeGroupMinSizeReached",
	reason.GroupListsFewer:      "NodeGroupMinSizeReached",
	reason.GroupAwaits:          "NodeGroupMinSizeReached",
	reason.NodeUnrepaired:       "NodeGroupMinSizeReached",
	reason.ClusterMinimum:       "MinimalResourceLimitExceeded",
	reason.RemovalBudget:        "NodeGroupMaxDeletionCountReached",
	reason.NodeIdle:             "NotUnneededLongEnough",
	reason.NodeUnderused:        "NotUnneededLongEnough",
	reason.NodeNotReady:         "NotUnreadyLongEnough",
	reason.NodeUnreadyStays:     "ScaleDownUnreadyDisabled",
	reason.NodeBusy:             "NotUnderutilized",
	reason.NodeCounted:          "NotUnneededOtherReason",
	reason.NodeReceives:         "NotUnneededOtherReason",
	reason.PodNowhereToGo:       "NoPlaceToMovePods",
	reason.PodBare:              "BlockedByPod",
	reason.PodCustomOwner:       "BlockedByPod",
	reason.PodControllerMissing: "BlockedByPod",
	reason.PodFewReplicas:       "BlockedByPod",
	reason.PodNotSafeToEvict:    "BlockedByPod",
	reason.PodLocalStorage:      "BlockedByPod",
	reason.PodOfSystem:          "BlockedByPod",
	reason.PodBudget:            "BlockedByPod",
	reason.PodTwoBudgets:        "BlockedByPod",
	reason.NodeMachineMissing:   "NoNodeInfo",
	reason.GroupUnreadable:      "UnexpectedError",
	reason.GroupIncomplete:      "UnexpectedError",
	reason.NodeRanDry:           "CurrentlyBeingDeleted",
	reason.NodeCordoned:         "CurrentlyBeingDeleted",
	reason.NodeDraining:         "CurrentlyBeingDeleted",
	reason.RemovalQueued:        "CurrentlyBeingDeleted",
}
