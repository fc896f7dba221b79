// Package place finds room for pods that wait, in this order: reservations of the last cycle, nodes that are there, nodes on their way out, which a pod takes
// back, and machines that are coming. What is left over needs a machine. It changes the room that package grow goes on with.
package place

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// OpenRoom shows the checker the room that will be there soon: nodes that are starting count as Ready, and machines that are
// coming count as nodes such as their group's template says.
func (d *Room) OpenRoom() {
	if !d.settles() {
		d.Check.Reserve(nil)
	}
	d.openComing()
	for _, at := range d.Memo.Passing {
		v := d.Memo.Facts[at]
		switch n := v.Node; {
		case v.Passing && v.Ready && d.Returned(n):
			d.Check.Remove(n.Name())
			d.Check.Add(node.WithoutIncumbent(n.Object), n.Pods...)
		case v.Passing && d.Arriving(n):
			d.Check.Remove(n.Name())
			d.Check.Add(d.equipped(n), n.Pods...)
			h, _ := d.Check.Handle(n.Name())
			d.arrivals.Set(h, d.groups[n.Group])
			d.groups[n.Group].Coming++
			d.Wake(d.Policy.Growth.Due(n.Object))
		}
	}
}

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

// Template is what machines of the group are opened like in that zone, with the daemons they will carry.
func (d *Room) Template(st *Incoming, zone string) *scheduling.Template {
	t := st.Templates[zone]
	if t == nil {
		n := scheduling.Future(st.Node(zone), "new machine of "+string(st.ID))
		t = d.Check.Template(n, d.Check.Daemons(n)...).Attaching(d.volumeLimit(st)).Publishing(d.slices(st.ID)...)
		if st.Learned == nil {
			t.Unproven()
		}
		if st.Templates == nil {
			st.Templates = map[string]*scheduling.Template{}
		}
		st.Templates[zone] = t
	}
	return t
}

// volumeLimit is how many volumes the group's next machine can attach: the most that kubelets of its nodes say of a driver, or said when there were
// some, else what the cloud says of the size. 0 is no limit.
func (d *Room) volumeLimit(st *Incoming) int {
	if d.attach == nil {
		d.attach = map[cluster.GroupID]int{}
		for _, c := range d.Snapshot.Objects.CSINodes {
			n := d.Snapshot.Node(c.Name)
			if n == nil || n.Instance == nil || n.Group == "" {
				continue
			}
			for i := range c.Spec.Drivers {
				if a := c.Spec.Drivers[i].Allocatable; a != nil && a.Count != nil {
					d.attach[n.Group] = max(d.attach[n.Group], int(*a.Count))
				}
			}
		}
	}
	m := d.Memory.Groups[st.ID]
	if n, known := d.attach[st.ID]; known {
		if said := (memory.Attaches{Volumes: n, Size: st.Size}); m.Attaches != said {
			m.Attaches = said
			d.Remember(st.ID, m)
		}
		return n
	}
	if m.Attaches.Volumes > 0 && m.Attaches.Size == st.Size {
		return m.Attaches.Volumes
	}
	return st.VolumeLimit
}

// slices are the device slices of a node of the group, which say what its next machine will have; nil when no node has any.
func (d *Room) slices(g cluster.GroupID) []*resourcev1.ResourceSlice {
	for _, s := range d.Snapshot.Objects.ResourceSlices {
		if s.Spec.NodeName == nil {
			continue
		}
		if n := d.Snapshot.Node(*s.Spec.NodeName); n != nil && n.Group == g {
			return d.Check.Slices(n.Name())
		}
	}
	return nil
}

// NewName names a machine that is being added.
func NewName(g cluster.GroupID, number int) string {
	return "new:" + string(g) + ":" + strconv.Itoa(number)
}

// OpenMachines adds nodes such as the group's next machines will be.
func (d *Room) OpenMachines(st *Incoming, n int, name func(g cluster.GroupID, number int) string) []scheduling.Handle {
	handles := make([]scheduling.Handle, n)
	for i := range handles {
		handles[i] = d.Check.Open(d.Template(st, st.NextZone()), name(st.ID, st.Opened))
		d.Opened.Set(handles[i], st)
		st.Opened++
	}
	return handles
}

// equipped is the settled node with the devices that it has not announced yet.
func (d *Room) equipped(n *cluster.Node) *corev1.Node {
	out := settled(n.Object, d.Policy.Growth.Taints)
	if len(n.Awaits) > 0 {
		out.Status.Allocatable = maps.Clone(out.Status.Allocatable)
		maps.Copy(out.Status.Allocatable, n.Awaits)
	}
	return out
}

// settled is the node without the taints of its present condition and without a cordon.
func settled(n *corev1.Node, passing cluster.Taints) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = passing.Lasting(n.Spec.Taints)
	return out
}

// PlacePending finds room for pods that wait: on nodes that are there; on nodes of the removal ladder, which a pod takes back; on
// machines that are coming. Pods that are left want a machine.
func (d *Room) PlacePending() {
	if len(d.Wanting()) == 0 {
		d.Check.Reserve(nil)
		return
	}
	d.LineUp(nil)
	d.berths()
	d.lodge()
	d.FindPlaces()
	for _, dm := range d.Wanting() {
		switch name := dm.Of.Spec.SchedulerName; {
		case dm.Judged:
		case dm.Consumes != "":
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.PodConsumes, reason.Ref{}, "request", dm.Consumes))
		case name != "" && name != corev1.DefaultSchedulerName:
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.OtherScheduler, reason.Ref{}, "scheduler", name))
		default:
			d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.NotYetScheduled, reason.Ref{}))
		}
	}
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
			d.keepPlaces(d.Coming, band, onComing, d.PlaceComing)
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

// deciding is how many of the pods that have no place yet are a reason to grow: none that the scheduler has not looked at, and none that is
// too young. Pods of one class wait equally long, so the young ones are the last.
func (d *Room) deciding(dm *Demand) int {
	switch {
	case dm.Booked:
		return dm.Left()
	case !dm.Judged:
		return 0
	}
	n := dm.Left()
	for n > 0 {
		if _, young := d.Policy.Young(d.Waiting[dm.Pods[dm.Served+n-1]], d.Now); !young {
			break
		}
		n--
	}
	return n
}

// LineUp tells nodes that are there from those that are coming, in the order of names unless another one is given.
func (d *Room) LineUp(order func(a, b scheduling.Handle) int) {
	handles := d.Check.Handles()
	if order != nil {
		slices.SortStableFunc(handles, order)
	}
	d.There, d.Coming = d.Check.Row(), d.Check.Row()
	for _, h := range handles {
		if d.comingGroup(h) != nil {
			d.Coming.Append(h)
		} else {
			d.There.Append(h)
		}
	}
}

// FindPlaces finds places on what was lined up, and on nodes of the removal ladder.
func (d *Room) FindPlaces() {
	for _, band := range d.bands() {
		d.keepPlaces(d.There, band, onThere, d.PlaceThere)
		d.PlaceOn(d.There, band, d.PlaceThere)
	}
	d.rescueNodes()
	d.holdBacklogs()
	d.awaitPlaces()
	d.placeOnComing()
}

// PlaceThere serves pods that go onto a node that is there.
func (d *Room) PlaceThere(dm *Demand, h scheduling.Handle, n int) {
	if dm.Claim != nil {
		d.KeepFor(dm.Claim, d.Check.Name(h))
	} else {
		d.countOn(d.Check.Name(h), dm.Pods[dm.Served])
	}
	d.Place(dm, n, h)
	d.Serve(dm, n, action.PodScheduling, d.fitsNode(h))
}

// countOn notes that the pod counts on the node, unless another one does already.
func (d *Room) countOn(node string, at int) {
	if _, known := d.Counted[node]; !known {
		d.Counted[node] = d.Key(at)
	}
}

// fitsNode is why pods have their place on a node that is there, said once for each node.
func (d *Room) fitsNode(h scheduling.Handle) reason.Reason {
	name := d.Check.Name(h)
	why, said := d.fitting[name]
	if !said {
		why = reason.New(reason.FitsNode, reason.Ref{}, "node", name)
		d.fitting[name] = why
	}
	return why
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

// byHandle is groups by [scheduling.Handle] of their nodes.
type byHandle []*Incoming

// Of is the group of the node, nil when it is none of these.
func (b byHandle) Of(h scheduling.Handle) *Incoming {
	if int(h) >= len(b) {
		return nil
	}
	return b[h]
}

func (b *byHandle) Set(h scheduling.Handle, st *Incoming) {
	if more := int(h) + 1 - len(*b); more > 0 {
		*b = append(*b, make(byHandle, more)...)
	}
	(*b)[h] = st
}

// bands are the demands that are placed before others, whatever else there is: by whether their room was promised, and by their priority.
func (d *Room) bands() [][]*Demand {
	var all [][]*Demand
	from := 0
	for i, dm := range d.Demands {
		if first := d.Demands[from]; dm.Booked != first.Booked || dm.priority != first.priority {
			all, from = append(all, d.Demands[from:i]), i
		}
	}
	return append(all, d.Demands[from:])
}

// PlaceOn places pods on the first node of the row that takes them and tells found how many each node got. Pods that mind others are tried
// again as long as others find a place, since those may be whom they waited for.
func (d *Room) PlaceOn(row *scheduling.Row, demands []*Demand, found func(dm *Demand, h scheduling.Handle, n int)) {
	for again := false; ; again = true {
		placed := 0
		for _, dm := range demands {
			if dm.Left() > 0 && (!again || d.Check.Depends(dm.Of)) {
				placed += row.Fill(dm.Of, dm.Left(), func(h scheduling.Handle, n int) { found(dm, h, n) })
			}
		}
		if placed == 0 {
			return
		}
	}
}

// rescueNodes lets pods take back nodes from the ladder whose machine is not being deleted yet. Every such node that any
// waiting pod fits is taken back, one after the other, the one cordoned last first: it has lost least.
func (d *Room) rescueNodes() {
	type rung struct {
		node  *cluster.Node
		since time.Time
	}
	var rungs []rung
	d.Watch(func(_ int, v *node.Facts) {
		if n := v.Node; v.OnLadder && v.Removal.Why != cluster.AskedFor && n.Instance != nil && (n.Instance.State == cluster.StateRunning || n.Instance.State.Expected() && node.WasParked(n)) && v.Ready {
			rungs = append(rungs, rung{n, v.Removal.Since})
		}
	})
	sort.SliceStable(rungs, func(i, j int) bool { return rungs[i].since.After(rungs[j].since) })
	for _, r := range rungs {
		if len(d.Wanting()) == 0 {
			break
		}
		name := r.node.Name()
		restore := d.Check.Remove(name)
		stay := r.node.Pods
		if node.WasParked(r.node) { // its kubelet is back, and lets those go whose time is over
			stay = slices.DeleteFunc(slices.Clone(stay), func(p *cluster.Pod) bool { return p.GraceOver(d.Now) })
		}
		d.Check.Add(cluster.GivenBack(r.node.Object), stay...)
		h, _ := d.Check.Handle(name)
		d.PlaceOn(d.Check.Row(h), d.Demands, func(dm *Demand, h scheduling.Handle, n int) {
			if dm.Claim != nil {
				d.KeepFor(dm.Claim, name)
				d.Spared[name] = d.Booked[name]
			} else if _, ok := d.Rescues[name]; !ok {
				d.Rescues[name] = d.Key(dm.Pods[dm.Served])
			}
			d.Place(dm, n, h)
			d.Serve(dm, n, action.PodRescues, reason.New(reason.RescuesNode, reason.Ref{}, "node", name))
		})
		if !d.TakenBack(name) {
			restore()
			continue
		}
		d.There.Append(h)
	}
}

// TakenBack says whether a node comes down from the ladder for somebody's sake.
func (d *Room) TakenBack(node string) bool {
	_, rescued := d.Rescues[node]
	_, spared := d.Spared[node]
	return rescued || spared
}
