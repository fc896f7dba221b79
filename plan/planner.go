package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/scheduling"
)

// Planner decides cycle after cycle for the price of what changed. It remembers work, never a decision: [Planner.Decide] returns what
// [Decide] would, byte for byte, whatever it was asked before. The zero value is ready for use. It is not safe for concurrent use.
//
// What it remembers holds for as long as the pointers that it was found of: see [cluster.Snapshot]. Whoever leaves is judged anew in the
// cycle in which it does; what is remembered only lets nodes stay for less.
type Planner struct {
	seen    *cluster.Snapshot // by the last cycle
	allowed *policy.Policy    // by the last cycle
	check   *scheduling.Checker

	facts  node.Memo
	missed grow.Misses
}

// Decide plans one cycle. It changes none of its arguments, and nobody may change them afterwards: the snapshots that it is given one
// after the other share structure, and so do the memories that it returns.
func (p *Planner) Decide(s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory) (action.Plan, memory.Memory) {
	return p.begin(s, allowed, m).decide()
}

// begin turns to the next cycle: what does not hold any more is forgotten.
//
//	what changed since the last cycle                                  forgotten
//	the checker had to be made anew, the policy, sameTerms of a group  the facts of all nodes
//	disruption budgets, controllers of pods                            the consent of the pods of all nodes
//	one node; time, of a passing node                                  the facts of that node: see [node.Memo.Look]
func (p *Planner) begin(s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory) *decision {
	check := scheduling.NewChecker(s, scheduling.After(p.check), scheduling.Expendable(allowed.Growth.PriorityCutoff))
	if check != p.check || p.allowed != allowed || !sameTerms(p.seen.Groups, s.Groups) {
		p.facts.Facts = nil
	}
	if p.seen != nil && (!slices.Equal(p.seen.Objects.Budgets, s.Objects.Budgets) || !p.seen.Objects.Controllers.Same(s.Objects.Controllers)) {
		for _, v := range p.facts.Facts {
			v.Consent = node.Consent{}
		}
	}
	d := newDecision(p, s, allowed, m, check)
	p.facts.Look(d.View, p.seen)
	p.missed.Turn()
	p.seen, p.allowed, p.check = s, allowed, check
	return d
}

// sameTerms says whether the same groups hold the same nodes to the same thresholds: all of a group that a [node.Facts] tells.
func sameTerms(a, b []*cluster.Group) bool {
	return slices.EqualFunc(a, b, func(a, b *cluster.Group) bool {
		return a.ID == b.ID && a.Parks == b.Parks && a.ControlPlane == b.ControlPlane && a.Spot == b.Spot &&
			node.SameOption(a.Options.Threshold, b.Options.Threshold) && node.SameOption(a.Options.GPUThreshold, b.Options.GPUThreshold) &&
			slices.EqualFunc(a.Options.DaemonWork, b.Options.DaemonWork, cluster.PodSelector.Equal)
	})
}
