// Package node is what nodes and groups show by themselves, looked at once a cycle, with the one memo of it. Nobody's wishes are in it:
// what pods want, what is added and what leaves is decided by the packages that import it.
//
//	subject   what is said here
//	node      left alone (untouched), starting, parked, or with pods that have to leave before its machine may go
//	machine   waited for, late, overdue, lost, or unregistered, as the ledger of machines has it
//	group     paused, of control-plane nodes, its counts, and what the safety contract keeps of it
package node

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// View is what a cycle looks at, and what its phases leave: facts on nodes and groups, memory, verdicts and the next time.
//
//	part                            written by
//	Snapshot, Policy, Check, Fleet  nobody; packages place, grow, claim and remove pretend places in Check
//	Memory                          each phase its own part: see [memory.Memory]; it is what the cycle leaves
//	Verdicts                        [View.Judge]: on machines, groups, requests and buffers
//	Memo.Said, Besides              package remove: on nodes
//	Next                            [View.Wake]: the earliest time of all; zero when no timer runs
//
// Trials of package grow copy it and put it back.
type View struct {
	Snapshot *cluster.Snapshot
	Policy   *policy.Policy
	Memory   memory.Memory
	Fleet    *fleet.View // nil when nobody keeps a ledger of machines
	Now      time.Time
	Next     time.Time
	Check    *scheduling.Checker

	Memo   *Memo
	groups map[cluster.GroupID]*GroupFacts
	Listed []*GroupFacts   // the same in the snapshot's order
	lost   map[string]bool // machines without a node that were nodes, by UID, as the ledger has it

	suspects map[*cluster.Instance]*cluster.Node // see [View.Suspect]; a machine that was asked about and has none has nil

	Verdicts map[reason.Kind][]action.Verdict
	Besides  []Judged                    // verdicts on nodes that are not watched, in the place of what they show
	usages   map[[3]string]reason.Reason // see [View.busy]

	Budgets   budgets
	disrupted map[*policyv1.PodDisruptionBudget]int32 // disruptions that this cycle has consumed
	attached  map[string][]cluster.Attachment         // to nodes, by their names, nil until somebody asks
}

// Judged is a verdict on a node, by its place among the snapshot's nodes.
type Judged struct {
	At int
	action.Verdict
}

// Facts is what a node shows by itself, under the policy and its group's thresholds: what other nodes, waiting pods and the last cycles
// have to do with it is left out. But for what it remembers of its pods it is never changed.
type Facts struct {
	// What each cycle reads of every node comes first, in one line of the processor's cache.
	NodeName string            // of the node
	Instance *cluster.Instance // of the node
	Movers   []*cluster.Pod    // pods that have to leave before the machine may go, those already on their way out included
	Of       int32             // the place of its group among the snapshot's, -1 when it is of none that is managed
	Settled  bool              // verdict is the last word on it
	Passing  bool              // time alone makes it another one: a starting node grows old, a deleted pod overstays
	Ready    bool
	Takes    bool // pods may go there: it is Ready and not cordoned
	Leaves   bool // removal is what its taint says
	Asked    bool // a person has asked for it: see [AskedFor]
	Controls bool // it runs the control plane or etcd
	Clings   bool // pods of it would return: see [policy.Returns]
	plain    bool // its verdict was said, and no list of [View.look] has it

	*cluster.Node
	Resource  corev1.ResourceName
	Used      float64 // share of the resource that is asked for
	Threshold float64 // at or below which it is underused
	Consent   Consent

	Verdict    action.Verdict // without an outcome there is more to be said
	steered    bool           // the scheduler prefers others
	marked     bool           // its mark is to be changed
	owned      bool           // it has no machine, and bears the name of a sluice
	noticed    bool           // the cloud has announced something to its machine
	answered   bool           // an answer to that stands there
	doubtful   bool           // it could be a machine to which it is not joined
	leavesSpot bool           // see [Facts.leavesSpot]
	Removal    cluster.Removal
	Where      policy.Where
	Loss       Loss // of the movers

}

// GroupFacts is what a group shows within one cycle.
type GroupFacts struct {
	*cluster.Group
	counts
	At        int             // its place among the snapshot's groups
	Removal   policy.Removal  // that holds for its nodes
	Servers   bool            // it has control-plane nodes, which are not opted in: nothing is done to it (S-17)
	Restarted []*cluster.Node // of machines that are started again: not Ready yet, and not for too long
	Contract  contract        // what the safety contract says of it
	Paused    *reason.Reason  // that somebody has paused it, nil when nobody has
}

// counts is what a group's machines come to.
type counts struct {
	Unregistered []*cluster.Instance // machines without a node, whatever they do, in their order
	Faulty       []*cluster.Instance // machines that failed, in their order
	Nodes        int                 // machines with a node
	deleting     int
	standing     int
	usable       bool // see [cluster.Group.Usable]
}

// Memo are what nodes show by themselves, kept from cycle to cycle.
type Memo struct {
	Facts    []*Facts         // of the snapshot's nodes, in their order
	Said     []action.Verdict // about the same nodes; of those that are watched by the cycle that is made, or the last one
	Noticed  []*cluster.Node  // of the same nodes those to whose machines the cloud has announced something, or where an answer to that still stands
	Spot     []*cluster.Node  // of the same nodes those whose spot machines may be taken away
	Doubtful []*cluster.Node  // of the same nodes those that could be a machine to which they are not joined, in their order
	Steered  []int            // nodes that bear a candidate taint
	Marked   []*cluster.Node  // of the same nodes those whose mark is to be changed
	Watched  []int            // nodes that each cycle judges: what becomes of them depends on more than they show
	Owned    []*cluster.Node  // nodes without a machine that bear the name of a sluice
	Passing  []int            // of these, those that time alone made other ones when all were looked at last
}

// contract is what the safety contract says of a group within one cycle, by the ledger of machines. The zero value forbids nothing: nobody
// keeps a ledger.
// Lost and until are written by [View.HeldBy], when a machine of the group is held back for it.
type contract struct {
	Leaving *fleet.Batch // machines whose nodes are cordoned, or are about to be
	Leave   *fleet.Batch // machines whose removal this cycle asks for

	Lost  *reason.Reason // that it keeps machines of lost nodes, nil when it keeps none
	until time.Time      // when it lets the first of them go, zero when nobody knows
}

// budgets are the disruption budgets, and what was found of each class of pods.
type budgets struct {
	all       []*policyv1.PodDisruptionBudget
	selectors []labels.Selector // of all, once somebody has asked
	of        map[*cluster.Class][]*policyv1.PodDisruptionBudget
}

// Exit is a machine that is to go, as the ledger is asked about it.
type Exit struct {
	Verb fleet.Verb
	fleet.Target
}

// Loss is what the pods are worth that leave with a node.
type Loss struct {
	Cost     int64 // of their deletion, summed up
	Priority int64 // the highest of them, counted from 1 for the least that there is; 0 where nobody leaves
}

// add counts a pod.
func (l *Loss) add(p *cluster.Pod) {
	if said, ok := p.Annotations[corev1.PodDeletionCost]; ok {
		cost, _ := strconv.ParseInt(said, 10, 32) // what is no number says nothing, as in Kubernetes
		l.Cost += cost
	}
	l.Priority = max(l.Priority, int64(p.Priority())-math.MinInt32+1)
}
