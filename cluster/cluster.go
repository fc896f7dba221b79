// Package cluster says what exists at one instant: nodes with their pods and machines, pods that wait, and node groups with
// the evidence for what is known of them. It is plain data and the pure functions that join it; it has no clock and no client.
package cluster

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/fleet"
)

// Snapshot is the cluster at one instant. It is immutable after [New]; what-if questions go to a checker that is built
// from it. Time is the only clock that decisions have.
//
// Nodes and groups that are equal pointers in two snapshots, of which one is the [Snapshot.Next] of the other, are the same in all
// that they say.
type Snapshot struct {
	Time    time.Time // when observation ended, UTC
	Objects Objects   // what the API server said; the other fields are derived from it and from the groups
	Groups  []*Group  // sorted by ID

	Nodes   []*Node // sorted by name
	Pending []*Pod  // unfinished pods that no node holds, not being deleted; oldest first, then by namespace and name

	// Fleet is what the ledger of machines says once it has seen this; zero when nobody keeps one. Whoever made the snapshot sets it before
	// others have it.
	Fleet fleet.Ledger

	given         []*Group       // the groups as they came
	index         map[string]int // of Nodes, by name
	groups        map[GroupID]*Group
	orphans       []*Pod          // unfinished pods that are bound to nodes that do not exist, in the order of Objects.Pods
	orphansByNode map[string]*Pod // one of them for each such node, by its name in lower case
	embedded      string          // see [embeddedIn]
	joins         *joins          // of this snapshot, unless another one has followed it
	turns         time.Time       // when time alone changes what was derived, zero for never
}

// Node is a Kubernetes node joined to its machine and its pods.
type Node struct {
	Object   *corev1.Node
	Pods     []*Pod              // assigned and unfinished, sorted by namespace and name
	Group    GroupID             // "" when no managed group owns its machine
	Instance *Instance           // nil when the cloud lists no such machine, or when more than one could be it
	Suspects []*Instance         // all machines that could be this node, when there is more than one
	Awaits   corev1.ResourceList // devices that the node should have and has not announced yet, while it is young; nil when there are none
	Numbered bool                // it is joined to nothing, and its name is that of a machine of some group: see [Group.HostnamePrefix]
	Parked   Machine             // the machine that it is while that is switched off to be started again: see [Group.Parked]; zero for all others
	Marked   Machine             // the machine named when sluice cordoned the node, or found it parked; zero when neither
}

// View is what the ledger says at the snapshot's time, nil when nobody keeps one.
func (s *Snapshot) View() *fleet.View {
	if s.Fleet.IsZero() {
		return nil
	}
	return s.Fleet.At(fleet.At(s.Time))
}

// Name is the node's name.
func (n *Node) Name() string { return n.Object.Name }

// Node is the node of that name, nil when there is none.
func (s *Snapshot) Node(name string) *Node {
	if i, ok := s.index[name]; ok {
		return s.Nodes[i]
	}
	return nil
}

// Orphan is an unfinished pod that is bound to a node of that name, in any letter case, although no such node exists; nil when there is
// none.
func (s *Snapshot) Orphan(node string) *Pod { return s.orphansByNode[strings.ToLower(node)] }

// Group is the group of that id, nil when there is none.
func (s *Snapshot) Group(id GroupID) *Group { return s.groups[id] }
