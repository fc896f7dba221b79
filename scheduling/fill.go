package scheduling

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// Row is nodes in an order in which pods are placed on them, the first that takes a pod being the one. For every kind of pods it
// remembers how far it has come: what refused such a pod for good is not asked again until something leaves or is taken back.
type Row struct {
	c     *Checker
	nodes []Handle
	runs  []uint8  // by node, of those that together has looked at
	at    []cursor // by kind
}

// cursor is how far a row has come with a kind.
type cursor struct {
	passed int // nodes at the beginning that refuse the kind for good
	next   int // nodes at the beginning that refuse it now
	number uint64
	depth  int // of the journal, whose last what-if had that number
	known  bool
}

// Row makes a row of nodes. Nodes that leave are passed over.
func (c *Checker) Row(nodes ...Handle) *Row { return &Row{c: c, nodes: nodes} }

// Append adds nodes at the row's end.
func (r *Row) Append(nodes ...Handle) { r.nodes = append(r.nodes, nodes...) }

// Nodes are the row's nodes in order. The slice must not be changed.
func (r *Row) Nodes() []Handle { return r.nodes }

// Fill places up to n pods of the class, each on the first node of the row that takes it, and returns how many it placed. Visit, when
// it is not nil, hears of every node that takes some, how many, in the order of placing; a node may come more than once.
func (r *Row) Fill(of *cluster.Class, n int, visit func(h Handle, n int)) int {
	k := r.c.kindFor(of)
	placed := r.fill(k, of, n, visit)
	for placed < n && r.c.kindFor(of) != k { // the first of them has decided claims that they share
		k = r.c.kindFor(of)
		placed += r.fill(k, of, n-placed, visit)
	}
	return placed
}

// Seat is room on a node of a row for so many pods.
type Seat struct {
	On     Handle
	Held   bool // on a node of the last snapshot, which found such pods their room there
	stands bool // they do: see [Checker.Lodge]
	Pods   int
}

// Keep places up to n pods of the class on these seats, in their order, as far as nodes still take them, and returns the seats that it placed
// them on, which must not be changed. What is taken is taken off the seats, unless what is returned is these seats themselves: then they are used
// up. Pods that stand there already are not placed again, and stand no longer where they are too many.
func (r *Row) Keep(of *cluster.Class, n int, seats []Seat) []Seat {
	c, left := r.c, n
	cl := c.class(of)
	if c.stay(cl, n, seats) {
		return seats
	}
	k := c.kindFor(of)
	if c.plain(k, cl) {
		return c.seat(k, cl, n, seats)
	}
	taken := make([]Seat, 0, len(seats))
	for i := range seats {
		s := &seats[i]
		if s.stands {
			left -= c.keepStanding(cl, s, left, &taken)
		}
		for s.Pods > 0 && left > 0 && c.judge(k, s.On, nil) == welcome {
			take := int(min(c.room(k, s.On), int64(min(s.Pods, left))))
			decided := c.put(s.On, entry{class: cl.id, n: int32(take)})
			s.Pods, left = s.Pods-take, left-take
			taken = append(taken, Seat{On: s.On, Pods: take})
			if decided {
				k = c.kindFor(of)
			}
		}
	}
	return taken
}

// stay says whether pods of the class stand on all these seats and are no more than n.
func (c *Checker) stay(cl *class, n int, seats []Seat) bool {
	if len(seats) == 0 {
		return true
	}
	if len(cl.mounts) > 0 && cl.provided == nil {
		for i := range seats {
			seats[i].stands = false // it was placed elsewhere
		}
	}
	cl.unkept = false
	return allStand(seats, n)
}

// plain says whether where pods of the class are has to do with what they ask for alone, for them and for all others that are known so far.
func (c *Checker) plain(k *kind, cl *class) bool {
	return len(c.nominated) == 0 && !c.minds(k) && len(k.spec.ports)+len(cl.mounts)+len(cl.owns) == 0 &&
		!slices.ContainsFunc(cl.hits, func(s *selector) bool { return len(s.counters) > 0 })
}

// seat is keep for plain pods: one what-if for all of them.
func (c *Checker) seat(k *kind, cl *class, n int, seats []Seat) []Seat {
	var placed []Seat
	left := n
	taken := make([]Seat, 0, len(seats))
	for i := range seats {
		s := &seats[i]
		if s.stands {
			left -= c.keepStanding(cl, s, left, &taken)
		}
		if s.Pods == 0 || left == 0 || c.alone(k, s.On) != welcome {
			continue
		}
		take := int(min(c.room(k, s.On), int64(min(s.Pods, left))))
		e := entry{class: cl.id, n: int32(take)}
		c.slots[s.On].pods = append(c.slots[s.On].pods, e)
		c.count(s.On, &e, e.n)
		placed = append(placed, Seat{On: s.On, Pods: take})
		taken = append(taken, Seat{On: s.On, Pods: take})
		s.Pods, left = s.Pods-take, left-take
	}
	if len(placed) > 0 {
		c.push(whatIf{what: seated, entry: entry{class: cl.id}}).further().seats = placed
	}
	return taken
}

// allStand says whether pods stand on all seats, and are no more than n.
func allStand(seats []Seat, n int) bool {
	for i := range seats {
		if n -= seats[i].Pods; !seats[i].stands || n < 0 {
			return false
		}
	}
	return true
}

// keepStanding has up to n pods that stand on the seat keep it, all of them or none, and returns how many do. The others are to be placed.
func (c *Checker) keepStanding(cl *class, s *Seat, n int, taken *[]Seat) int {
	s.stands = false
	if s.Pods > n {
		c.giveUp(cl, *s)
		return 0
	}
	all := s.Pods
	*taken = append(*taken, Seat{On: s.On, Pods: all})
	s.Pods = 0
	return all
}

// fill is Fill as long as pods of the class are of the kind.
func (r *Row) fill(k *kind, of *cluster.Class, n int, visit func(h Handle, n int)) int {
	c := r.c
	for len(r.at) <= int(k.id) {
		r.at = append(r.at, cursor{})
	}
	cur := &r.at[k.id]
	if !cur.known || !c.stands(cur) {
		*cur = cursor{}
	} else if k.relaxed() > cur.number {
		cur.next = cur.passed
	}
	left, same := n, true
	cl := c.class(of)
	for i := cur.next; i < len(r.nodes) && left > 0 && same; {
		h := r.nodes[i]
		if c.full(k.spec, blockOf(h)) {
			next := i + r.together(i)
			if cur.passed == i {
				cur.passed = next
			}
			i = next
			continue
		}
		a := c.judge(k, h, nil)
		if a != welcome {
			if a == notAnyMore && cur.passed == i {
				cur.passed++
			}
			i++
			continue
		}
		take := int(min(c.room(k, h), int64(left)))
		before := c.last
		c.put(h, entry{class: cl.id, n: int32(take)})
		left -= take
		if visit != nil {
			visit(h, take)
		}
		same = k.volumes == nil || left == 0 || c.kindFor(of) == k
		if k.relaxed() > before {
			i = cur.passed
		}
		cur.next = i
	}
	if left > 0 && same {
		cur.next = len(r.nodes)
	}
	cur.known, cur.number, cur.depth = true, c.last, c.journal.len()
	return n - left
}

// together is how many nodes of one block stand side by side in the row, from the one at i on.
func (r *Row) together(i int) int {
	for len(r.runs) < len(r.nodes) {
		last := len(r.runs)
		r.runs = append(r.runs, 0)
		for j := last; j > last-blockLength && j >= 0 && blockOf(r.nodes[j]) == blockOf(r.nodes[last]); j-- {
			r.runs[j]++
		}
	}
	return int(r.runs[i])
}

// stands says whether what the cursor knows is still so: what was pretended then is pretended still, and nothing has left since.
func (c *Checker) stands(cur *cursor) bool {
	if cur.depth > c.journal.len() || c.loosened > cur.number {
		return false
	}
	return cur.depth == 0 || c.journal.at(cur.depth-1).number <= cur.number
}

// relaxed is the last what-if after which a node may take the kind that did not before.
func (k *kind) relaxed() uint64 {
	var at uint64
	for i := range k.spreads {
		at = max(at, k.spreads[i].counter.relaxed)
	}
	for _, n := range k.near {
		at = max(at, n.relaxed)
	}
	if k.volumes != nil {
		for _, w := range k.volumes.undecided {
			at = max(at, w.last)
		}
	}
	return at
}
