// Package plan decides what to do about a cluster, and why: a pure function from a snapshot, the operator's policy and what the
// last cycles left in memory, to actions and one verdict for every pending pod, node and node group. Its only clock is the
// snapshot's time: the same inputs give the same plan, byte for byte, for ever.
//
// A cycle passes through its packages in the order in which they import each other: node, place, grow, claim, remove.
package plan

import (
	"slices"
	"sort"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/claim"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/plan/remove"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Decide plans one cycle. It changes none of its arguments. Where cycle follows cycle a [Planner] does the same for less.
func Decide(s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory) (action.Plan, memory.Memory) {
	return new(Planner).Decide(s, allowed, m)
}

// decide runs the phases of one cycle. Each step works on what the steps before it left:
//
//	step           works on                                       leaves
//	Notice         the snapshot, the memory                       back-offs and breakers; which machines are lost, which are started again
//	Learn          pods that began or ended                       run times, for which pods that wait their turn ask
//	OpenRoom       lost and started machines                      coming machines and starting nodes as room of the checker
//	Collect        that room, on which nominated pods are placed  demands of the pods that wait
//	ClaimRequests  these demands: some consume a request          demands of virtual pods, among the others
//	ClaimBuffers   the buffers' objects                           demands of virtual pods, in Room.Later
//	Order          all demands but those in Room.Later            their order, and verdicts on pods that are not sluice's to place
//	CollectGangs   the order of the demands                       gangs, in the order of their first demands
//	Bound          gangs, which wait as a whole                   verdicts on pods that a later cycle looks at
//	Whole          all of it                                      places of pods, and machines to add
//	Decide         what counts on which node                      steps of nodes that leave
//
// Whole may call its function several times. Package grow takes back all that a call changed before the next one begins.
func (d *decision) decide() (action.Plan, memory.Memory) {
	d.growth.Failures.Notice()
	d.room.RunTimes.Learn()
	d.room.OpenRoom()
	d.room.Collect()
	d.claims.ClaimRequests()
	d.claims.ClaimBuffers()
	d.room.Order()
	d.room.CollectGangs()
	d.room.Bound()
	d.growth.Rounds.Whole(func() {
		d.room.PlacePending()
		d.growth.Begin()
		d.claims.KeepBuffers()
		d.growth.Headrooms.Keep()
		d.growth.Request()
	})
	d.room.Reservations.Remember()
	d.room.Unbound.Remember()
	d.room.NoteAsking()
	d.claims.OpenGates()
	d.claims.AnswerClaims()
	d.removal.Decide()
	return d.finish()
}

// decision is one cycle in the making.
type decision struct {
	*node.View
	room    *place.Room
	growth  *grow.Growth
	claims  *claim.Claims
	removal *remove.Removal
}

func newDecision(p *Planner, s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory, check *scheduling.Checker) *decision {
	v := node.NewView(s, allowed, m, check, &p.facts)
	room := place.NewRoom(v)
	growth := grow.NewGrowth(room, &p.missed)
	return &decision{v, room, growth, claim.NewClaims(growth), remove.NewRemoval(growth)}
}

// finish puts the plan together. Growth comes first, since pods wait for it. Writes to groups go one after the other: the guard counts each
// growth before it is asked about the next one (S-06).
func (d *decision) finish() (action.Plan, memory.Memory) {
	d.Wake(d.Policy.Next(d.Snapshot.Groups, d.Now))
	p := action.Plan{Time: d.Now, Counted: d.room.Counted, Cost: d.growth.Joint.Cost, Measure: d.removal.Measure, Next: d.Next}
	for _, g := range d.growth.Grows {
		p.Actions = append(p.Actions, g)
	}
	if d.growth.Chain.Ask != nil {
		p.Actions = append(p.Actions, *d.growth.Chain.Ask)
	}
	for _, g := range d.claims.Gates {
		p.Actions = append(p.Actions, g)
	}
	p.Actions = append(p.Actions, d.removal.Steps...)
	for _, g := range d.Snapshot.Groups {
		if machines := d.removal.Leaving[g.ID]; len(machines) > 0 {
			sort.Slice(machines, func(i, j int) bool { return machines[i].ID < machines[j].ID })
			p.Actions = append(p.Actions, action.DeleteInstances{Group: g.ID, Machines: machines})
		}
	}
	p.Actions = append(p.Actions, d.removal.Steering...)
	p.Actions = append(p.Actions, d.claims.Answers...)
	p.Actions = node.Permitted(p.Actions, d.Snapshot.Objects.Lacks)
	p.Verdicts = d.allVerdicts()
	return p, d.Memory
}

// allVerdicts are the verdicts in the order in which a plan has them.
//
// Verdicts on waiting pods are a prefix of PodVerdicts. Virtual pods stand behind them, and have no verdict of their own: package claim
// sums them up in one verdict on their request or buffer.
func (d *decision) allVerdicts() []action.Verdict {
	pods, machines, groups := d.room.PodVerdicts[:len(d.Snapshot.Pending)+d.room.Driven], d.Verdicts[reason.KindInstance], d.Verdicts[reason.KindGroup]
	all := append(slices.Grow(pods, len(machines)+len(d.Snapshot.Nodes)+len(groups)), inOrder(machines)...)
	nodes := len(all)
	all = append(all, d.Memo.Said...)
	for _, v := range d.Besides {
		all[nodes+v.At] = v.Verdict
	}
	all = append(all, inOrder(groups)...)
	return append(append(all, inOrder(d.Verdicts[reason.KindRequest])...), inOrder(d.Verdicts[reason.KindBuffer])...)
}

// inOrder sorts verdicts by name.
func inOrder(all []action.Verdict) []action.Verdict {
	byName := func(a, b action.Verdict) int { return strings.Compare(a.Subject.Name, b.Subject.Name) }
	if !slices.IsSortedFunc(all, byName) {
		slices.SortStableFunc(all, byName)
	}
	return all
}
