package place

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Arrivals are machines that are coming, and nodes that are starting.
type Arrivals struct {
	*node.View
	*Queue
	room     *Room
	asked    byHandle // of the machines that are coming, those that the cloud was asked for and has not answered about
	arrivals byHandle // of nodes that are starting
}

// open opens the machines that are coming.
func (cm *Arrivals) open() {
	for _, g := range cm.Snapshot.Groups {
		st := cm.room.groups[g.ID]
		machines, unanswered := cm.expected(st)
		st.expect(machines + len(st.Late))
		st.Rotation = cm.room.Machines.rotate(st)
		if g.Template == nil {
			continue
		}
		st.expects = machines
		handles := cm.room.Machines.OpenMachines(st, machines, comingName)
		for _, h := range handles[machines-unanswered:] {
			cm.asked.Set(h, st)
		}
		cm.room.TellOpen(g.ID, handles...)
	}
}

// Arriving says whether a node that is not Ready is room that is coming: its machine runs, and nobody has cordoned it.
func (cm *Arrivals) Arriving(n *cluster.Node) bool {
	_, leaves := cluster.RemovalOf(n.Object)
	return cm.Starting(n) && n.Instance != nil && n.Instance.State.Expected() && !leaves && !n.Object.Spec.Unschedulable
}

// expected counts the machines of a group that have no node yet but should become one: those listed as creating or running that are neither
// late nor overdue, those that are started again and whose nodes are not Ready yet and have no pods that stay, and those that capacity
// promises beyond the list. It also counts those of them that the cloud was asked for and has not answered about.
func (cm *Arrivals) expected(st *Incoming) (machines, unanswered int) {
	if !st.Usable() && !st.AwaitsAnswer() && !cm.promises(st) {
		return 0, 0
	}
	listed := 0
	for _, in := range st.Unregistered {
		if cm.Comes(st.GroupFacts, in) {
			if _, late := cm.IsLate(st.GroupFacts, in); late {
				st.Late = append(st.Late, in)
				continue
			}
			listed++
			st.Taken = cmp.Or(st.Taken, cm.NameTaken(in))
		}
	}
	for _, n := range st.Restarted {
		if !cm.Arriving(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Leaving() }) {
			listed++
		}
	}
	capacity := st.Capacity
	if m := cm.Memory.Groups[st.ID]; st.Asked == 0 && m.Requested.After(st.Read.At) && m.Capacity > capacity {
		capacity = m.Capacity // accepted after the last read: planned with, never written from
	}
	sure, unanswered := max(0, capacity-st.Standing()), max(0, st.Asked-capacity)
	if st.Lapsed() {
		sure = max(0, sure-cm.unlisted(st))
	}
	return listed + sure + unanswered, unanswered
}

// promises says whether what is coming of a group still counts while the cloud does not answer about it: until machines that were granted
// last have had their time, unless a failure came since. Nobody is bought a second machine because a list is late (S-34).
func (cm *Arrivals) promises(st *Incoming) bool {
	m := cm.Memory.Groups[st.ID]
	return st.Lapsed() && !m.Noticed.After(m.Requested) && !cm.TimeUp(m.Requested)
}

// unlisted counts the group's nodes that no list has shown yet.
func (cm *Arrivals) unlisted(st *Incoming) (count int) {
	for _, n := range cm.Snapshot.Nodes {
		if n.Group == st.ID && n.Instance == nil && n.Object.CreationTimestamp.After(st.Read.At) {
			count++
		}
	}
	return count
}

// fill serves pods that go onto a machine that is coming: first those for which groups grow, so that no other pod takes a machine that
// was added for them and has another one bought. Pods whose room was promised come with them.
func (cm *Arrivals) fill() {
	type rest struct {
		dm   *Demand
		pods []int
	}
	var others []rest
	for _, dm := range cm.room.Wanting() {
		if n := cm.room.deciding(dm); n < dm.Left() {
			others = append(others, rest{dm, dm.Pods})
			dm.only(dm.Pods[:dm.Served+n])
		}
	}
	place := func() {
		for _, band := range cm.room.bands() {
			keepPlaces(cm.room.Coming, band, onComing, cm.PlaceComing)
			cm.room.PlaceOn(cm.room.Coming, band, cm.PlaceComing)
		}
	}
	place()
	for _, r := range others {
		r.dm.only(r.pods)
	}
	if len(others) > 0 {
		place()
	}
}

// PlaceComing serves pods that go onto a machine that is coming.
func (cm *Arrivals) PlaceComing(dm *Demand, h scheduling.Handle, n int) {
	st := cm.group(h)
	if st.awaited.Code == "" {
		st.awaited = reason.New(reason.FitsComingMachine, reason.Ref{}, "group", st.ID)
		st.asks = reason.New(reason.FitsAskedMachine, reason.Ref{}, "group", st.ID)
	}
	why := st.awaited
	if cm.asked.Of(h) != nil {
		why = st.asks
	}
	cm.room.Place(dm, n, h)
	if st.Taken != nil {
		cm.Serve(dm, n, action.PodWaiting, why, *st.Taken)
	} else {
		cm.Serve(dm, n, action.PodWaiting, why)
	}
}

// group is the group of a node that is not there yet, and of one that is starting; nil for others.
func (cm *Arrivals) group(h scheduling.Handle) *Incoming {
	if st := cm.room.Opened.Of(h); st != nil {
		return st
	}
	return cm.arrivals.Of(h)
}

// PlaceOnLate has pods that no other group helps go on waiting for the machines that are late.
func (cm *Arrivals) PlaceOnLate() {
	row := cm.Check.Row()
	for _, g := range cm.Snapshot.Groups {
		st := cm.room.groups[g.ID]
		if g.Template == nil {
			continue
		}
		for i, in := range st.Late {
			zone := ""
			if st.Rotation != nil {
				zone = in.Zone
			}
			h := cm.Check.Open(cm.room.Machines.Template(st, zone), comingName(g.ID, st.expects+i))
			cm.room.Opened.Set(h, st)
			cm.room.TellOpen(g.ID, h)
			row.Append(h)
		}
	}
	for _, band := range cm.room.bands() {
		cm.room.PlaceOn(row, band, func(dm *Demand, h scheduling.Handle, n int) { cm.PlaceComing(dm, h, n) })
	}
}
