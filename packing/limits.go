package packing

import "math"

// limits are those that could bind: machines of a group, or a cap.
type limits struct {
	rows []limitRow
	caps []int64 // what there is of each
}

// limitRow is one of them. The sum over machines of [limits.use] is at most right.
type limitRow struct {
	group, cap int // one of them is -1
	right      float64
}

// limits are those of the room that could bind for so many pods: if every kind had its best group to itself, more than there is would be
// used. What there is none of is not among them: see [room.machines].
func (in *instance) limits(count []int, left *room) *limits {
	l := &limits{caps: left.caps}
	var machines float64
	for c := range in.kinds {
		_, n := in.cheapestAlone(c, count[c])
		machines += math.Ceil(float64(count[c]) / float64(n))
	}
	for g := range in.groups {
		if has := left.machines(g, Unlimited); has > 0 && float64(left.most[g]) < machines {
			l.rows = append(l.rows, limitRow{group: g, cap: -1, right: float64(left.most[g])})
		}
	}
	for k, has := range left.caps {
		var most int64
		for g := range in.groups {
			most = max(most, in.uses[g*len(in.caps)+k])
		}
		if has > 0 && float64(machines*float64(most)) > float64(has) {
			l.rows = append(l.rows, limitRow{group: -1, cap: k, right: 1})
		}
	}
	return l
}

// cheapestAlone is the group on which so many pods of the kind alone cost least, and how many of them a machine there holds then.
func (in *instance) cheapestAlone(c, count int) (group, pods int) {
	best := math.Inf(1)
	for g := range in.groups {
		if n := min(in.alone(c, g), max(1, count)); n > 0 && in.price[g]/float64(n) < best {
			best, group, pods = in.price[g]/float64(n), g, n
		}
	}
	return group, pods
}

// use is what a machine of the group takes of a limit.
func (l *limits) use(in *instance, r limitRow, g int) float64 {
	switch {
	case r.group == g:
		return 1
	case r.group < 0:
		return float64(in.uses[g*len(in.caps)+r.cap]) / float64(l.caps[r.cap])
	}
	return 0
}

// charge sets what a machine of each group costs with its share of scarce limits, and what those limits cost together. The dual has a
// number for each limit, below zero where it is scarce.
func (l *limits) charge(in *instance, dual, dear []float64, debt *float64) {
	copy(dear, in.price)
	for i, r := range l.rows {
		y := max(0, -dual[i])
		*debt += float64(y * r.right)
		if y == 0 {
			continue
		}
		for g := range dear {
			dear[g] += float64(y * l.use(in, r, g))
		}
	}
}
