package policy

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
)

// Removal bounds how nodes leave. What a field means, its unit and its default stand in its row of the table of settings; here stands what
// code relies on besides.
type Removal struct {
	Enabled bool // false: no node is cordoned

	// A node is removable that was idle or underused for Unneeded, or not Ready for Unready.
	Unneeded, Unready time.Duration

	// A node is underused at or below Threshold, the share of its allocatable CPU or memory that is requested. Of a node with GPUs only these
	// count, and GPUThreshold.
	Threshold, GPUThreshold float64

	// No node is cordoned so long after a growth, a deletion, and a node that could not be tainted. With LocalDelays these are each group's
	// own.
	AfterAdd, AfterDelete, AfterFailure time.Duration
	LocalDelays                         bool

	// An empty node waits at most DeletionDelay for annotations that delay its deletion, and at most MaxDetach for its volumes to be
	// detached.
	DeletionDelay  time.Duration
	UnreadyEnabled bool // nodes that are not Ready are removed too

	Skip Skip // which pods keep their node

	// MinReplicas is for a controller to want at least: a pod of one that is to have fewer keeps its node, where Skip.CustomControllerPods is
	// true as well.
	MinReplicas int32

	IgnoreDaemons bool          // pods of DaemonSets count neither as used nor as room
	IgnoreMirrors bool          // nor do static pods
	AfterTaint    time.Duration // between a node's cordon and the next phase, see [Removal.Pause]
	MaxSoftTaints int           // soft taints that a cycle puts on or takes off; 0: none is put on

	// MaxInFlight nodes are on their way out at once. One that is ready for deletion, or waits for an earlier one of its group, does not
	// count. MaxDrains of them have pods to evict.
	MaxInFlight, MaxDrains int

	// Emptied percent of a group's nodes, and at least one, are emptied of pods within Window; 0 of Window is no bound.
	Emptied float64
	Window  time.Duration

	Drain         Drain
	DrainDeadline time.Duration // above zero: so long after their node's cordon its pods have left,
	AfterDeadline Overdue       // or this becomes of the drain; pods may ask for others, see [Removal.DrainTime]

	// Lost is within which time nodes are lost together, and of which one goes in each then (S-43); 0: an hour. No flag sets it: a playground
	// has no hours.
	Lost time.Duration

	KeepUnjoined  time.Duration // for so long the last of several machines that never joined is kept for inspection; 0: it is not
	ForceUnjoined bool          // see [Removal.Forces]
	ForceFailed   bool

	RunDry        bool       // a node that only work holds takes no more of it
	Work          []WorkRule // which work may be evicted; see [Policy.Keeps]
	Consolidation Consolidation

	MinCores, MinMemoryGiB int64 // that the cluster keeps

	ControlPlane bool // control-plane and etcd nodes are removed too, one at a time

	Bands           []Band // in which pods leave, by ascending priority; none: critical ones last
	EmptyDaemons    bool   // see [Removal.Dismisses]
	OccupiedDaemons bool

	DaemonWork []cluster.PodSelector // pods of daemons that are work as a Job's; see [Policy.Belongs]

	Exclusion time.Duration // before the next phase, after load balancers were told to leave the node out; 0: they are not told
	MaxDetach time.Duration // see DeletionDelay

	// A node stays whose measured use is above BusyThreshold, a share of its allocatable CPU; 0: nothing is measured. It stays for BusyLimit
	// for that alone; 0: for as long as it lasts.
	BusyThreshold float64
	BusyLimit     time.Duration
}

// Skip says which pods keep their node, besides those that say so themselves and those of Jobs.
type Skip struct {
	LocalStorage         bool // a pod with a hostPath or emptyDir volume, but for those that its annotation gives up
	CustomControllerPods bool // a pod of a controller that nobody knows, or that does not exist

	// A kube-system pod without a budget, until it is of SystemPodAge. 0 of the age is as SystemPods=false.
	SystemPods   bool
	SystemPodAge time.Duration
}

// Drain bounds how pods leave a node.
type Drain struct {
	MaxGrace time.Duration // longest grace period given to an evicted pod, where there are no Bands
}

// check returns a setting of removal that contradicts another one.
func (r Removal) check() error {
	if usual := standard.Removal.Drain.MaxGrace; len(r.Bands) > 0 && r.Drain.MaxGrace != usual {
		return fmt.Errorf("--max-graceful-termination-sec=%d beside --drain-priority-config: "+
			"each band has its own grace period, leave the former out", r.Drain.MaxGrace/time.Second)
	}
	return nil
}

// Pause is between a node's cordon and the next phase: scheduler and load balancers have heard of it by then.
func (r Removal) Pause() time.Duration { return max(r.AfterTaint, r.Exclusion) }

// Forces says whether a machine without a node that is given up goes even where its group falls below its min: operators say so.
func (r Removal) Forces(in *cluster.Instance) bool {
	if in.State == cluster.StateFailed {
		return r.ForceFailed
	}
	return r.ForceUnjoined
}
