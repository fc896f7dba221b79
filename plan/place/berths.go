package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/scheduling"
)

// berth is the places that pods of one class had in the last cycle and that are still there. What has been kept is taken off.
type berth struct {
	seats         []scheduling.Seat // all of them: first those on nodes that are there, then those on machines that are coming
	there, coming []scheduling.Seat // the same
	demands       int               // that share them
	lodged        bool              // some of the pods stand there: see [scheduling.Checker.Lodge]
}

func onThere(b *berth) *[]scheduling.Seat { return &b.there }

func onComing(b *berth) *[]scheduling.Seat { return &b.coming }

// held is where the places of the last cycle were, as its checker knew them.
type held struct {
	of    *memory.Places
	check *scheduling.Checker
	on    []scheduling.Handle // by [memory.Places.Nodes]
}

// berths gives demands the places of the last cycle on what is still there. What was meant for machines that have come since is moved to
// nodes of their group that carry nothing yet.
func (d *Room) berths() {
	last := d.Memory.Places
	if last == nil {
		return
	}
	on, stayed := d.berthed(last)
	future := make([]bool, len(on))
	seats := 0
	for i, h := range on {
		future[i] = h >= 0 && d.comingGroup(h) != nil
	}
	for _, pairs := range last.Of {
		seats += len(pairs) / 2
	}
	arena := make([]scheduling.Seat, 0, seats)
	byKey := map[cluster.Key]*berth{}
	for _, dm := range d.Demands {
		if dm.Left() == 0 || !dm.keeps() {
			continue
		}
		if dm.berth = byKey[dm.Of.Key]; dm.berth != nil {
			dm.berth.demands++
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
					arena = append(arena, scheduling.Seat{On: on[at], Held: stayed[at], Pods: int(pairs[i+1])})
				}
			}
		}
		take(false)
		there := len(arena) - from
		take(true)
		own := arena[from:len(arena):len(arena)]
		dm.berth = &berth{seats: own, there: own[:there:there], coming: own[there:], demands: 1}
		byKey[dm.Of.Key] = dm.berth
	}
}

// berthed is where the nodes of the places are now, -1 for those that are gone, and which of them are where they were in the last cycle.
func (d *Room) berthed(last *memory.Places) (on []scheduling.Handle, stayed []bool) {
	was := d.recall.held
	if was.of != last || was.check != d.Check {
		was.on = nil
	}
	on, stayed = make([]scheduling.Handle, len(last.Nodes)), make([]bool, len(last.Nodes))
	gone := false
	for i, name := range last.Nodes {
		if i < len(was.on) && d.Check.Is(was.on[i], name) {
			on[i], stayed[i] = was.on[i], true
			continue
		}
		h, present := d.Check.Handle(name)
		if on[i] = h; !present {
			on[i], gone = -1, true
		}
	}
	if gone {
		d.moveIn(last.Nodes, on)
	}
	return on, stayed
}

// lodge has pods stand in the checker that keep their places for certain, instead of placing them again in every cycle. It comes to the same:
// they mind nobody and nobody minds them, they are of the first band, which chooses before all others, and nobody has a place yet whom the last
// cycle did not see beside them.
func (d *Room) lodge() {
	if !d.settles() || len(d.Gangs)+d.Driven > 0 || len(d.Demands) == 0 {
		d.Check.Reserve(nil)
		return
	}
	band := d.bands()[0]
	all := make([]scheduling.Reservation, 0, len(band))
	for _, dm := range band {
		b := dm.berth
		if b == nil || b.demands > 1 || dm.Served > 0 {
			continue
		}
		b.lodged = true
		if d.deciding(dm) < dm.Left() { // others choose first among the machines that are coming
			for i := range b.coming {
				b.coming[i].Held = false
			}
		}
		all = append(all, scheduling.Reservation{Of: dm.Of, Pods: dm.Left(), Seats: b.seats})
	}
	d.Check.Reserve(all)
}

// settles says whether pods may stand in the checker before it is known who waits: nobody is placed then but by the places of the last cycle.
func (d *Room) settles() bool {
	o := &d.Snapshot.Objects
	return !d.hopeful && len(o.CapacityBuffers)+len(o.ProvisioningRequests) == 0
}

// names are the names of machines that are coming, each made once.
type names map[cluster.GroupID][]known

// known is a machine that is coming, and where it was in the last cycle in which it was.
type known struct {
	name string
	on   scheduling.Handle
}

// coming are the first so many of the group, whose names are [comingName].
func (n *names) coming(g cluster.GroupID, machines int) []known {
	if *n == nil {
		*n = names{}
	}
	for len((*n)[g]) < machines {
		(*n)[g] = append((*n)[g], known{name: comingName(g, len((*n)[g]))})
	}
	return (*n)[g]
}
