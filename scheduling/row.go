package scheduling

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Row is nodes in an order in which pods are placed on them, the first that takes a pod being the one. For every kind of pods it
// remembers how far it has come: what refused such a pod for good is not asked again until something leaves or is taken back.
type Row struct {
	c     *Checker
	nodes []Handle
	at    map[int32]*cursor // by kind; a row is asked about few of them where each job is a kind of its own
	runs  []uint8           // by node, of those that together has looked at
}

// cursor is how far a row has come with a kind. It holds as long as what was pretended by then is pretended still.
type cursor struct {
	passed int // nodes at the beginning that refuse the kind for good
	next   int // nodes at the beginning that refuse it now
	then   journal.Point
}

// Append adds nodes at the row's end.
func (r *Row) Append(nodes ...Handle) { r.nodes = append(r.nodes, nodes...) }

// Nodes are the row's nodes in order. The slice must not be changed.
func (r *Row) Nodes() []Handle { return r.nodes }

// Fill places up to n pods of the class, each on the first node of the row that takes it, and returns how many it placed. Visit, when
// it is not nil, is called with every node that takes some, how many, in the order of placing; a node may come more than once.
func (r *Row) Fill(of *cluster.Class, n int, visit func(h Handle, n int)) int {
	all := r.c.world.Classes
	k := all.Kind(of)
	placed := r.fill(k, of, n, visit)
	for placed < n && all.Kind(of) != k { // the first of them has decided claims that they share
		k = all.Kind(of)
		placed += r.fill(k, of, n-placed, visit)
	}
	return placed
}

// fill is Fill as long as pods of the class are of the kind.
func (r *Row) fill(k *classes.Kind, of *cluster.Class, n int, visit func(h Handle, n int)) int {
	w := r.c.world
	cur := r.cursor(k)
	left, same := n, true
	cl := w.Classes.Of(of)
	for i := cur.next; i < len(r.nodes) && left > 0 && same; {
		h := r.nodes[i]
		if w.Full(k, h) {
			next := i + r.together(i)
			if cur.passed == i {
				cur.passed = next
			}
			i = next
			continue
		}
		a := w.Answer(k, h, nil)
		if a != classes.Welcome {
			if a == classes.Never && cur.passed == i {
				cur.passed++
			}
			i++
			continue
		}
		take := min(w.Room(k, h), left)
		before := w.Clock.Last()
		w.Place(h, nodes.Entry{Class: cl.ID, N: int32(take)})
		left -= take
		if visit != nil {
			visit(h, take)
		}
		same = k.Volumes == nil || left == 0 || w.Classes.Kind(of) == k
		if k.Relaxed() > before {
			i = cur.passed
		}
		cur.next = i
	}
	if left > 0 && same {
		cur.next = len(r.nodes)
	}
	cur.then = w.Now()
	return n - left
}

// Seat is room on a node of a row for so many pods.
type Seat struct {
	On   Handle
	Pods int
}

// Keep places up to n pods of the class on these seats, in their order, as far as nodes still take them. It returns the seats that it
// placed them on, and takes what it placed off those that it was given.
func (r *Row) Keep(of *cluster.Class, n int, seats []Seat) []Seat {
	w := r.c.world
	cl, k := w.Classes.Of(of), w.Classes.Kind(of)
	taken := make([]Seat, 0, len(seats))
	for i := range seats {
		for s := &seats[i]; s.Pods > 0 && n > 0 && w.Answer(k, s.On, nil) == classes.Welcome; {
			take := min(w.Room(k, s.On), s.Pods, n)
			s.Pods, n = s.Pods-take, n-take
			taken = append(taken, Seat{s.On, take})
			if w.Place(s.On, nodes.Entry{Class: cl.ID, N: int32(take)}) {
				k = w.Classes.Kind(of) // claims were decided
			}
		}
	}
	return taken
}

// cursor is how far the row has come with the kind, as far as that still holds.
func (r *Row) cursor(k *classes.Kind) *cursor {
	cur := r.at[k.ID]
	if cur == nil {
		if r.at == nil {
			r.at = map[int32]*cursor{}
		}
		cur = &cursor{}
		r.at[k.ID] = cur
	}
	if !r.c.world.Holds(cur.then) {
		*cur = cursor{}
	} else if k.Relaxed() > cur.then.Number {
		cur.next = cur.passed
	}
	return cur
}

// together is how many nodes of one block stand side by side in the row, from the one at i on.
func (r *Row) together(i int) int {
	for len(r.runs) < len(r.nodes) {
		last := len(r.runs)
		r.runs = append(r.runs, 0)
		for j := last; j > last-nodes.BlockLength && j >= 0 && nodes.Block(r.nodes[j]) == nodes.Block(r.nodes[last]); j-- {
			r.runs[j]++
		}
	}
	return int(r.runs[i])
}
