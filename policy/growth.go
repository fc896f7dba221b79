package policy

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Growth bounds how groups grow. What a field means, its unit and its default stand in its row of the table of settings; here stands what
// code relies on besides.
type Growth struct {
	NeedsReady bool // nothing grows while no node is Ready

	Max     Max
	Node    NodeTimes
	Backoff Backoff

	BurstWindow    time.Duration // see [Growth.AskAgain]; 0: a group is asked in every cycle
	PodDelay       time.Duration // of a pod's age; its annotation may ask for more, see [Policy.Young]
	PriorityCutoff int32         // see [Policy.Expendable]
	GangHold       time.Duration // for so long a gang that cannot be whole keeps the machines that its pods fit
	EnforceMin     bool          // see [Policy.Floor]

	Taints cluster.Taints // beside those whose keys have cluster-autoscaler's own prefixes

	Schedulers Schedulers // whose pods are a reason to grow

	Expanders []Expander // a chain of filters; none is [LeastCost]
	Balance   Balance

	// Of several of a group the last headroom holds, the last schedule that is in force, and all ceilings.
	Headroom  []GroupHeadroom
	Schedules []GroupSchedule
	Ceilings  []GroupCeiling

	DrainTargets []DrainTarget // see [Growth.Drain]

	Requests Requests
	Buffers  Buffers
}

// Max are limits of the whole cluster, nodes that nobody manages included, and AtOnce of each group. 0 is no limit of nodes, but lets no core
// and no memory be added.
type Max struct {
	Nodes            int
	Cores, MemoryGiB int64
	GPUs             []GPUTotal // at most one of a kind
	AtOnce           int        // machines that one cycle adds to one group; 0 for no limit
}

// NodeTimes is how long a new machine may take: ProvisionTime from its request to its node's registration, and StartupTime from there to
// its node being Ready. Both are above zero.
type NodeTimes struct{ ProvisionTime, StartupTime time.Duration }

// Backoff is how long a group rests: Initial after its first failure, then twice as long each time up to Max. Reset after the last failure
// the next one is a first one.
type Backoff struct{ Initial, Max, Reset time.Duration }

// Schedulers are names of schedulers, as pods have them.
type Schedulers struct {
	Allowed  []string // whose pods are a reason to grow; none is all
	Bypassed []string // whose pods are one before the scheduler looked at them; each is also among Allowed, where that names any
}

// Balance says which groups are alike, so that a growth is spread over them.
type Balance struct {
	Similar      bool     // the zero value spreads nothing, whatever the others say
	IgnoreLabels []string // in which like groups may differ, beside labels that differ by nature

	// How far like groups may differ, as a share of the larger one: in the memory of a machine, in what of anything it can give to pods, and
	// in what of that daemons leave.
	Memory, Allocatable, Free float64
}

// Requests says whether ProvisioningRequests are answered.
type Requests struct {
	Enabled  bool
	Instance string // of the class check-capacity only those that name it are answered; "": only those that name none
}

// Buffers says what is done about CapacityBuffers. With Keep alone the status that somebody else has written is believed.
type Buffers struct {
	Translate bool // work out how many pods like which each is for
	Keep      bool // keep room for them
}

// check returns the first setting of growth that contradicts another one or itself.
func (g Growth) check() error {
	for _, name := range g.Schedulers.Bypassed {
		if allowed := g.Schedulers.Allowed; len(allowed) > 0 && !slices.Contains(allowed, name) {
			return fmt.Errorf("--bypassed-scheduler-names=%s: name it in --allowed-scheduler-names too, or leave that out", name)
		}
	}
	if g.Backoff.Max < g.Backoff.Initial {
		return fmt.Errorf("--max-node-group-backoff-duration=%s: give at least --initial-node-group-backoff-duration (%s)",
			g.Backoff.Max, g.Backoff.Initial)
	}
	if err := checkExpanders(g.Expanders); err != nil {
		return err
	}
	for _, t := range g.DrainTargets {
		if t.Within <= 0 {
			return fmt.Errorf("--drain-target=%s: give a duration above zero, such as 20m", t)
		}
	}
	if slices.Contains(g.Balance.IgnoreLabels, "") {
		return fmt.Errorf("--balancing-ignore-label is empty: give the key of a label, or leave the flag out")
	}
	return nil
}

// Starting says whether a node that takes no pods yet is expected to. It is not Ready or bears a taint of its arrival, it is young, and its
// kubelet has not fallen silent.
func (g Growth) Starting(n *corev1.Node, now time.Time) bool {
	return (!cluster.Ready(n) || g.Taints.Arriving(n)) && !cluster.Silent(n) && now.Sub(n.CreationTimestamp.Time) < g.Node.StartupTime
}

// Due is when a new node should be Ready at the latest.
func (g Growth) Due(n *corev1.Node) time.Time {
	return n.CreationTimestamp.Add(g.Node.StartupTime)
}

// CameUp says whether the node is Ready, or was when its time was over.
func (g Growth) CameUp(n *corev1.Node) bool {
	return cluster.Ready(n) || cluster.NotReadySince(n).After(g.Due(n))
}

// Late says whether the node's time is over and it has not come up. Of one that has fallen silent nobody knows whether it would have.
func (g Growth) Late(n *corev1.Node, now time.Time) bool {
	return !g.CameUp(n) && !cluster.Silent(n) && !now.Before(g.Due(n))
}
