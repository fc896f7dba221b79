package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
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

	facts  nodeFacts
	recall recall
	missed misses
}

// nodeFacts are what nodes show by themselves, kept from cycle to cycle.
type nodeFacts struct {
	sights   []*sight        // of the snapshot's nodes, in their order
	said     []Verdict       // about the same nodes; of those that are watched by the cycle that is made, or the last one
	noticed  []*cluster.Node // of the same nodes those to whose machines the cloud has announced something, or where an answer to that still stands
	spot     []*cluster.Node // of the same nodes those whose spot machines may be taken away
	doubtful []*cluster.Node // of the same nodes those that could be a machine to which they are not joined, in their order
	shunned  []int           // nodes that bear a soft taint
	marked   []*cluster.Node // of the same nodes those whose mark is to be changed
	working  []int           // of the same nodes those that hold pods of Jobs
	watched  []int           // nodes that each cycle judges: what becomes of them depends on more than they show
	owned    []*cluster.Node // nodes without a machine that bear the name of a sluice
	passing  []int           // of these, those that time alone made other ones when all were looked at last
}

// recall is what placing knows of the last cycle.
type recall struct {
	held  held
	names names
}

// Decide plans one cycle. It changes none of its arguments, and nobody may change them afterwards: the snapshots that it is given one
// after the other share structure, and so do the memories that it returns.
func (p *Planner) Decide(s *cluster.Snapshot, allowed *policy.Policy, m Memory) (Plan, Memory) {
	return p.begin(s, allowed, m).decide()
}

// begin turns to the next cycle: what does not hold any more is forgotten.
func (p *Planner) begin(s *cluster.Snapshot, allowed *policy.Policy, m Memory) *decision {
	check := scheduling.NewChecker(s, scheduling.After(p.check), scheduling.Expendable(allowed.Growth.PriorityCutoff))
	if check != p.check || p.allowed != allowed || !sameTerms(p.seen.Groups, s.Groups) {
		p.facts.sights = nil
	}
	if p.seen != nil && (!slices.Equal(p.seen.Objects.Budgets, s.Objects.Budgets) || !p.seen.Objects.Controllers.Same(s.Objects.Controllers)) {
		for _, v := range p.facts.sights {
			v.consent = consent{}
		}
	}
	d := newDecision(p, s, allowed, m, check)
	d.room.queueUp(d.room.others())
	p.facts.look(d.view, p.seen)
	p.missed.turn()
	p.seen, p.allowed, p.check = s, allowed, check
	return d
}

// sameTerms says whether the same groups hold the same nodes to the same thresholds: all of a group that a [sight] tells.
func sameTerms(a, b []*cluster.Group) bool {
	return slices.EqualFunc(a, b, func(a, b *cluster.Group) bool {
		return a.ID == b.ID && a.Parks == b.Parks && a.ControlPlane == b.ControlPlane && a.Spot == b.Spot &&
			sameOption(a.Options.Threshold, b.Options.Threshold) && sameOption(a.Options.GPUThreshold, b.Options.GPUThreshold) &&
			slices.EqualFunc(a.Options.DaemonWork, b.Options.DaemonWork, cluster.PodSelector.Equal)
	})
}

func sameOption[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// same says whether two lists are one, and not only equal.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// look looks at the nodes: anew at those that changed since the last snapshot, and at those that look different as time passes.
func (p *nodeFacts) look(d *view, seen *cluster.Snapshot) {
	nodes := d.s.Nodes
	if p.sights != nil && same(seen.Nodes, nodes) {
		for _, i := range p.passing {
			if p.sights[i].passing {
				p.sights[i] = d.look(nodes[i])
			}
		}
		return
	}
	var last []*cluster.Node
	if p.sights != nil {
		last = seen.Nodes
	}
	sights := make([]*sight, len(nodes))
	j := 0
	for i, n := range nodes {
		for j < len(last) && last[j] != n && last[j].Name() < n.Name() {
			j++
		}
		if j < len(last) && last[j] == n && !p.sights[j].passing {
			sights[i] = p.sights[j]
		} else {
			sights[i] = d.look(n)
		}
	}
	before := p.sights
	if len(p.said) != len(nodes) || len(before) != len(nodes) {
		p.said, before = make([]Verdict, len(nodes)), make([]*sight, len(nodes))
	}
	p.sights, p.watched, p.shunned, p.doubtful = sights, p.watched[:0], p.shunned[:0], nil
	p.noticed, p.spot, p.marked, p.owned, p.working, p.passing = nil, nil, nil, nil, p.working[:0], p.passing[:0]
	for i, v := range sights {
		if v.plain {
			if v != before[i] {
				p.said[i] = v.verdict
			}
			continue
		}
		if v.marked {
			p.marked = append(p.marked, v.Node)
		}
		if v.owned {
			p.owned = append(p.owned, v.Node)
		}
		if v.noticed || v.answered {
			p.noticed = append(p.noticed, v.Node)
		}
		if v.leavesSpot {
			p.spot = append(p.spot, v.Node)
		}
		if v.doubtful {
			p.doubtful = append(p.doubtful, v.Node)
		}
		if v.shunned {
			p.shunned = append(p.shunned, i)
		}
		if v.works {
			p.working = append(p.working, i)
		}
		if v.settled && !v.passing {
			p.said[i] = v.verdict
			v.plain = !(v.marked || v.owned || v.noticed || v.answered || v.leavesSpot || v.doubtful || v.shunned || v.works)
		} else {
			p.said[i] = Verdict{}
			p.watched = append(p.watched, i)
			if v.passing {
				p.passing = append(p.passing, i)
			}
		}
	}
}
