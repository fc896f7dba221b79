package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Room finds places for pods that wait.
//
//	part          answers
//	Queue         which pods wait, and the verdict on each
//	Needs         which node is needed, and by whom
//	Machines      what the next machine of a group is like
//	Arrivals      which machines are expected, and which nodes are starting
//	Reservations  which places pods keep from the last cycle
//	RunTimes      how long pods run, and how long machines boot
//	Unbound       which pods their schedulers do not bind
//	backlogs      which pods wait their turn
//
// Package grow embeds it and goes on with it. To take a trial back, it copies this struct and all that placing changes beneath it.
type Room struct {
	*node.View
	*Queue
	*Needs
	groups map[cluster.GroupID]*Incoming
	Listed []*Incoming // the same in the snapshot's order

	Demands []*Demand // of waiting, in the order in which they are placed
	Later   []*Demand // of virtual pods that are placed when all demands have been
	Gangs   []*Gang   // of which some of them are, in the order in which they are served
	Asking  []waiting // see [Room.NoteAsking]

	Witness Witness // nil where nobody asks

	There, Coming *scheduling.Row // nodes that are there and those that are coming, once a pod looked for a place

	fitting map[string]reason.Reason // see [Room.fitsNode]
	Opened  byHandle                 // the groups of machines that are coming or being added

	Machines     *Machines
	Arrivals     *Arrivals
	Reservations *Reservations
	RunTimes     *RunTimes
	Unbound      *Unbound
	backlogs     *backlogs
}

// Witness hears how places are found, in the order in which it happens. What is tried and taken back is not told.
type Witness interface {
	Opens(machine string, g cluster.GroupID) // that is coming or being added
	Closes(machine string)                   // that is not added after all; no pod is on it
	Places(p *cluster.Pod, node string)
}

// NewRoom is the room in which nobody has a place yet.
func NewRoom(v *node.View) *Room {
	d := &Room{
		View: v, Needs: &Needs{map[string]string{}, map[string]string{}, map[string]reason.Reason{}, map[string]reason.Reason{}},
		groups: make(map[cluster.GroupID]*Incoming, len(v.Listed)), fitting: map[string]reason.Reason{},
	}
	others := len(v.Snapshot.Nodes) + len(v.Listed) // verdicts beside those on pods
	for _, g := range v.Listed {
		st := &Incoming{GroupFacts: g}
		d.groups[g.ID], d.Listed = st, append(d.Listed, st)
		others += len(g.Unregistered)
	}
	d.Queue = newQueue(v.Snapshot.Pending, others)
	d.Machines, d.Unbound, d.RunTimes = &Machines{View: v, room: d}, &Unbound{v, d.Queue, d.Needs}, &RunTimes{v}
	d.Reservations = &Reservations{View: v, Queue: d.Queue, room: d}
	d.Arrivals = &Arrivals{View: v, Queue: d.Queue, room: d}
	d.backlogs = &backlogs{v, d.Queue, d}
	return d
}
