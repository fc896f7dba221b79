package policy

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
)

// Removal bounds how nodes leave. What a field means, its unit and its default stand in its row of the table of settings; here stands what
// code relies on besides.
type Removal struct {
	Enabled        bool // false: no node is cordoned
	UnreadyEnabled bool // nodes that are not Ready are removed too
	ControlPlane   bool // control-plane and etcd nodes are removed too, one at a time
	ForceFailed    bool // see [Removal.Forces]

	// A node is removable that was idle or underused for UnneededTime, or not Ready for UnreadyTime.
	UnneededTime, UnreadyTime time.Duration

	Utilization Utilization
	Busy        Busy
	Delay       Delay
	Skip        Skip
	Keep        Keep
	Work        WorkRules

	// Parallelism is how many nodes are on their way out at once. One that is ready for deletion, or waits for an earlier one of its group,
	// does not count.
	Parallelism        int
	MaxCandidateTaints int // candidate taints that a cycle puts on or takes off; 0: none is put on

	Drain         Drain
	Emptied       Emptied
	Unregistered  Unregistered
	Consolidation Consolidation

	// Lost is within which time nodes are lost together, and of which one goes in each then (S-43); 0: an hour. No flag sets it: a playground
	// has no hours.
	Lost time.Duration
}

// Utilization says which nodes are underused: those at or below Threshold, the share of their allocatable CPU or memory that is requested.
// Of a node with GPUs only these count, and GPUThreshold.
type Utilization struct {
	Threshold, GPUThreshold float64
	IgnoreDaemons           bool // pods of DaemonSets count neither as used nor as room
	IgnoreMirrors           bool // nor do static pods
}

// Busy keeps a node whose measured use is above Threshold, a share of its allocatable CPU; 0: nothing is measured. For that alone it stays
// no longer than Limit; 0: for as long as it lasts.
type Busy struct {
	Threshold float64
	Limit     time.Duration
}

// Delay says how long removal waits, and for what.
type Delay struct {
	// No node is cordoned so long after a scale-up, a deletion, and a node that could not be tainted. With Local these are each group's own.
	AfterAdd, AfterDelete, AfterFailure time.Duration
	Local                               bool

	AfterTaint time.Duration // between a node's cordon and the next phase, see [Removal.Pause]
	Exclusion  time.Duration // the same, after load balancers were told to leave the node out; 0: they are not told

	// An empty node waits at most Deletion for annotations that delay its deletion, and at most Detach for its volumes to be detached.
	Deletion, Detach time.Duration
}

// Skip says which pods keep their node, besides those that say so themselves and those of Jobs.
type Skip struct {
	LocalStorage         bool // a pod with a hostPath or emptyDir volume, but for those that its annotation gives up
	CustomControllerPods bool // a pod of a controller that nobody knows, or that does not exist

	// MinReplicas is for a controller to want at least: a pod of one that is to have fewer keeps its node, where CustomControllerPods is true
	// as well.
	MinReplicas int32

	// A kube-system pod without a budget, until it is of SystemPodAge. 0 of the age is as SystemPods=false.
	SystemPods   bool
	SystemPodAge time.Duration
}

// Keep is what the cluster keeps.
type Keep struct{ Cores, MemoryGiB int64 }

// WorkRules say which pods work, and how their work ends when their node is to go.
type WorkRules struct {
	RunDry  bool                  // a node that only work holds takes no more of it
	Evict   []WorkRule            // which work may be evicted; see [Policy.Keeps]
	Daemons []cluster.PodSelector // pods of daemons that are work as a Job's; see [Policy.Belongs]
}

// Drain bounds how pods leave a node.
type Drain struct {
	Parallelism   int           // nodes at once that pods still have to leave
	Deadline      time.Duration // above zero: so long after their node's cordon its pods have left,
	AfterDeadline Overdue       // or this becomes of the drain; pods may ask for others, see [Removal.DrainTime]
	MaxGrace      time.Duration // longest grace period given to an evicted pod, where there are no Bands
	Bands         []Band        // in which pods leave, by ascending priority; none: critical ones last

	EmptyDaemons, OccupiedDaemons bool // see [Removal.Dismisses]
}

// Emptied bounds how fast a group is emptied of pods: Percent of its nodes, and at least one, within Window; 0 of Window is no bound.
type Emptied struct {
	Percent float64
	Window  time.Duration
}

// Unregistered is what becomes of machines that never joined.
type Unregistered struct {
	Keep  time.Duration // for so long the last of several is kept for inspection; 0: it is not
	Force bool          // see [Removal.Forces]
}

// check returns a setting of removal that contradicts another one.
func (r Removal) check() error {
	if usual := standard.Removal.Drain.MaxGrace; len(r.Drain.Bands) > 0 && r.Drain.MaxGrace != usual {
		return fmt.Errorf("--max-graceful-termination-sec=%d beside --drain-priority-config: "+
			"each band has its own grace period, leave the former out", r.Drain.MaxGrace/time.Second)
	}
	return nil
}

// Pause is between a node's cordon and the next phase: scheduler and load balancers have heard of it by then.
func (r Removal) Pause() time.Duration { return max(r.Delay.AfterTaint, r.Delay.Exclusion) }

// Forces says whether a machine without a node that is given up goes even where its group falls below its min: operators say so.
func (r Removal) Forces(in *cluster.Instance) bool {
	if in.State == cluster.StateFailed {
		return r.ForceFailed
	}
	return r.Unregistered.Force
}
