package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
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
