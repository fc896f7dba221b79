package policy

import (
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
)

// Removal bounds how nodes leave. What a field means, its unit and its default stand in its row of the table of settings; here stands what
// code relies on besides.
type Removal struct {
	Enabled bool // false: no node is cordoned; one that is on its way out is given back

	// A node is removable that was idle or underused for Unneeded, or not Ready for Unready.
	Unneeded, Unready time.Duration

	// A node is underused at or below Threshold, a share of what it can give to pods: of CPU and of memory, whichever is more. Of a node with
	// GPUs only these count, and GPUThreshold.
	Threshold, GPUThreshold float64

	// No node is cordoned so long after a growth, a deletion, and a node that could not be tainted. With LocalDelays these are each group's
	// own.
	AfterAdd, AfterDelete, AfterFailure time.Duration
	LocalDelays                         bool

	DeletionDelay  time.Duration // an empty node waits so long for annotations that delay its deletion
	UnreadyEnabled bool          // nodes that are not Ready are removed too

	// A pod of a controller that nobody knows keeps its node, and so does, with the same field, one whose controller is to have fewer than
	// MinReplicas pods.
	CustomOwners bool
	MinReplicas  int32

	SystemPodAge  time.Duration // until then a system pod keeps its node, where SystemPods is true
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

	MaxGrace      time.Duration // longest grace period given to an evicted pod, where no Bands are
	DrainDeadline time.Duration // above zero: so long after their node's cordon its pods have left,
	AfterDeadline Overdue       // or this becomes of the drain; pods may ask for others, see [Removal.DrainTime]
	LocalStorage  bool          // a pod with local storage keeps its node
	SystemPods    bool          // a young kube-system pod without a budget keeps its node

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
	MaxDetach time.Duration // an empty node waits so long for its volumes to be detached

	// A node stays whose measured use is above BusyThreshold, a share of its allocatable CPU; 0: nothing is measured. It stays for BusyLimit
	// for that alone; 0: for as long as it lasts.
	BusyThreshold float64
	BusyLimit     time.Duration
}

// check returns a setting of removal that contradicts another one.
func (r Removal) check() error {
	if usual := standard.Removal.MaxGrace; len(r.Bands) > 0 && r.MaxGrace != usual {
		return fmt.Errorf("--max-graceful-termination-sec=%d beside --drain-priority-config: "+
			"each band has its own grace period, leave the former out", r.MaxGrace/time.Second)
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
