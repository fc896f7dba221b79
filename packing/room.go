package packing

import "slices"

// room is what limits leave: machines of each group, and of each cap.
type room struct {
	in   *instance
	most []int
	caps []int64
}

func newRoom(in *instance) *room {
	return &room{in: in, most: slices.Clone(in.most), caps: slices.Clone(in.caps)}
}

// machines is how many machines of the group may still be added, at most limit.
func (r *room) machines(g, limit int) int {
	limit = min(limit, r.most[g])
	for k, has := range r.caps {
		if u := r.in.uses[g*len(r.caps)+k]; u > 0 && int64(limit) > has/u {
			limit = int(max(0, has/u))
		}
	}
	return limit
}

// take adds n machines of the group; a negative n gives them back.
func (r *room) take(g, n int) {
	if r.most[g] != Unlimited {
		r.most[g] -= n
	}
	for k := range r.caps {
		r.caps[k] -= int64(n) * r.in.uses[g*len(r.caps)+k]
	}
}

// pattern is a number of machines of a group that hold the same pods.
type pattern struct {
	group, count int
	loads        []load // sorted by kind, counts at least 1
}

// load is a number of pods of a kind on one machine.
type load struct{ kind, count int }

// draft is a plan in the making: machines, and pods of each kind that have no place.
type draft struct {
	patterns []pattern
	left     []int // by kind
	cost     int64
	tie      int64
}

// add puts a pattern into the draft. Its pods are not taken from left.
func (d *draft) add(in *instance, p pattern) {
	d.patterns = append(d.patterns, p)
	d.cost += int64(p.count) * in.cost[p.group]
	d.tie += int64(p.count) * in.tie[p.group]
}

// compare is negative when d is the better plan: it serves the more important pods, then more of them by what they are worth, then
// it costs less, then it has the smaller tie.
func (d *draft) compare(in *instance, e *draft, worth []float64) int {
	if c := compareLeft(in, d.left, e.left, worth); c != 0 {
		return c
	}
	switch {
	case d.cost != e.cost && d.cost < e.cost, d.cost == e.cost && d.tie < e.tie:
		return -1
	case d.cost == e.cost && d.tie == e.tie:
		return 0
	}
	return 1
}

// compareLeft compares what two plans leave, rank by rank from the highest: the one that leaves less worth is better.
func compareLeft(in *instance, a, b []int, worth []float64) int {
	if slices.Equal(a, b) {
		return 0
	}
	for above := Unlimited; ; {
		rank, some := 0, false
		for c := range in.kinds {
			if in.rank[c] < above && (!some || in.rank[c] > rank) && a[c] != b[c] {
				rank, some = in.rank[c], true
			}
		}
		if !some {
			return 0
		}
		var more float64
		for c := range in.kinds {
			if in.rank[c] == rank {
				more += float64(float64(a[c]-b[c]) * worth[c])
			}
		}
		switch {
		case more > 1e-6:
			return 1
		case more < -1e-6:
			return -1
		}
		above = rank
	}
}
