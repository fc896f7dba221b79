// Package policy says what the operator allows: limits, delays and thresholds, with the defaults of cluster-autoscaler where
// it has the same setting. It holds values only; flags and files are read elsewhere.
package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Policy is everything that decisions read beside the snapshot. Build one with [Default] and change it before its first use.
type Policy struct {
	Growth  Growth  `json:"growth"`
	Removal Removal `json:"removal"`
	Health  Health  `json:"health"`

	// ClusterID is the cluster that the node groups belong to, as [cluster.Objects.ID] has it; "": whichever it is that is watched. Together with
	// the resource group that the cloud's configuration names it is the pair that sluice acts on (S-22). (--cluster-id)
	ClusterID string `json:"clusterID,omitempty"`

	// Installation is how this sluice calls itself beside others in the same cluster, "" when nothing tells them apart: what it puts on nodes bears
	// this name, and what bears it on a node of no group is taken back. It is the lease by which replicas choose the one that acts, as "namespace/name":
	// two that have the same name never act at once. Without an election it is the process's own identity.
	Installation string `json:"installation,omitempty"`
}

// Removal bounds how nodes leave.
type Removal struct {
	Enabled        bool          `json:"enabled"`                 // --scale-down-enabled
	Unneeded       time.Duration `json:"unneeded"`                // idle or underused for this long (--scale-down-unneeded-time)
	Unready        time.Duration `json:"unready"`                 // not Ready for this long (--scale-down-unready-time)
	Threshold      float64       `json:"threshold"`               // share of allocatable CPU or memory requested, at or below which a node is underused (--scale-down-utilization-threshold)
	GPUThreshold   float64       `json:"gpuThreshold"`            // the same of GPUs, for nodes that have some: nothing else counts there (--scale-down-gpu-utilization-threshold)
	AfterAdd       time.Duration `json:"afterAdd"`                // no removal so long after a growth (--scale-down-delay-after-add)
	AfterDelete    time.Duration `json:"afterDelete"`             // no removal so long after a deletion (--scale-down-delay-after-delete)
	AfterFailure   time.Duration `json:"afterFailure"`            // no removal so long after a node could not be tainted (--scale-down-delay-after-failure)
	LocalDelays    bool          `json:"localDelays"`             // these delays are each group's own (--scale-down-delay-type-local)
	DeletionDelay  time.Duration `json:"deletionDelay"`           // an empty node waits so long for annotations that delay its deletion (--node-deletion-delay-timeout)
	UnreadyEnabled bool          `json:"unreadyEnabled"`          // nodes that are not Ready are removed too (--scale-down-unready-enabled)
	CustomOwners   bool          `json:"customOwners"`            // a pod of a controller that nobody knows keeps its node (--skip-nodes-with-custom-controller-pods)
	MinReplicas    int32         `json:"minReplicas,omitempty"`   // a pod of a controller that is to have fewer keeps its node, where CustomOwners is true as well (--min-replica-count)
	SystemPodAge   time.Duration `json:"systemPodAge"`            // until which a system pod keeps its node (--blocking-system-pod-distruption-timeout)
	IgnoreDaemons  bool          `json:"ignoreDaemons"`           // pods of DaemonSets count neither as used nor as room (--ignore-daemonsets-utilization)
	IgnoreMirrors  bool          `json:"ignoreMirrors"`           // nor do static pods (--ignore-mirror-pods-utilization)
	AfterTaint     time.Duration `json:"afterTaint"`              // between the taint and the next rung (--node-delete-delay-after-taint)
	MaxSoftTaints  int           `json:"maxSoftTaints"`           // soft taints that a cycle puts on or takes off; 0: none is put on (--max-bulk-soft-taint-count)
	MaxInFlight    int           `json:"maxInFlight"`             // nodes on the ladder at once that neither are ready for deletion nor wait for an earlier one of their group (--max-scale-down-parallelism)
	MaxDrains      int           `json:"maxDrains"`               // of these, nodes with pods to evict (--max-drain-parallelism)
	Emptied        float64       `json:"emptied"`                 // share of a group's nodes, in percent, that are emptied of pods within Window; at least one (--max-emptied-percentage)
	Window         time.Duration `json:"window"`                  // see there; 0: no bound (--emptied-window)
	MaxGrace       time.Duration `json:"maxGrace"`                // longest grace period given to an evicted pod (--max-graceful-termination-sec)
	DrainDeadline  time.Duration `json:"drainDeadline"`           // so long after their node's taint its pods have left, or see below (--max-drain-time)
	AfterDeadline  Overdue       `json:"afterDeadline"`           // what becomes of the drain when one has not (--after-drain-time)
	LocalStorage   bool          `json:"localStorage"`            // a pod with local storage keeps its node (--skip-nodes-with-local-storage)
	SystemPods     bool          `json:"systemPods"`              // a kube-system pod without a budget keeps its node (--skip-nodes-with-system-pods)
	Lost           time.Duration `json:"lost,omitempty"`          // within which nodes are lost together, and of which one goes in each then (S-43); 0: an hour. No flag sets it: a playground has no hours
	KeepUnjoined   time.Duration `json:"keepUnjoined,omitempty"`  // for so long the last of several machines that never joined is kept for inspection (--keep-failed-machine)
	ForceUnjoined  bool          `json:"forceUnjoined,omitempty"` // a machine that never joined goes even below its group's min (--force-delete-unregistered-nodes)
	ForceFailed    bool          `json:"forceFailed,omitempty"`   // so does one that failed (--force-delete-failed-nodes)
	RunDry         bool          `json:"runDry"`                  // a node that only work holds takes no more of it (--run-dry)
	Work           []WorkRule    `json:"work,omitempty"`          // which work may be evicted; see [Policy.Keeps] (--evict-work)
	Consolidation  Consolidation `json:"consolidation,omitzero"`
	MinCores       int64         `json:"minCores"`     // cores that the cluster keeps (--cores-total)
	MinMemoryGiB   int64         `json:"minMemoryGiB"` // memory that the cluster keeps (--memory-total)

	ControlPlane bool `json:"controlPlane,omitempty"` // control-plane and etcd nodes are removed too, one at a time (--remove-control-plane-nodes)

	Bands           []Band `json:"bands,omitempty"` // in which pods leave, by ascending priority; none: critical ones last (--drain-priority-config)
	EmptyDaemons    bool   `json:"emptyDaemons"`    // daemons are evicted from nodes that have no other pods (--daemonset-eviction-for-empty-nodes)
	OccupiedDaemons bool   `json:"occupiedDaemons"` // and from those that had some (--daemonset-eviction-for-occupied-nodes)

	DaemonWork []cluster.PodSelector `json:"daemonWork,omitempty"` // pods of daemons that are work as a Job's; see [Policy.Belongs] (--daemon-work)

	Exclusion time.Duration `json:"exclusion"` // before the next rung, after load balancers were told to leave the node out; 0: they are not told (--load-balancer-exclusion-delay)
	MaxDetach time.Duration `json:"maxDetach"` // an empty node waits so long for its volumes to be detached (--max-detach-time)

	BusyThreshold float64       `json:"busyThreshold,omitempty"` // share of allocatable CPU above which a node stays whose use was measured; 0: nothing is measured (--busy-threshold)
	BusyLimit     time.Duration `json:"busyLimit,omitempty"`     // for so long a node stays for measured use alone; 0: no limit (--busy-limit)
}

// Health says when so many nodes are not Ready that the trouble is probably not theirs, and nothing is removed.
type Health struct {
	UnreadyCount   int     `json:"unreadyCount"`   // always tolerated (--ok-total-unready-count)
	UnreadyPercent float64 `json:"unreadyPercent"` // of all nodes (--max-total-unready-percentage)
}

// Default is what cluster-autoscaler does without flags.
func Default() *Policy {
	return &Policy{
		Growth: Growth{
			Provision:    15 * time.Minute,
			Startup:      15 * time.Minute,
			BackoffFirst: 5 * time.Minute,
			BackoffMost:  30 * time.Minute,
			BackoffReset: 3 * time.Hour,

			MaxAtOnce:      1000,
			AwaitPlaces:    true,
			MaxCores:       320_000,
			MaxMemoryGiB:   6_400_000,
			BurstWindow:    10 * time.Second,
			PriorityCutoff: -10,
			GangHold:       5 * time.Minute,

			Balance: Balance{Memory: 0.015, Allocatable: 0.05, Free: 0.05},
		},
		Removal: Removal{
			Enabled:       true,
			Unneeded:      10 * time.Minute,
			Unready:       20 * time.Minute,
			Threshold:     0.5,
			GPUThreshold:  0.5,
			AfterAdd:      10 * time.Minute,
			AfterTaint:    5 * time.Second,
			MaxSoftTaints: 10,
			Exclusion:     5 * time.Second,
			MaxDetach:     2 * time.Minute,
			KeepUnjoined:  time.Hour,
			MaxInFlight:   10,
			MaxDrains:     1,
			Emptied:       5,
			Window:        10 * time.Minute,
			MaxGrace:      10 * time.Minute,
			DrainDeadline: 15 * time.Minute,
			LocalStorage:  true,
			SystemPods:    true,
			RunDry:        true,
			Consolidation: Consolidation{Expected: time.Hour, PodUSD: 0.01, PerDay: 10},

			AfterFailure:   3 * time.Minute,
			DeletionDelay:  2 * time.Minute,
			UnreadyEnabled: true,
			CustomOwners:   true,
			SystemPodAge:   time.Hour,

			BusyThreshold: 0.5,
			BusyLimit:     6 * time.Hour,

			AfterDeadline:   Abort,
			OccupiedDaemons: true,
		},
		Health: Health{UnreadyCount: 3, UnreadyPercent: 45},
	}
}

// Of is what holds for a group with options of its own.
func (r Removal) Of(o cluster.Options) Removal {
	if o.Threshold != nil {
		r.Threshold = *o.Threshold
	}
	if o.GPUThreshold != nil {
		r.GPUThreshold = *o.GPUThreshold
	}
	if o.Unneeded != nil {
		r.Unneeded = *o.Unneeded
	}
	if o.Unready != nil {
		r.Unready = *o.Unready
	}
	return r
}

// Pause is between a node's cordon and the next rung: scheduler and load balancers have heard of it by then.
func (r Removal) Pause() time.Duration { return max(r.AfterTaint, r.Exclusion) }

// Starting says whether a node that takes no pods yet is expected to: it is not Ready or bears a taint of its arrival, it is young, and its
// kubelet has not fallen silent.
func (g Growth) Starting(n *corev1.Node, now time.Time) bool {
	return (!cluster.Ready(n) || g.Taints.Arriving(n)) && !cluster.Silent(n) && now.Sub(n.CreationTimestamp.Time) < g.Startup
}

// Due is when a new node should be Ready at the latest.
func (g Growth) Due(n *corev1.Node) time.Time {
	return n.CreationTimestamp.Add(g.Startup)
}

// CameUp says whether the node is Ready, or was when its time was over.
func (g Growth) CameUp(n *corev1.Node) bool {
	return cluster.Ready(n) || cluster.NotReadySince(n).After(g.Due(n))
}

// Late says whether the node's time is over and it has not come up. Of one that has fallen silent nobody knows whether it would have.
func (g Growth) Late(n *corev1.Node, now time.Time) bool {
	return !g.CameUp(n) && !cluster.Silent(n) && !now.Before(g.Due(n))
}

// Forces says whether a machine without a node that is given up goes even where its group falls below its min: operators say so.
func (r Removal) Forces(in *cluster.Instance) bool {
	if in.State == cluster.StateFailed {
		return r.ForceFailed
	}
	return r.ForceUnjoined
}

// Tolerates says whether so many of all nodes may be not Ready, those that are starting left out.
func (h Health) Tolerates(unready, nodes int) bool {
	return unready <= h.UnreadyCount || float64(unready)*100 <= h.UnreadyPercent*float64(nodes)
}

// Check returns the first setting that makes no sense, by the name of its flag.
func (p *Policy) Check() error {
	if err := p.Growth.check(); err != nil {
		return err
	}
	if d := p.Removal.DrainDeadline; d <= 0 {
		return fmt.Errorf("--max-drain-time=%s: give a duration above zero, such as 15m", d)
	}
	if r := p.Removal; len(r.Bands) > 0 && r.MaxGrace != Default().Removal.MaxGrace {
		return fmt.Errorf("--max-graceful-termination-sec=%d beside --drain-priority-config: each band has its own grace period, leave the former out", r.MaxGrace/time.Second)
	}
	if err := p.Removal.Consolidation.check(); err != nil {
		return err
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"scale-down-unneeded-time", p.Removal.Unneeded},
		{"scale-down-unready-time", p.Removal.Unready},
		{"scale-down-delay-after-add", p.Removal.AfterAdd},
		{"scale-down-delay-after-delete", p.Removal.AfterDelete},
		{"scale-down-delay-after-failure", p.Removal.AfterFailure},
		{"node-deletion-delay-timeout", p.Removal.DeletionDelay},
		{"blocking-system-pod-distruption-timeout", p.Removal.SystemPodAge},
		{"node-delete-delay-after-taint", p.Removal.AfterTaint},
		{"load-balancer-exclusion-delay", p.Removal.Exclusion},
		{"max-detach-time", p.Removal.MaxDetach},
		{"keep-failed-machine", p.Removal.KeepUnjoined},
		{"max-graceful-termination-sec", p.Removal.MaxGrace},
		{"emptied-window", p.Removal.Window},
		{"busy-limit", p.Removal.BusyLimit},
	} {
		if d.value < 0 {
			return fmt.Errorf("--%s=%s: give a duration of zero or more, such as 10m", d.flag, d.value)
		}
	}
	for _, n := range []struct {
		flag  string
		value int64
		least int64
	}{
		{"cores-total", p.Growth.MaxCores, p.Removal.MinCores},
		{"memory-total", p.Growth.MaxMemoryGiB, p.Removal.MinMemoryGiB},
		{"max-bulk-soft-taint-count", int64(p.Removal.MaxSoftTaints), 0},
		{"min-replica-count", int64(p.Removal.MinReplicas), 0},
		{"max-scale-down-parallelism", int64(p.Removal.MaxInFlight), 1},
		{"max-drain-parallelism", int64(p.Removal.MaxDrains), 1},
		{"ok-total-unready-count", int64(p.Health.UnreadyCount), 0},
	} {
		if n.value < n.least {
			return fmt.Errorf("--%s=%d: give %d or more", n.flag, n.value, n.least)
		}
	}
	for _, t := range []struct {
		flag  string
		value float64
	}{
		{"scale-down-utilization-threshold", p.Removal.Threshold},
		{"scale-down-gpu-utilization-threshold", p.Removal.GPUThreshold},
		{"busy-threshold", p.Removal.BusyThreshold},
	} {
		if !(t.value >= 0 && t.value <= 1) { // so that NaN is refused
			return fmt.Errorf("--%s=%g: give a share between 0 and 1, such as 0.5", t.flag, t.value)
		}
	}
	if s := p.Removal.Emptied; !(s >= 0 && s <= 100) {
		return fmt.Errorf("--max-emptied-percentage=%g: give a percentage between 0 and 100, such as 5", s)
	}
	if s := p.Health.UnreadyPercent; !(s >= 0 && s <= 100) {
		return fmt.Errorf("--max-total-unready-percentage=%g: give a percentage between 0 and 100, such as 45", s)
	}
	return nil
}
