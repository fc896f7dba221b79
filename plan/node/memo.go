package node

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
)

// SameOption says whether two options are both unset, or set to the same.
func SameOption[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// same says whether two lists are one, and not only equal.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Look looks at the nodes: anew at those that changed since the last snapshot, and at those that look different as time passes.
//
//	since the last cycle               looked at anew
//	the list of nodes is the same one  passing nodes alone
//	the list is another one            nodes whose object is another one, and passing ones
//	Facts is nil: see [plan.Planner]   all nodes
//
// Both lists are sorted by name, so they are walked side by side, once.
func (p *Memo) Look(d *View, seen *cluster.Snapshot) {
	nodes := d.Snapshot.Nodes
	if p.Facts != nil && same(seen.Nodes, nodes) {
		// The other lists hold: what they tell of a node does not change by time alone.
		for _, i := range p.Passing {
			if p.Facts[i].Passing {
				p.Facts[i] = d.look(nodes[i])
			}
		}
		return
	}
	var last []*cluster.Node
	if p.Facts != nil {
		last = seen.Nodes
	}
	facts := make([]*Facts, len(nodes))
	j := 0
	for i, n := range nodes {
		for j < len(last) && last[j] != n && last[j].Name() < n.Name() {
			j++
		}
		if j < len(last) && last[j] == n && !p.Facts[j].Passing {
			facts[i] = p.Facts[j]
		} else {
			facts[i] = d.look(n)
		}
	}
	before := p.Facts
	if len(p.Said) != len(nodes) || len(before) != len(nodes) {
		p.Said, before = make([]action.Verdict, len(nodes)), make([]*Facts, len(nodes))
	}
	p.Facts, p.Watched, p.Steered, p.Doubtful = facts, p.Watched[:0], p.Steered[:0], nil
	p.Noticed, p.Spot, p.Marked, p.Owned, p.Passing = nil, nil, nil, nil, p.Passing[:0]
	for i, v := range facts {
		// Most nodes of a large cluster are such: a cycle spends one comparison on each.
		if v.plain {
			if v != before[i] {
				p.Said[i] = v.Verdict
			}
			continue
		}
		if v.marked {
			p.Marked = append(p.Marked, v.Node)
		}
		if v.owned {
			p.Owned = append(p.Owned, v.Node)
		}
		if v.noticed || v.answered {
			p.Noticed = append(p.Noticed, v.Node)
		}
		if v.leavesSpot {
			p.Spot = append(p.Spot, v.Node)
		}
		if v.doubtful {
			p.Doubtful = append(p.Doubtful, v.Node)
		}
		if v.steered {
			p.Steered = append(p.Steered, i)
		}
		if v.Settled && !v.Passing {
			p.Said[i] = v.Verdict
			v.plain = !(v.marked || v.owned || v.noticed || v.answered || v.leavesSpot || v.doubtful || v.steered)
		} else {
			p.Said[i] = action.Verdict{}
			p.Watched = append(p.Watched, i)
			if v.Passing {
				p.Passing = append(p.Passing, i)
			}
		}
	}
}
