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
// Both count in [Incoming.Coming], and both are room of the checker before the first pod is placed:
//
//	what is coming                stands in the checker as                        its group is found in
//	a machine without a node      a node of its group's template, see comingName  Room.Opened
//	a machine that is late        nothing, until PlaceOnLate                      Room.Opened, from then on
//	a node that is not Ready yet  itself, as it will be: see [Room.OpenRoom]      arrivals
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
		machines, unanswered, zones := cm.expected(st)
		st.expect(machines + len(st.Late))
		st.Rotation = cm.room.Machines.rotate(st, zones)
		// Nobody knows what a machine of this group offers. Its machines count as coming, and take no pod.
		if g.Template == nil {
			continue
		}
		st.expects = machines
		handles := cm.room.Machines.OpenMachines(st, machines, comingName)
		// Machines of one group are alike. The last ones stand for those without an answer, and their pods hear that.
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
//
//	machine                                        counts
//	listed, without a node, and [node.View.Comes]  yes; a late one only in Late
//	of a node in Restarted                         unless OpenRoom shows the node itself, or pods stay on it
//	in the capacity, and in no list yet            yes: capacity less the machines that stand in the list
//	of a node that no list shows yet               taken off these, while the cloud does not answer
//	asked for, without an answer                   yes: Asked less capacity, which is the number unanswered
//
// It counts nothing of a group of which too little is known, unless the cloud's silence alone is the reason: see promises.
// Zones are those of the listed ones, "" for one of which the list says none.
func (cm *Arrivals) expected(st *Incoming) (machines, unanswered int, zones []string) {
	if !st.Usable() && !st.AwaitsAnswer() && !cm.promises(st) {
		return 0, 0, nil
	}
	for _, in := range st.Unregistered {
		if cm.Comes(st.GroupFacts, in) {
			if _, late := cm.IsLate(st.GroupFacts, in); late {
				st.Late = append(st.Late, in)
				continue
			}
			zones = append(zones, in.Zone)
			st.Taken = cmp.Or(st.Taken, cm.NameTaken(in))
		}
	}
	for _, n := range st.Restarted {
		// A node that is Arriving is shown by OpenRoom: counted here too, its machine would be room twice. A machine is opened empty, so it
		// does not stand for a node on which pods stay. Deleted pods do not stay (scenario spot-evicted-starts-once).
		if !cm.Arriving(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Leaving() }) {
			zones = append(zones, n.Instance.Zone)
		}
	}
	capacity := st.Capacity
	if m := cm.Memory.Groups[st.ID]; st.Asked == 0 && m.Requested.After(st.Read.At) && m.Capacity > capacity {
		capacity = m.Capacity // accepted after the last read: planned with, never written from
	}
	sure, unanswered := max(0, capacity-st.Standing()), max(0, st.Asked-capacity)
	// While no list is answered, a node that joined has no machine yet. Without this it would be room as a node, and once more as a machine
	// that is coming (scenario growth-then-lists-hang).
	if st.Lapsed() {
		sure = max(0, sure-cm.unlisted(st))
	}
	return len(zones) + sure + unanswered, unanswered, zones
}

// promises says whether what is coming of a group still counts while the cloud does not answer about it: until machines that were granted
// last have had their time, unless a failure came since. Nobody is bought a second machine because a list is late (S-34).
// The time is the provision time, from the last accepted growth on (scenario growth-then-lists-hang).
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
//
// It shortens Demand.Pods to set the other pods aside, and puts them back for a second pass (scenario new-pod-delay-older-first). When no
// pod was set aside there is no second pass.
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
	// The API server of K3s turns the machine away until the Node object of its name has gone: each pod hears that (scenario
	// name-reused-k3s).
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
//
// Package grow calls it once all other groups were asked, and buys nothing for these pods (scenario late-only-group). The names go on
// behind those of the expected machines. [Incoming.Opened] stays as it is: late machines have a zone already, and take no zone's turn.
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
