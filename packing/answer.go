package packing

import (
	"cmp"
	"slices"
)

// answer adds a draft to a solution, in the caller's classes. Pods of a kind stand for its classes in their order, so what is left of a
// kind is of its last classes. end is what the draft leaves of the limits.
func (in *instance) answer(s Solution, d *draft, hopeless []Left, end *room) Solution {
	s.Cost, s.Tie = d.cost, d.tie
	patterns := slices.Clone(d.patterns)
	slices.SortStableFunc(patterns, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(held(b.loads), held(a.loads)))
	})
	queue := slices.Clone(in.member)
	for c := range queue {
		queue[c] = slices.Clone(queue[c])
	}
	for _, p := range patterns {
		for p.count > 0 {
			n, pods := draw(queue, p)
			s.Machines = append(s.Machines, Machines{Group: in.group[p.group], Count: n, Pods: pods})
			p.count -= n
		}
	}
	s.Left = slices.Clone(hopeless)
	for c, members := range queue {
		for _, m := range members {
			l := in.why(c, end)
			l.Pods = m
			s.Left = append(s.Left, l)
		}
	}
	slices.SortFunc(s.Left, func(a, b Left) int { return a.Class - b.Class })
	return s
}

// held is how many pods a machine with these loads has.
func held(loads []load) (n int) {
	for _, l := range loads {
		n += l.count
	}
	return n
}

// draw takes the pods of as many machines of the pattern as hold the same classes from the queues.
func draw(queue [][]Pods, p pattern) (machines int, pods []Pods) {
	machines = p.count
	for _, l := range p.loads {
		machines = min(machines, queue[l.kind][0].Count/l.count)
	}
	n := max(1, machines) // none: a machine on which one class ends and the next begins
	for _, l := range p.loads {
		q := queue[l.kind]
		for need := l.count; need > 0; {
			take := min(need, q[0].Count/n)
			pods = append(pods, Pods{q[0].Class, take})
			need -= take
			if q[0].Count -= n * take; q[0].Count == 0 {
				q = q[1:]
			}
		}
		queue[l.kind] = q
	}
	slices.SortFunc(pods, func(a, b Pods) int { return a.Class - b.Class })
	return n, pods
}

// why is the limit that leaves pods of the kind without a place.
func (in *instance) why(c int, end *room) Left {
	l := Left{Because: GroupMax, Group: -1, Cap: -1}
	for g := range in.groups {
		if !in.takes[c].Has(g) {
			continue
		}
		if end.most[g] <= 0 {
			if l.Group < 0 {
				l.Group = in.group[g]
			}
			continue
		}
		for k, has := range end.caps {
			if in.uses[g*len(end.caps)+k] > has {
				l.Because, l.Cap = CapReached, k
				break
			}
		}
		if l.Because == CapReached {
			l.Group = -1
			return l
		}
	}
	return l
}
