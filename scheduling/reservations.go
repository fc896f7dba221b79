package scheduling

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/storage"
	"sluice.dev/sluice/scheduling/internal/whatif"
)

// Most pods that wait keep their places from cycle to cycle. Those that mind nobody and whom nobody minds can stand on their nodes from one
// snapshot to the next, as pods do that run there. Whether such a pod has room where it was depends on that node alone. So it need not be
// asked about for as long as the node is as it was, and gives its place up in the snapshot in which the node is another one.
// docs/decisions/0026 says why.
//
// Reservations stand below all what-ifs. On their nodes they are entries without a pod.
//
//	state       evidence                                   next
//	none        never named, or given up                   standing, when Reserve names it and the node is as it was
//	standing    among the seats of its class               kept, when Keep asks for it; none, when its node changes,
//	                                                       Reserve does not name it, or Keep asks for fewer pods
//	unkept      standing, with a claim that waits for it   standing, when Keep asks for it; none, when a pod of its class
//	                                                       is placed before

// Reservation is pods of one class, with the places that they had after the last snapshot.
type Reservation struct {
	Of    *cluster.Class
	Pods  int    // that there are now
	Seats []Seat // where [Row.Keep] will be asked to place them; see [Seat.Held]
}

// Seat is room on a node of a row for so many pods.
type Seat struct {
	On     Handle
	Held   bool // on a node of the last snapshot, which found such pods their room there
	stands bool // they do: see [Checker.Reserve]
	Pods   int
}

// alike says whether two seats are room for as many pods on one node.
func (s Seat) alike(o Seat) bool { return s.On == o.On && s.Pods == o.Pods }

// standing is the pods of one class that stand from snapshot to snapshot.
type standing struct {
	class   *classes.Class
	seats   []Seat             // on which they do
	decided []storage.Decision // claims of the one that does
	unkept  bool               // it has yet to be kept: until then its claims wait for it
	named   bool               // in this call of [Checker.Reserve]
}

// reservations are all pods that stand.
type reservations struct {
	world   *whatif.World
	all     []*standing     // that were named last; whoever has a seat is among them
	of      []*standing     // by class, nil for none
	changed map[Handle]bool // nodes that changed in this snapshot, or are gone
	founded Handle          // nodes before it were there in the last snapshot, without what-ifs
	moving  []Seat          // memory for [reservations.seats]
}

// newReservations has nobody stand.
func newReservations(w *whatif.World) *reservations {
	return &reservations{world: w, changed: map[Handle]bool{}}
}

// turn begins a later snapshot. Nothing is pretended.
func (r *reservations) turn() {
	r.founded = Handle(r.world.Nodes.Size())
	clear(r.changed)
}

// class is the pods of the class that stand.
func (r *reservations) class(cl *classes.Class) *standing {
	for len(r.of) <= int(cl.ID) {
		r.of = append(r.of, nil)
	}
	if r.of[cl.ID] == nil {
		r.of[cl.ID] = &standing{class: cl}
	}
	return r.of[cl.ID]
}

// reserve is [Checker.Reserve].
func (r *reservations) reserve(all []Reservation) {
	for i := range all {
		r.world.Classes.Current(r.world.Classes.Of(all[i].Of)) // who shares claims with whom is known of all before the first is looked at
	}
	now := make([]*standing, len(all))
	for i := range all {
		s := r.class(r.world.Classes.Of(all[i].Of))
		now[i], s.named = s, true
		r.resettle(s, r.seats(s, &all[i]))
		r.keep(s, s.decided == nil)
	}
	for _, s := range r.all {
		if !s.named {
			r.resettle(s, nil)
		}
	}
	for _, s := range now {
		s.named = false
	}
	r.all = now
}

// keep notes whether the one pod of the class that has claims was asked for.
func (r *reservations) keep(s *standing, kept bool) {
	if s.unkept == kept {
		s.unkept = !kept
		r.world.Storage.Reserve(s.class.Volumes, !kept)
	}
}

// seats are those on which the pods stand now, and notes it on them.
func (r *reservations) seats(s *standing, named *Reservation) []Seat {
	now := r.moving[:0]
	if r.certain(s, named) {
		for i := range named.Seats {
			seat := &named.Seats[i]
			h := seat.On
			if seat.stands = seat.Held && h < r.founded && r.world.Nodes.Present(h) && !r.changed[h]; seat.stands {
				now = append(now, *seat)
			}
		}
	}
	r.moving = now
	return now
}

// certain says whether where pods of the class have room depends on each node alone.
func (r *reservations) certain(s *standing, named *Reservation) bool {
	if r.world.Awaits() || !r.world.Classes.Current(s.class).Free() {
		return false
	}
	if len(s.class.Volumes.Claims()) == 0 {
		return !r.world.Classes.Kind(s.class.Of).Minds()
	}
	// One pod may have its claims to itself, which wait for it and are given a volume wherever it goes.
	if named.Pods != 1 || len(named.Seats) != 1 || named.Seats[0].Pods != 1 || r.world.Storage.Shared(s.class.Volumes) {
		return false
	}
	if s.decided != nil {
		return true // it was found out when it came to stand, and depends on storage alone
	}
	k := r.world.Classes.Kind(s.class.Of)
	return !k.Depends() && k.Devices == nil && r.world.Storage.Anywhere(s.class.Volumes, k.Volumes)
}

// resettle has pods of the class stand on these seats and no others. Both lists are mostly in one order, with gaps where nodes changed.
func (r *reservations) resettle(s *standing, now []Seat) {
	at, changed := 0, false
	for _, seat := range s.seats {
		if at < len(now) && seat.alike(now[at]) {
			at++
			continue
		}
		changed = true
		next := slices.IndexFunc(now[at:], seat.alike)
		if next < 0 {
			r.moveOut(s, seat)
			continue
		}
		for _, come := range now[at : at+next] {
			r.moveIn(s, come)
		}
		at += next + 1
	}
	for _, seat := range now[at:] {
		changed = true
		r.moveIn(s, seat)
	}
	if changed {
		s.seats = append(s.seats[:0], now...)
	}
}

// entry is the pods on the seat as they lie on the node. No pod is named: that tells them from pods that run.
func (s *standing) entry(seat Seat) nodes.Entry {
	return nodes.Entry{Class: s.class.ID, N: int32(seat.Pods)}
}

// moveIn has pods of the class stand on the seat.
func (r *reservations) moveIn(s *standing, seat Seat) {
	e := s.entry(seat)
	r.world.Nodes.AddPods(seat.On, e)
	r.world.Classes.Count(seat.On, &e, e.N)
	s.decided = append(s.decided, r.world.Storage.Provide(s.class.Volumes, seat.On)...)
}

// moveOut takes pods of the class off the seat. The node may not be present.
func (r *reservations) moveOut(s *standing, seat Seat) {
	e, table := s.entry(seat), r.world.Nodes
	pods := table.Pods(seat.On)
	i := slices.Index(pods, e)
	table.SetPods(seat.On, slices.Concat(pods[:i], pods[i+1:]))
	if table.Present(seat.On) {
		r.world.Classes.Count(seat.On, &e, -e.N)
	}
	r.world.Storage.Withdraw(s.decided)
	s.decided = nil
	r.keep(s, true)
}

// giveUp takes pods of the class off a seat that they stand on, while other pods are being placed.
func (r *reservations) giveUp(s *standing, seat Seat) {
	r.moveOut(s, seat)
	i := slices.IndexFunc(s.seats, seat.alike)
	s.seats = slices.Delete(s.seats, i, i+1)
	r.world.Clock.Tick()
	r.world.Clock.Loosen()
}

// vacate has nobody stand on the node any more: it changes, or leaves. Nothing is pretended.
func (r *reservations) vacate(h Handle) {
	r.changed[h] = true
	for _, e := range slices.Backward(r.world.Nodes.Pods(h)) {
		if e.Pod == nil {
			r.giveUp(r.of[e.Class], Seat{On: h, Pods: int(e.N)})
		}
	}
}

// withdraw has nobody stand who has claims: what is known of these is given up.
func (r *reservations) withdraw() {
	for _, s := range r.all {
		if s.decided != nil {
			r.resettle(s, nil)
		}
	}
}

// release has a pod of the class that is yet to be kept stand no longer: others of it are placed before.
func (r *reservations) release(class int32) {
	if int(class) < len(r.of) && r.of[class] != nil && r.of[class].unkept {
		r.giveUp(r.of[class], r.of[class].seats[0])
	}
}

// stay says whether pods of the class stand on all these seats and are no more than n.
func (r *reservations) stay(cl *classes.Class, n int, seats []Seat) bool {
	if len(seats) == 0 {
		return true
	}
	s := r.class(cl)
	if len(cl.Volumes.Claims()) > 0 && s.decided == nil {
		for i := range seats {
			seats[i].stands = false // it was placed elsewhere
		}
	}
	r.keep(s, true)
	for i := range seats {
		if n -= seats[i].Pods; !seats[i].stands || n < 0 {
			return false
		}
	}
	return true
}

// Keep places up to n pods of the class on these seats, in their order, as far as nodes still take them. It returns the seats that it
// placed them on, which must not be changed.
//
// What is taken is taken off the seats, unless what is returned is these seats themselves: then they are used up. Pods that stand there
// already are not placed again. Where they are too many, they stand no longer.
func (r *Row) Keep(of *cluster.Class, n int, seats []Seat) []Seat {
	w, standing := r.c.world, r.c.reservations
	cl, left := w.Classes.Of(of), n
	if standing.stay(cl, n, seats) {
		return seats
	}
	k := w.Classes.Kind(of)
	taken := make([]Seat, 0, len(seats))
	for i := range seats {
		s := &seats[i]
		if s.stands && s.Pods <= left {
			taken = append(taken, Seat{On: s.On, Pods: s.Pods})
			s.Pods, left = 0, left-s.Pods
		} else if s.stands {
			standing.giveUp(standing.class(cl), *s)
		}
		s.stands = false
		for s.Pods > 0 && left > 0 && w.Answer(k, s.On, nil) == classes.Welcome {
			take := min(w.Room(k, s.On), s.Pods, left)
			s.Pods, left = s.Pods-take, left-take
			taken = append(taken, Seat{On: s.On, Pods: take})
			if r.c.put(s.On, nodes.Entry{Class: cl.ID, N: int32(take)}) {
				k = w.Classes.Kind(of)
			}
		}
	}
	return taken
}
