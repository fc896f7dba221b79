package place

import (
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// Reservations are the places of the last cycle, which pods keep until they are bound.
//
// Without them, each cycle would put each pod on the first machine that takes it. Pods would share the coming machines otherwise than these
// were chosen, some would be left over, and further machines would be bought for them (S-34).
//
//	place in the last cycle      now                                 the place
//	on a node                    the node is there                   is kept while the pod fits
//	on a node                    the node has gone                   is lost: the pod looks for room anew
//	on a coming machine          as many are coming                  is kept
//	on a coming machine          one fewer is coming: it has joined  moves to a new node of the group, see moveIn
//	on a machine that was added  it is coming                        is kept: Remember wrote it down by the name that it has now
//
// Places belong to a class, not to its pods: the oldest pod of the class takes the first place.
type Reservations struct {
	*node.View
	*Queue
	room *Room
}

func onThere(b *reserved) *[]scheduling.Seat { return &b.there }

func onComing(b *reserved) *[]scheduling.Seat { return &b.coming }

// give gives demands the places of the last cycle on what is still there. What was meant for machines that have come since is moved to
// nodes of their group that carry nothing yet.
func (rs *Reservations) give() {
	last := rs.Memory.Places
	if last == nil {
		return
	}
	on := rs.stayed(last)
	future := make([]bool, len(on))
	seats := 0
	for i, h := range on {
		future[i] = h >= 0 && rs.room.Arrivals.group(h) != nil
	}
	for _, pairs := range last.Of {
		seats += len(pairs) / 2
	}
	// All seats are in one array: a backlog of 100,000 pods has tens of thousands of them.
	arena := make([]scheduling.Seat, 0, seats)
	byKey := map[cluster.Key]*reserved{}
	for _, dm := range rs.room.Demands {
		if dm.Left() == 0 || !dm.keeps() {
			continue
		}
		if dm.reserved = byKey[dm.Of.Key]; dm.reserved != nil {
			continue
		}
		pairs := last.Of[dm.Of.Key]
		if len(pairs) < 2 {
			continue
		}
		from := len(arena)
		take := func(coming bool) {
			for i := 0; i+1 < len(pairs); i += 2 {
				if at := int(pairs[i]); at >= 0 && at < len(on) && on[at] >= 0 && future[at] == coming {
					arena = append(arena, scheduling.Seat{On: on[at], Pods: int(pairs[i+1])})
				}
			}
		}
		take(false)
		there := len(arena) - from
		take(true)
		own := arena[from:len(arena):len(arena)]
		dm.reserved = &reserved{there: own[:there:there], coming: own[there:]}
		byKey[dm.Of.Key] = dm.reserved
	}
}

// stayed is where the nodes of the places are now, -1 for those that are gone.
func (rs *Reservations) stayed(last *memory.Places) []scheduling.Handle {
	on := make([]scheduling.Handle, len(last.Nodes))
	gone := false
	for i, name := range last.Nodes {
		h, present := rs.Check.Handle(name)
		if on[i] = h; !present {
			on[i], gone = -1, true
		}
	}
	if gone {
		rs.moveIn(last.Nodes, on)
	}
	return on
}

// moveIn has what was meant for machines that are coming no longer follow them: each to a node of its group that is in no list of nodes yet
// and carries nothing but daemons, the youngest first.
//
// Nothing tells which machine a new node was, as machines that are coming have numbers only. Any of them serves: they are alike.
func (rs *Reservations) moveIn(names []string, on []scheduling.Handle) {
	homeless := map[cluster.GroupID][]int{}
	for i, name := range names {
		if rest, ok := strings.CutPrefix(name, comingPrefix); ok && on[i] < 0 {
			g := cluster.GroupID(rest[:max(0, strings.LastIndexByte(rest, ':'))])
			homeless[g] = append(homeless[g], i)
		}
	}
	if len(homeless) == 0 {
		return
	}
	known := make([]bool, rs.Check.Size())
	for _, h := range on {
		if h >= 0 {
			known[h] = true
		}
	}
	empty := map[cluster.GroupID][]*cluster.Node{}
	for _, n := range rs.Snapshot.Nodes {
		if homeless[n.Group] == nil {
			continue
		}
		if h, present := rs.Check.Handle(n.Name()); (!present || !known[h]) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() }) {
			empty[n.Group] = append(empty[n.Group], n)
		}
	}
	for g, nodes := range empty {
		slices.SortStableFunc(nodes, func(a, b *cluster.Node) int {
			return b.Object.CreationTimestamp.Compare(a.Object.CreationTimestamp.Time)
		})
		for k, i := range homeless[g] {
			if k == len(nodes) {
				break
			}
			if h, present := rs.Check.Handle(nodes[k].Name()); present {
				on[i] = h
			}
		}
	}
}

// keepPlaces lets pods of these demands keep their places on nodes of the row. Of several demands of one class those that come later have
// what is left.
// A place that the pods do not fit any more is skipped: [scheduling.Row.Keep] checks each. These pods look for room as the others do.
func keepPlaces(row *scheduling.Row, demands []*Demand, of func(b *reserved) *[]scheduling.Seat, kept func(dm *Demand, h scheduling.Handle, n int)) {
	for _, dm := range demands {
		if dm.reserved == nil {
			continue
		}
		own := of(dm.reserved)
		if len(*own) == 0 || dm.Left() == 0 {
			continue
		}
		for _, s := range row.Keep(dm.Of, dm.Left(), *own) {
			kept(dm, s.On, s.Pods)
		}
	}
}

// Remember leaves the places of this cycle to the next one: on nodes that are there, machines that are coming, and those that are being
// added, which will be coming.
func (rs *Reservations) Remember() {
	rs.Memory.Places = nil
	used := rs.usedNodes()
	if len(used) == 0 {
		return
	}
	p := &memory.Places{Nodes: make([]string, len(used)), Of: make(map[cluster.Key][]int32, len(rs.room.Demands))}
	index := make([]int32, rs.Check.Size())
	for i, u := range used {
		p.Nodes[i], index[u.on] = u.name, int32(i)
	}
	seats := 0
	for _, dm := range rs.room.Demands {
		if dm.keeps() {
			seats += len(dm.seats)
		}
	}
	arena := make([]int32, 0, 2*seats)
	for _, dm := range rs.room.Demands {
		if !dm.keeps() || len(dm.seats) == 0 {
			continue
		}
		from := len(arena)
		for _, s := range dm.seats {
			arena = append(arena, index[s.On], int32(s.Pods))
		}
		pairs := arena[from:len(arena):len(arena)]
		if others := p.Of[dm.Of.Key]; others != nil {
			pairs = append(others, pairs...)
		}
		p.Of[dm.Of.Key] = pairs
	}
	rs.Memory.Places = p
}

// used is a node on which pods have places.
type used struct {
	on   scheduling.Handle
	name string
}

// usedNodes are those on which pods that keep their places have them, in the order of names. Machines that are being added are named as
// they will be called when they are coming.
func (rs *Reservations) usedNodes() []used {
	var takes []bool // by handle; nil for none at all
	for _, dm := range rs.room.Demands {
		if dm.keeps() {
			for _, s := range dm.seats {
				if takes == nil {
					takes = make([]bool, rs.Check.Size())
				}
				takes[s.On] = true
			}
		}
	}
	if takes == nil {
		return nil
	}
	byName := func(a, b used) int { return strings.Compare(a.name, b.name) }
	var own, added []used
	renamed := rs.added()
	for _, h := range rs.Check.Handles() {
		if !takes[h] {
			continue
		}
		if name := renamed[h]; name != "" {
			added = append(added, used{h, name})
		} else {
			own = append(own, used{h, rs.Check.Name(h)})
		}
	}
	slices.SortFunc(added, byName)
	return merged(own, added, byName)
}

// added are the machines that this cycle adds, with the names that they will have when they are coming.
//
// Package grow may have closed some of these machines, so the numbers have gaps. In the next cycle they are numbered without gaps.
func (rs *Reservations) added() map[scheduling.Handle]string {
	names := map[scheduling.Handle]string{}
	for _, st := range rs.room.groups {
		next := st.expects
		for number := st.expects; number < st.Opened; number++ {
			if h, stands := rs.Check.Handle(NewName(st.ID, number)); stands {
				names[h] = comingName(st.ID, next)
				next++
			}
		}
	}
	return names
}

// merged is both lists in one; they are in that order, in which no two are equal. The second is the short one.
func merged[T any](long, short []T, order func(a, b T) int) []T {
	all := make([]T, 0, len(long)+len(short))
	for _, v := range short {
		i, _ := slices.BinarySearchFunc(long, v, order)
		all, long = append(append(all, long[:i]...), v), long[i:]
	}
	return append(all, long...)
}
