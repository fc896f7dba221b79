package packing

import (
	"cmp"
	"slices"
)

// chance is a stream of numbers that look drawn and are the same every time (splitmix64).
type chance uint64

func (c *chance) below(n int) int {
	*c += 0x9e3779b97f4a7c15
	z := uint64(*c)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return int((z ^ (z >> 31)) % uint64(n))
}

// Work of [improve], counted in numbers looked at: for a problem of few kinds, and more for each further kind and pattern.
const (
	improveWork    = 4_000_000
	improveWorkFor = 30
)

// improvement takes machines of a draft apart and builds them cheaper.
type improvement struct {
	repacker
	draft  *draft
	left   *room
	have   []int    // of the pods taken out, by kind; zero between rounds
	picked []picked // machines taken out
	chance chance
}

// picked is a number of machines of a pattern.
type picked struct{ pattern, count int }

// improve takes some machines of the draft apart and looks for cheaper ones that hold the same pods, again and again: those that cost
// most beyond the worth of what they hold, and others with them. A draft of few machines is taken apart as a whole first. It ends when
// the draft costs no more than the bound, or its work is done.
func improve(in *instance, d *draft, p *prices, cuts []cut, left *room, bound int64, effort int) {
	im := improvement{
		repacker: repacker{in: in, worth: p, cuts: cuts, kinds: make([]int, 0, in.kinds)},
		draft:    d, left: left, have: make([]int, in.kinds),
	}
	im.work = improveWork
	if in.kinds > columnKinds {
		im.work = improveWorkFor * (in.kinds + len(d.patterns))
	}
	im.work = int(float64(im.work) * gain(d.cost, bound) * float64(effort) / defaultEffort)
	machines := 0
	for i, q := range d.patterns {
		machines += q.count
		im.picked = append(im.picked, picked{i, q.count})
	}
	if machines <= wholeMachines && d.cost > bound {
		im.rebuild(wholeTries)
	}
	d.bySlack(in, p)
	changed := 0
	for round := 0; round < roundsMost && im.work > 0 && d.cost > bound && len(d.patterns) > 1; round++ {
		im.pick(round)
		if im.rebuild(fleetTries) {
			changed++
		}
		if changed > 0 && (changed >= sweep || round%sweep == 0) {
			d.bySlack(in, p)
			changed = 0
		}
		im.work -= 200
	}
	d.patterns = slices.DeleteFunc(d.patterns, func(q pattern) bool { return q.count == 0 })
}

// Shape of [improve]: up to how many machines a draft is taken apart as a whole, and how many fleets are tried for it; rounds at most;
// and after how many of them the worst machines are looked for again.
const (
	wholeMachines = 24
	wholeTries    = 80
	roundsMost    = 2_000
	sweep         = 16
)

// pick chooses two to five machines: the first goes round over the worst, its company is drawn, the worse the likelier.
func (im *improvement) pick(round int) {
	im.picked = im.picked[:0]
	n := len(im.draft.patterns)
	im.add(round / 4 % n)
	for range 1 + round%4 {
		im.add(min(im.chance.below(n), im.chance.below(n)))
	}
}

// add picks one machine of the pattern, if it has one more.
func (im *improvement) add(pattern int) {
	for i := range im.picked {
		if p := &im.picked[i]; p.pattern == pattern {
			if p.count < im.draft.patterns[pattern].count {
				p.count++
			}
			return
		}
	}
	if im.draft.patterns[pattern].count > 0 {
		im.picked = append(im.picked, picked{pattern, 1})
	}
}

// rebuild replaces the picked machines by cheaper ones, and says whether it found any.
func (im *improvement) rebuild(tries int) bool {
	in, d := im.in, im.draft
	var under below
	im.kinds = im.kinds[:0]
	for _, p := range im.picked {
		q := d.patterns[p.pattern]
		under.cost += int64(p.count) * in.cost[q.group]
		under.tie += int64(p.count) * in.tie[q.group]
		im.left.take(q.group, -p.count)
		for _, l := range q.loads {
			if im.have[l.kind] == 0 {
				im.kinds = append(im.kinds, l.kind)
			}
			im.have[l.kind] += p.count * l.count
		}
	}
	slices.SortFunc(im.kinds, func(a, b int) int { return in.order.place[a] - in.order.place[b] })
	fresh := im.repack(im.have, im.left, under, tries)
	for _, c := range im.kinds {
		im.have[c] = 0
	}
	if fresh == nil {
		for _, p := range im.picked {
			im.left.take(d.patterns[p.pattern].group, p.count)
		}
		return false
	}
	for _, p := range im.picked {
		d.patterns[p.pattern].count -= p.count
	}
	d.cost -= under.cost
	d.tie -= under.tie
	for _, q := range fresh {
		im.left.take(q.group, q.count)
		d.add(in, q)
	}
	return true
}

// bySlack sorts patterns by what a machine costs beyond the worth of what it holds, the most first.
func (d *draft) bySlack(in *instance, p *prices) {
	d.patterns = slices.DeleteFunc(d.patterns, func(q pattern) bool { return q.count == 0 })
	type rated struct {
		pattern
		slack float64
	}
	all := make([]rated, len(d.patterns))
	for i, q := range d.patterns {
		all[i] = rated{q, in.price[q.group] - worthOf(q.loads, p.pod)}
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Compare(b.slack, a.slack) })
	for i, q := range all {
		d.patterns[i] = q.pattern
	}
}
