package place

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Room finds places for pods that wait.
type Room struct {
	*node.View
	recall *Recall
	groups map[cluster.GroupID]*Incoming
	Listed []*Incoming // the same in the snapshot's order

	Waiting     []*cluster.Pod   // pods that no node holds, oldest first; then pretended ones
	Driven      int              // pods behind those that wait in the cluster which a notice of the cloud drives off their nodes
	hopeful     bool             // the scheduler has made room for some of them
	PodVerdicts []action.Verdict // by waiting; their subjects are there from the start
	Demands     []*Demand        // of waiting, in the order in which they are placed
	Later       []*Demand        // of pretended pods that are placed when all demands have been
	Gangs       []*Gang          // of which some of them are, in the order in which they are served

	Witness Witness // nil where nobody asks

	There, Coming *scheduling.Row // nodes that are there and those that are coming, once a pod looked for a place

	fitting map[string]reason.Reason // see [Room.fitsNode]
	blank   []reason.Reason          // see [Room.Reasons]

	attach   map[cluster.GroupID]int // volumes that a node of the group can attach, as kubelets say, nil until somebody asks
	Opened   byHandle                // the groups of machines that are coming or being added
	asked    byHandle                // of those of them that the cloud was asked for and has not answered about
	arrivals byHandle                // of nodes that are starting

	Counted map[string]string
	Rescues map[string]string        // ladder nodes that a pending pod takes back, with the pod
	Asking  []waiting                // see [Room.NoteAsking]
	Booked  map[string]reason.Reason // nodes on which pods of requests and buffers have a place, with why they stay
	Spared  map[string]reason.Reason // ladder nodes that headroom, requests and buffers take back
}

// Witness hears how places are found, in the order in which it happens. What is tried and taken back is not told.
type Witness interface {
	Opens(machine string, g cluster.GroupID) // that is coming or being added
	Closes(machine string)                   // that is not added after all; no pod is on it
	Places(p *cluster.Pod, node string)
}

// Recall is what placing knows of the last cycle.
type Recall struct {
	held  held
	names names
}

// NewRoom is the room in which nobody has a place yet.
func NewRoom(v *node.View, last *Recall) *Room {
	d := &Room{
		View: v, recall: last, groups: make(map[cluster.GroupID]*Incoming, len(v.Listed)),
		fitting: map[string]reason.Reason{}, Counted: map[string]string{}, Rescues: map[string]string{},
		Spared: map[string]reason.Reason{}, Booked: map[string]reason.Reason{},
	}
	for _, g := range v.Listed {
		st := &Incoming{GroupFacts: g}
		d.groups[g.ID], d.Listed = st, append(d.Listed, st)
	}
	return d
}

// Demand is a number of pods of one class that wait. They are interchangeable: whatever is found of one holds for all, and the ones that
// have waited longest are served first.
type Demand struct {
	Of       *cluster.Class
	Eldest   int               // the place of one of them in [Room.Waiting], whether or not it is among pods
	Pods     []int             // their places there that may be served, the oldest first
	Served   int               // how many of them, from the first on, have their verdict
	Judged   bool              // the scheduler has found no node for them, or they wait behind sluice's gate; no group grows for others
	Weight   float64           // of one
	priority int32             // of each
	Gang     *Gang             // that they are of, nil when each is for itself
	seats    []scheduling.Seat // of those that have a place, in their order
	berth    *berth            // their places in the last cycle, nil when they had none

	Claim    *Claim // that they are pretended for, nil for pods that are there
	Consumes string // the request that they take their room from, "" for none
	Booked   bool   // their room was promised: they come first
}

// demandKey is what pods have in common that are one demand.
type demandKey struct {
	class  *cluster.Class
	judged bool
}

// Left is how many of the pods have no place yet.
func (dm *Demand) Left() int { return len(dm.Pods) - dm.Served }

// Gang is a gang of which some pods wait.
type Gang struct {
	cluster.Gang
	Demands []*Demand // of its pods that wait and that only the scheduler or sluice keeps from running
	Placed  int       // pods that have a node, or that the scheduler has made room for
	There   int       // placed ones and those of the demands

	Out     *reason.Reason  // why no place is kept and no machine bought for its pods, nil when they are served
	Outcome action.Outcome  // of these pods then
	Misses  []reason.Reason // what kept the pods from a place that had none
	Given   bool            // for longer than [policy.Growth.GangHold]: its pods keep no machine
	Claim   *Claim          // whose pods they are, nil for pods that are there
}

// Claim is room that is asked for without a pod: by a ProvisioningRequest or a CapacityBuffer. Its pods are pretended. They find places and
// make groups grow as waiting pods do, and what becomes of them is told by one verdict about whoever asks.
type Claim struct {
	About   reason.Ref
	Keeps   reason.Reason // why a node stays on which its pods have a place
	Demands []*Demand
	Gang    *Gang // its pods, where they are all or nothing; nil where each counts for itself
	Booked  bool  // its room was promised: its pods come first, and nothing grows for them
	Asks    bool  // nodes that its pods fit stay until they have a place
}

// Incoming is a group and its machines that are coming or being added.
type Incoming struct {
	*node.GroupFacts
	Coming     int                             // machines that are expected and have no Ready node yet
	Taken      *reason.Reason                  // which of these waits for the node of an earlier one of its name to go; nil when none does
	Late       []*cluster.Instance             // machines without a node that come late, if they come
	Templates  map[string]*scheduling.Template // what machines are opened like, by zone, "" for a group that spans none; once one was
	Opened     int                             // machines that were opened, to name them and to know whose turn it is
	expects    int                             // of these, those that are coming; see [comingName]
	unanswered int                             // of these, those that the cloud was asked for and has not answered about
	Rotation   *rotation                       // of its zones, nil where it spans none
	awaited    reason.Reason                   // why pods have their place on a machine that is coming, once one has
	asks       reason.Reason                   // the same of one that the cloud was asked for
}

// berth is the places that pods of one class had in the last cycle and that are still there. What has been kept is taken off.
type berth struct {
	seats         []scheduling.Seat // all of them: first those on nodes that are there, then those on machines that are coming
	there, coming []scheduling.Seat // the same
	demands       int               // that share them
	lodged        bool              // some of the pods stand there: see [scheduling.Checker.Lodge]
}

// held is where the places of the last cycle were, as its checker knew them.
type held struct {
	of    *memory.Places
	check *scheduling.Checker
	on    []scheduling.Handle // by [memory.Places.Nodes]
}

// names are the names of machines that are coming, each made once.
type names map[cluster.GroupID][]known

// known is a machine that is coming, and where it was in the last cycle in which it was.
type known struct {
	name string
	on   scheduling.Handle
}

// waiting is pods of one class that no node holds yet.
type waiting struct {
	*cluster.Pod        // one of them
	Claim        *Claim // that they are pretended for, nil when they are there
	Pods         int    // how many there are
}

// byHandle is groups by [scheduling.Handle] of their nodes.
type byHandle []*Incoming

// Of is the group of the node, nil when it is none of these.
func (b byHandle) Of(h scheduling.Handle) *Incoming {
	if int(h) >= len(b) {
		return nil
	}
	return b[h]
}

func (b *byHandle) Set(h scheduling.Handle, st *Incoming) {
	if more := int(h) + 1 - len(*b); more > 0 {
		*b = append(*b, make(byHandle, more)...)
	}
	(*b)[h] = st
}

// backlog is the pods of one owner that wait, ask for the same and are expected to run alike. Their classes may differ, as those of an
// indexed Job do.
type backlog struct {
	demands []*Demand
	pods    int
	milli   int64 // thousandths of cores that one asks for
}

type backlogKey struct {
	owner       string
	asks        string
	run, target time.Duration
}
