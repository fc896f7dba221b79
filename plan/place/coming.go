package place

import (
	"cmp"
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// openComing opens the machines that are coming: most of them stand in the checker since the last cycle.
func (d *Room) openComing() {
	var all []scheduling.Awaited
	for _, g := range d.Snapshot.Groups {
		st := d.groups[g.ID]
		machines, unanswered := d.expected(st)
		st.Coming += machines + len(st.Late)
		st.Rotation = d.rotate(st)
		if g.Template == nil {
			continue
		}
		for known := d.recall.names.coming(st.ID, machines); st.Opened < machines; st.Opened++ {
			all = append(all, scheduling.Awaited{Like: d.Template(st, st.NextZone()), Name: known[st.Opened].name, Was: known[st.Opened].on})
		}
		st.expects, st.unanswered = machines, unanswered
	}
	handles := d.Check.Await(all)
	for _, g := range d.Snapshot.Groups {
		n := d.groups[g.ID].expects
		known := d.recall.names[g.ID]
		for i, h := range handles[:n] {
			d.Opened.Set(h, d.groups[g.ID])
			if known[i].on = h; i >= n-d.groups[g.ID].unanswered {
				d.asked.Set(h, d.groups[g.ID])
			}
		}
		d.TellOpen(g.ID, handles[:n]...)
		handles = handles[n:]
	}
}

// Arriving says whether a node that is not Ready is room that is coming: its machine runs, and nobody has cordoned it.
func (d *Room) Arriving(n *cluster.Node) bool {
	_, onLadder := cluster.RemovalOf(n.Object)
	return d.Starting(n) && n.Instance != nil && n.Instance.State.Expected() && !onLadder && !n.Object.Spec.Unschedulable
}

// expected counts the machines of a group that have no node yet but should become one: those listed as creating or running
// that are neither late nor overdue, those that are started again and whose nodes are not Ready yet and have no pods that stay, and those that capacity promises beyond the list. It also
// counts those of them that the cloud was asked for and has not answered about.
func (d *Room) expected(st *Incoming) (machines, unanswered int) {
	if !st.Usable() && !st.AwaitsAnswer() && !d.promises(st) {
		return 0, 0
	}
	listed := 0
	for _, in := range st.Nodeless {
		if d.Comes(st.GroupFacts, in) {
			if _, late := d.IsLate(st.GroupFacts, in); late {
				st.Late = append(st.Late, in)
				continue
			}
			listed++
			st.Taken = cmp.Or(st.Taken, d.NameTaken(in))
		}
	}
	for _, n := range st.Restarted {
		if !d.Arriving(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Leaving() }) {
			listed++
		}
	}
	capacity := st.Capacity
	if m := d.Memory.Groups[st.ID]; st.Asked == 0 && m.Requested.After(st.Read.At) && m.Capacity > capacity {
		capacity = m.Capacity // accepted after the last read: planned with, never written from
	}
	sure, unanswered := max(0, capacity-st.Standing()), max(0, st.Asked-capacity)
	if st.Lapsed() {
		sure = max(0, sure-d.unlisted(st))
	}
	return listed + sure + unanswered, unanswered
}

// promises says whether what is coming of a group still counts while the cloud does not answer about it: until machines that were granted last have had
// their time, unless a failure came since. Nobody is bought a second machine because a list is late (S-34).
func (d *Room) promises(st *Incoming) bool {
	m := d.Memory.Groups[st.ID]
	return st.Lapsed() && !m.Noticed.After(m.Requested) && !d.TimeUp(m.Requested)
}

// unlisted counts the group's nodes that no list has shown yet.
func (d *Room) unlisted(st *Incoming) (n int) {
	for _, node := range d.Snapshot.Nodes {
		if node.Group == st.ID && node.Instance == nil && node.Object.CreationTimestamp.After(st.Read.At) {
			n++
		}
	}
	return n
}

// placeOnComing serves pods that go onto a machine that is coming: first those for which groups grow, so that no other pod takes a machine that
// was added for them and has another one bought. Pods whose room was promised come with them.
func (d *Room) placeOnComing() {
	type rest struct {
		dm   *Demand
		pods []int
	}
	var others []rest
	for _, dm := range d.Wanting() {
		if n := d.deciding(dm); n < dm.Left() {
			others = append(others, rest{dm, dm.Pods})
			dm.Pods = dm.Pods[:dm.Served+n]
		}
	}
	place := func() {
		for _, band := range d.bands() {
			keepPlaces(d.Coming, band, onComing, d.PlaceComing)
			d.PlaceOn(d.Coming, band, d.PlaceComing)
		}
	}
	place()
	for _, r := range others {
		r.dm.Pods = r.pods
	}
	if len(others) > 0 {
		place()
	}
}

// PlaceComing serves pods that go onto a machine that is coming.
func (d *Room) PlaceComing(dm *Demand, h scheduling.Handle, n int) {
	st := d.comingGroup(h)
	if st.awaited.Code == "" {
		st.awaited = reason.New(reason.FitsComingMachine, reason.Ref{}, "group", st.ID)
		st.asks = reason.New(reason.FitsAskedMachine, reason.Ref{}, "group", st.ID)
	}
	why := st.awaited
	if d.asked.Of(h) != nil {
		why = st.asks
	}
	d.Place(dm, n, h)
	if st.Taken != nil {
		d.Serve(dm, n, action.PodWaiting, why, *st.Taken)
	} else {
		d.Serve(dm, n, action.PodWaiting, why)
	}
}

// comingGroup is the group of a node that is not there yet, and of one that is starting; nil for others.
func (d *Room) comingGroup(h scheduling.Handle) *Incoming {
	if st := d.Opened.Of(h); st != nil {
		return st
	}
	return d.arrivals.Of(h)
}

// PlaceOnLate has pods that no other group helps go on waiting for the machines that are late.
func (d *Room) PlaceOnLate() {
	row := d.Check.Row()
	for _, g := range d.Snapshot.Groups {
		st := d.groups[g.ID]
		if g.Template == nil {
			continue
		}
		for i, in := range st.Late {
			zone := ""
			if st.Rotation != nil {
				zone = in.Zone
			}
			h := d.Check.Open(d.Template(st, zone), comingName(g.ID, st.expects+i))
			d.Opened.Set(h, st)
			d.TellOpen(g.ID, h)
			row.Append(h)
		}
	}
	for _, band := range d.bands() {
		d.PlaceOn(row, band, func(dm *Demand, h scheduling.Handle, n int) { d.PlaceComing(dm, h, n) })
	}
}
