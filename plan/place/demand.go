package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Demand is a number of pods of one class that wait. They are interchangeable: whatever is found of one holds for all, and the ones that
// have waited longest are served first.
//
//	part                  meaning                                                       moved on by
//	Pods[:Served]         these pods have their verdict in this cycle                   [Queue.Serve], [Queue.ServeAlike]
//	Pods[Served:]         these pods still look for a place: see [Demand.Left]
//	not in Pods any more  they wait their turn, or fill has set them aside for a while  backlogs.wait, Arrivals.fill
//
// Package grow copies demands before it tries places, and puts the copies back. So a demand is changed in place, and is never replaced.
type Demand struct {
	Of       *cluster.Class
	Eldest   int               // the place of one of them in [Queue.Waiting], whether or not it is among pods
	Pods     []int             // their places there that may be served, the oldest first
	Served   int               // how many of them, from the first on, have their verdict
	Judged   bool              // the scheduler has found no node for them, or they wait behind sluice's gate; no group grows for others
	Weight   float64           // of one
	priority int32             // of each
	Gang     *Gang             // that they are of, nil when each is for itself
	seats    []scheduling.Seat // of those that have a place, in their order
	reserved *reserved         // their places in the last cycle, nil when they had none

	Claim    *Claim // that they are pretended for, nil for pods that are there
	Consumes string // the request that they take their room from, "" for none
	Booked   bool   // their room was promised: they come first
}

// demandKey is what pods have in common that are one demand.
type demandKey struct {
	class  *cluster.Class
	judged bool
}

// reserved is the places that pods of one class had in the last cycle and that are still there. What has been kept is taken off.
// Demands of one class share one value: a class may have pods that are judged and pods that are not.
type reserved struct {
	there, coming []scheduling.Seat // on nodes that are there, and on machines that are coming
}

// judge notes whether groups may grow for the demand's pods.
func (dm *Demand) judge(judged bool) { dm.Judged = judged }

// add adds the pod at that place among those that wait.
func (dm *Demand) add(at int) { dm.Pods = append(dm.Pods, at) }

// only leaves these of the pods.
func (dm *Demand) only(pods []int) { dm.Pods = pods }

// Left is how many of the pods have no place yet.
func (dm *Demand) Left() int { return len(dm.Pods) - dm.Served }

// Gang is a gang of which some pods wait.
//
// Placed and There are counted once, by [Room.CollectGangs]. Out is set here for gangs that are not to be tried. Package grow sets and
// clears it while it tries the others, and sets Misses and Given.
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

// Runs says whether the gang has what it needs already: its further pods are served one by one.
func (g *Gang) Runs() bool { return g.Least > 0 && g.Placed >= g.Least }

// LeaveOut gives the gang no place in this cycle, and says why.
func (g *Gang) LeaveOut(outcome action.Outcome, why reason.Reason) { g.Out, g.Outcome = &why, outcome }

// Claim is room that is asked for without a pod: by a ProvisioningRequest or a CapacityBuffer. Its pods are pretended. They find places and
// make groups grow as waiting pods do, and what becomes of them is told by one verdict about whoever asks.
//
//	of                                 Gang  Booked  Asks  its pods
//	a request to buy (atomic)          yes   no      yes   make groups grow, all or nothing
//	a request to check capacity        yes   no      no    find room that is there, all or nothing
//	a request whose room was promised  no    yes     no    keep that room, before all other pods
//	a buffer                           no    no      no    make groups grow one by one, after all other pods
type Claim struct {
	About   reason.Ref
	Keeps   reason.Reason // why a node stays on which its pods have a place
	Demands []*Demand
	Gang    *Gang // its pods, where they are all or nothing; nil where each counts for itself
	Booked  bool  // its room was promised: its pods come first, and nothing grows for them
	Asks    bool  // nodes that its pods fit stay until they have a place
}

// DoesNotFit says that so few pods of a claim find room that none is kept for them.
func (c *Claim) DoesNotFit(fit int) reason.Reason {
	all := 0
	for _, dm := range c.Demands {
		all += len(dm.Pods)
	}
	verdict := "nothing is bought for it"
	if !c.Asks {
		verdict = "none is bought for such a request"
	}
	return reason.New(reason.RequestDoesNotFit, c.About, "fit", fit, "pods", all, "verdict", verdict)
}

// keeps says whether the demand's pods keep their places from cycle to cycle: those that are there and that no request holds room for.
func (dm *Demand) keeps() bool { return dm.Claim == nil && dm.Consumes == "" && !dm.Booked }
