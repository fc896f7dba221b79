// Package grow chooses the machines to add: for floors, for pods without room, for buffers and for headroom, each group by one request.
//
//	step      rule
//	limits    max, backoff, breaker, ceilings, limits of the whole cluster: which groups may grow, and by how much
//	wait      pods that are too young, bursts that still arrive, late machines of other groups
//	choose    the mix that costs least, or the operator's chain of expanders
//	gangs     whole or not at all: half gangs are taken back
//	explain   why each group does not help a pod that is left over
//
// Where a new rule goes:
//
//	a limit of what a group may add          limits.go, a row of bounds
//	a limit of the whole cluster             limits.go, clusterLimit, and room for the joint choice; the guard holds it as well
//	a limit of one zone                      a row of bounds: zones take turns, so that one at its limit stops the group
//	a failure that keeps a group for a while failures.go, noticeFailures and blockedBy
//	a wait before groups are asked           bursts.go for pods that keep coming, late.go for machines that do not
//	a way to choose among groups             expander.go and ranking.go; without expanders joint.go
//	a group that is not for some pods        candidates.go, of which the sites of a demand are made
//	room that is kept free                   headroom.go
//	why a pod is stuck                       stuck.go, and remedy.go for what would help
package grow

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
)

// Growth chooses the machines to add. Package plan calls its parts in this order:
//
//	call                does
//	Failures.Notice     turns failures since the last cycle into back-offs, and finds which groups are blocked
//	Rounds.Whole        has pods placed on what is there and makes the calls below; all of it again for each gang that is left out
//	Begin               adds machines for floors and for pods, and says of the other pods why no group helps
//	Claims.KeepBuffers  does the same for the pods of buffers, with what the waiting pods left
//	Headrooms.Keep      adds machines for headroom, with what both left
//	Request             makes one action of all that a group adds: Grows
//
// All parts share one [Orders], so each part sees at once what an earlier one added. After Request only consolidation adds a machine, and
// appends an action to Grows itself.
type Growth struct {
	*Orders
	Grows []action.SetCapacity

	Limits    *Limits
	Failures  *Failures
	Late      *Late
	Bursts    *Bursts
	Chain     *Chain
	Joint     *Joint
	Rounds    *Rounds
	Additions *Additions
	Headrooms *Headrooms
	Stuck     *Stuck
	turns     *turns
}

// NewGrowth is a cycle that adds nothing yet. The room lists each group of the snapshot once. missed outlives the cycle: it belongs to the
// Planner, which keeps in it why pods were stuck.
func NewGrowth(room *place.Room, missed *Misses) *Growth {
	o := &Orders{Room: room, Groups: make(map[cluster.GroupID]*Order, len(room.Listed))}
	for _, g := range room.Listed {
		st := &Order{Incoming: g}
		o.Groups[g.ID], o.Listed = st, append(o.Listed, st)
	}
	limits := &Limits{Orders: o}
	failures, additions, turns := &Failures{o, limits}, &Additions{o, limits}, &turns{o, limits}
	joint := &Joint{Orders: o, limits: limits, additions: additions, turns: turns}
	chain := &Chain{Orders: o, limits: limits, additions: additions, turns: turns, joint: joint}
	d := &Growth{
		Orders: o, Limits: limits, Failures: failures, Additions: additions, Joint: joint, Chain: chain,
		Late: &Late{o}, Bursts: &Bursts{o, limits}, Headrooms: &Headrooms{o, limits, additions}, turns: turns, Stuck: &Stuck{o, limits, failures, turns, chain, missed},
	}
	d.Rounds = &Rounds{o, d}
	return d
}
