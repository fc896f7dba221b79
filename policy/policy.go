// Package policy says what the operator allows: limits, delays and thresholds, with the defaults of cluster-autoscaler where
// it has the same setting. It holds values only; flags and files are read elsewhere.
//
// The table of package setting has a row for each field of [Policy]. Default values, the keys of a journal and most of what [Policy.Check]
// refuses are made from it.
package policy

import "sluice.dev/sluice/cluster"

// Policy is everything that decisions read beside the snapshot. Build one with [Default] and change it before its first use.
type Policy struct {
	Growth  Growth
	Removal Removal
	Health  Health

	// ClusterID is the cluster that the node groups belong to, as [cluster.Objects.ID] has it; "": whichever it is that is watched. Together
	// with the resource group that the cloud's configuration names it is the pair that sluice acts on (S-22).
	ClusterID string

	// Installation is how this sluice calls itself beside others in the same cluster, "" when nothing tells them apart. What it puts on nodes
	// bears this name; what bears it on a node of no group is taken back. It is the lease by which replicas choose the one that acts, as
	// "namespace/name": two that have the same name never act at once. Without an election it is the process's own identity.
	Installation string
}

// Health says when so many nodes are not Ready that the trouble is probably not theirs, and nothing is removed.
type Health struct {
	UnreadyCount   int     // always tolerated
	UnreadyPercent float64 // of all nodes, tolerated too
}

// Tolerates says whether so many of all nodes may be not Ready, those that are starting left out.
func (h Health) Tolerates(unready, nodes int) bool {
	return unready <= h.UnreadyCount || float64(unready)*100 <= h.UnreadyPercent*float64(nodes)
}

// own lets what a group says itself win over a flag.
func own[V any](flag *V, group *V) {
	if group != nil {
		*flag = *group
	}
}

// Of is what holds for a group with options of its own.
func (r Removal) Of(o cluster.Options) Removal {
	own(&r.Utilization.Threshold, o.Threshold)
	own(&r.Utilization.GPUThreshold, o.GPUThreshold)
	own(&r.UnneededTime, o.Unneeded)
	own(&r.UnreadyTime, o.Unready)
	return r
}
