package plan

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
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// openRoom shows the checker the room that will be there soon: nodes that are starting count as Ready, and machines that are
// coming count as nodes such as their group's template says.
func (d *placing) openRoom() {
	if !d.settles() {
		d.check.Lodge(nil)
	}
	d.openComing()
	for _, at := range d.facts.passing {
		v := d.facts.sights[at]
		switch n := v.Node; {
		case v.passing && v.ready && d.returned(n):
			d.check.Remove(n.Name())
			d.check.Add(withoutIncumbent(n.Object), n.Pods...)
		case v.passing && d.arriving(n):
			d.check.Remove(n.Name())
			d.check.Add(d.equipped(n), n.Pods...)
			h, _ := d.check.Handle(n.Name())
			d.arrivals.set(h, d.groups[n.Group])
			d.groups[n.Group].coming++
			d.wake(d.allowed.Growth.Due(n.Object))
		}
	}
}

// openComing opens the machines that are coming: most of them stand in the checker since the last cycle.
func (d *placing) openComing() {
	var all []scheduling.Awaited
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		machines, unanswered := d.expected(st)
		st.coming += machines + len(st.late)
		st.rotation = d.rotate(st)
		if g.Template == nil {
			continue
		}
		for known := d.recall.names.coming(st.ID, machines); st.opened < machines; st.opened++ {
			all = append(all, scheduling.Awaited{Like: d.template(st, st.nextZone()), Name: known[st.opened].name, Was: known[st.opened].on})
		}
		st.expects, st.unanswered = machines, unanswered
	}
	handles := d.check.Await(all)
	for _, g := range d.s.Groups {
		n := d.groups[g.ID].expects
		known := d.recall.names[g.ID]
		for i, h := range handles[:n] {
			d.opened.set(h, d.groups[g.ID])
			if known[i].on = h; i >= n-d.groups[g.ID].unanswered {
				d.asked.set(h, d.groups[g.ID])
			}
		}
		d.tellOpen(g.ID, handles[:n]...)
		handles = handles[n:]
	}
}

// arriving says whether a node that is not Ready is room that is coming: its machine runs, and nobody has cordoned it.
func (d *placing) arriving(n *cluster.Node) bool {
	_, onLadder := cluster.RemovalOf(n.Object)
	return d.starting(n) && n.Instance != nil && n.Instance.State.Expected() && !onLadder && !n.Object.Spec.Unschedulable
}

// expected counts the machines of a group that have no node yet but should become one: those listed as creating or running
// that are neither late nor overdue, those that are started again and whose nodes are not Ready yet and have no pods that stay, and those that capacity promises beyond the list. It also
// counts those of them that the cloud was asked for and has not answered about.
func (d *placing) expected(st *placeGroup) (machines, unanswered int) {
	if !st.Usable() && !st.AwaitsAnswer() && !d.promises(st) {
		return 0, 0
	}
	listed := 0
	for _, in := range st.nodeless {
		if d.comes(st.groupState, in) {
			if _, late := d.isLate(st.groupState, in); late {
				st.late = append(st.late, in)
				continue
			}
			listed++
			st.taken = cmp.Or(st.taken, d.nameTaken(in))
		}
	}
	for _, n := range st.restarted {
		if !d.arriving(n) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Daemon() && !p.Leaving() }) {
			listed++
		}
	}
	capacity := st.Capacity
	if m := d.m.Groups[st.ID]; st.Asked == 0 && m.Requested.After(st.Read.At) && m.Capacity > capacity {
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
func (d *placing) promises(st *placeGroup) bool {
	m := d.m.Groups[st.ID]
	return st.Lapsed() && !m.Noticed.After(m.Requested) && !d.timeUp(m.Requested)
}

// unlisted counts the group's nodes that no list has shown yet.
func (d *placing) unlisted(st *placeGroup) (n int) {
	for _, node := range d.s.Nodes {
		if node.Group == st.ID && node.Instance == nil && node.Object.CreationTimestamp.After(st.Read.At) {
			n++
		}
	}
	return n
}

// overdue says whether a machine without a node has had its time.
func (d *view) overdue(st *groupState, in *cluster.Instance) bool {
	return waitedFor(st, in) && d.hadTime(in)
}

// hadTime says whether a machine has been waited for as long as it is to be.
func (d *view) hadTime(in *cluster.Instance) bool {
	since := d.waits(in)
	return !since.IsZero() && d.timeUp(since)
}

// timeUp says whether a machine that has been expected to become a node since then has had its time.
func (d *view) timeUp(since time.Time) bool {
	due := since.Add(d.allowed.Growth.Provision)
	d.wake(due)
	return !d.now.Before(due)
}

// template is what machines of the group are opened like in that zone, with the daemons they will carry.
func (d *placing) template(st *placeGroup, zone string) *scheduling.Template {
	t := st.templates[zone]
	if t == nil {
		n := scheduling.Future(st.node(zone), "new machine of "+string(st.ID))
		t = d.check.Template(n, d.check.Daemons(n)...).Attaching(d.volumeLimit(st)).Publishing(d.slices(st.ID)...)
		if st.templates == nil {
			st.templates = map[string]*scheduling.Template{}
		}
		st.templates[zone] = t
	}
	return t
}

// volumeLimit is how many volumes the group's next machine can attach: the most that kubelets of its nodes say of a driver, or said when there were
// some, else what the cloud says of the size. 0 is no limit.
func (d *placing) volumeLimit(st *placeGroup) int {
	if d.attach == nil {
		d.attach = map[cluster.GroupID]int{}
		for _, c := range d.s.Objects.CSINodes {
			n := d.s.Node(c.Name)
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
	m := d.m.Groups[st.ID]
	if n, known := d.attach[st.ID]; known {
		if said := (Attaches{n, st.Size}); m.Attaches != said {
			m.Attaches = said
			d.remember(st.ID, m)
		}
		return n
	}
	if m.Attaches.Volumes > 0 && m.Attaches.Size == st.Size {
		return m.Attaches.Volumes
	}
	return st.VolumeLimit
}

// slices are the device slices of a node of the group, which say what its next machine will have; nil when no node has any.
func (d *placing) slices(g cluster.GroupID) []*resourcev1.ResourceSlice {
	for _, s := range d.s.Objects.ResourceSlices {
		if s.Spec.NodeName == nil {
			continue
		}
		if n := d.s.Node(*s.Spec.NodeName); n != nil && n.Group == g {
			return d.check.Slices(n.Name())
		}
	}
	return nil
}

// newName names a machine that is being added.
func newName(g cluster.GroupID, number int) string {
	return "new:" + string(g) + ":" + strconv.Itoa(number)
}

// openMachines adds nodes such as the group's next machines will be.
func (d *placing) openMachines(st *placeGroup, n int, name func(g cluster.GroupID, number int) string) []scheduling.Handle {
	handles := make([]scheduling.Handle, n)
	for i := range handles {
		handles[i] = d.check.Open(d.template(st, st.nextZone()), name(st.ID, st.opened))
		d.opened.set(handles[i], st)
		st.opened++
	}
	return handles
}

// equipped is the settled node with the devices that it has not announced yet.
func (d *placing) equipped(n *cluster.Node) *corev1.Node {
	out := settled(n.Object, d.allowed.Growth.Taints)
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

// placePending finds room for pods that wait: on nodes that are there; on nodes of the removal ladder, which a pod takes back; on
// machines that are coming. Pods that are left want a machine.
func (d *placing) placePending() {
	if len(d.wanting()) == 0 {
		d.check.Lodge(nil)
		return
	}
	d.lineUp(nil)
	d.berths()
	d.lodge()
	d.findPlaces()
	for _, dm := range d.wanting() {
		switch name := dm.of.Spec.SchedulerName; {
		case dm.judged:
		case dm.consumes != "":
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.PodConsumes, reason.Ref{}, "request", dm.consumes))
		case name != "" && name != corev1.DefaultSchedulerName:
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.OtherScheduler, reason.Ref{}, "scheduler", name))
		default:
			d.serve(dm, dm.left(), PodIgnored, reason.New(reason.NotYetScheduled, reason.Ref{}))
		}
	}
}

// placeOnComing serves pods that go onto a machine that is coming: first those for which groups grow, so that no other pod takes a machine that
// was added for them and has another one bought. Pods whose room was promised come with them.
func (d *placing) placeOnComing() {
	type rest struct {
		dm   *demand
		pods []int
	}
	var others []rest
	for _, dm := range d.wanting() {
		if n := d.deciding(dm); n < dm.left() {
			others = append(others, rest{dm, dm.pods})
			dm.pods = dm.pods[:dm.served+n]
		}
	}
	place := func() {
		for _, band := range d.bands() {
			d.keepPlaces(d.coming, band, onComing, d.placeComing)
			d.placeOn(d.coming, band, d.placeComing)
		}
	}
	place()
	for _, r := range others {
		r.dm.pods = r.pods
	}
	if len(others) > 0 {
		place()
	}
}

// deciding is how many of the pods that have no place yet are a reason to grow: none that the scheduler has not looked at, and none that is
// too young. Pods of one class wait equally long, so the young ones are the last.
func (d *placing) deciding(dm *demand) int {
	switch {
	case dm.booked:
		return dm.left()
	case !dm.judged:
		return 0
	}
	n := dm.left()
	for n > 0 {
		if _, young := d.allowed.Young(d.waiting[dm.pods[dm.served+n-1]], d.now); !young {
			break
		}
		n--
	}
	return n
}

// lineUp tells nodes that are there from those that are coming, in the order of names unless another one is given.
func (d *placing) lineUp(order func(a, b scheduling.Handle) int) {
	handles := d.check.Handles()
	if order != nil {
		slices.SortStableFunc(handles, order)
	}
	d.there, d.coming = d.check.Row(), d.check.Row()
	for _, h := range handles {
		if d.comingGroup(h) != nil {
			d.coming.Append(h)
		} else {
			d.there.Append(h)
		}
	}
}

// findPlaces finds places on what was lined up, and on nodes of the removal ladder.
func (d *placing) findPlaces() {
	for _, band := range d.bands() {
		d.keepPlaces(d.there, band, onThere, d.placeThere)
		d.placeOn(d.there, band, d.placeThere)
	}
	d.rescueNodes()
	d.holdBacklogs()
	d.awaitPlaces()
	d.placeOnComing()
}

// placeThere serves pods that go onto a node that is there.
func (d *placing) placeThere(dm *demand, h scheduling.Handle, n int) {
	if dm.claim != nil {
		d.keepFor(dm.claim, d.check.Name(h))
	} else {
		d.countOn(d.check.Name(h), dm.pods[dm.served])
	}
	d.place(dm, n, h)
	d.serve(dm, n, PodScheduling, d.fitsNode(h))
}

// countOn notes that the pod counts on the node, unless another one does already.
func (d *placing) countOn(node string, at int) {
	if _, known := d.counted[node]; !known {
		d.counted[node] = d.key(at)
	}
}

// fitsNode is why pods have their place on a node that is there, said once for each node.
func (d *placing) fitsNode(h scheduling.Handle) reason.Reason {
	name := d.check.Name(h)
	why, said := d.fitting[name]
	if !said {
		why = reason.New(reason.FitsNode, reason.Ref{}, "node", name)
		d.fitting[name] = why
	}
	return why
}

// placeComing serves pods that go onto a machine that is coming.
func (d *placing) placeComing(dm *demand, h scheduling.Handle, n int) {
	st := d.comingGroup(h)
	if st.awaited.Code == "" {
		st.awaited = reason.New(reason.FitsComingMachine, reason.Ref{}, "group", st.ID)
		st.asks = reason.New(reason.FitsAskedMachine, reason.Ref{}, "group", st.ID)
	}
	why := st.awaited
	if d.asked.of(h) != nil {
		why = st.asks
	}
	d.place(dm, n, h)
	if st.taken != nil {
		d.serve(dm, n, PodWaiting, why, *st.taken)
	} else {
		d.serve(dm, n, PodWaiting, why)
	}
}

// comingGroup is the group of a node that is not there yet, and of one that is starting; nil for others.
func (d *placing) comingGroup(h scheduling.Handle) *placeGroup {
	if st := d.opened.of(h); st != nil {
		return st
	}
	return d.arrivals.of(h)
}

// byHandle is groups by [scheduling.Handle] of their nodes.
type byHandle []*placeGroup

// of is the group of the node, nil when it is none of these.
func (b byHandle) of(h scheduling.Handle) *placeGroup {
	if int(h) >= len(b) {
		return nil
	}
	return b[h]
}

func (b *byHandle) set(h scheduling.Handle, st *placeGroup) {
	if more := int(h) + 1 - len(*b); more > 0 {
		*b = append(*b, make(byHandle, more)...)
	}
	(*b)[h] = st
}

// bands are the demands that are placed before others, whatever else there is: by whether their room was promised, and by their priority.
func (d *placing) bands() [][]*demand {
	var all [][]*demand
	from := 0
	for i, dm := range d.demands {
		if first := d.demands[from]; dm.booked != first.booked || dm.priority != first.priority {
			all, from = append(all, d.demands[from:i]), i
		}
	}
	return append(all, d.demands[from:])
}

// placeOn places pods on the first node of the row that takes them and tells found how many each node got. Pods that mind others are tried
// again as long as others find a place, since those may be whom they waited for.
func (d *placing) placeOn(row *scheduling.Row, demands []*demand, found func(dm *demand, h scheduling.Handle, n int)) {
	for again := false; ; again = true {
		placed := 0
		for _, dm := range demands {
			if dm.left() > 0 && (!again || d.check.Depends(dm.of)) {
				placed += row.Fill(dm.of, dm.left(), func(h scheduling.Handle, n int) { found(dm, h, n) })
			}
		}
		if placed == 0 {
			return
		}
	}
}

// rescueNodes lets pods take back nodes from the ladder whose machine is not being deleted yet. Every such node that any
// waiting pod fits is taken back, one after the other, the one cordoned last first: it has lost least.
func (d *placing) rescueNodes() {
	type rung struct {
		node  *cluster.Node
		since time.Time
	}
	var rungs []rung
	d.watch(func(_ int, v *sight) {
		if n := v.Node; v.onLadder && v.removal.Why != cluster.AskedFor && n.Instance != nil && (n.Instance.State == cluster.StateRunning || n.Instance.State.Expected() && wasParked(n)) && v.ready {
			rungs = append(rungs, rung{n, v.removal.Since})
		}
	})
	sort.SliceStable(rungs, func(i, j int) bool { return rungs[i].since.After(rungs[j].since) })
	for _, r := range rungs {
		if len(d.wanting()) == 0 {
			break
		}
		name := r.node.Name()
		restore := d.check.Remove(name)
		stay := r.node.Pods
		if wasParked(r.node) { // its kubelet is back, and lets those go whose time is over
			stay = slices.DeleteFunc(slices.Clone(stay), func(p *cluster.Pod) bool { return p.GraceOver(d.now) })
		}
		d.check.Add(cluster.GivenBack(r.node.Object), stay...)
		h, _ := d.check.Handle(name)
		d.placeOn(d.check.Row(h), d.demands, func(dm *demand, h scheduling.Handle, n int) {
			if dm.claim != nil {
				d.keepFor(dm.claim, name)
				d.spared[name] = d.booked[name]
			} else if _, ok := d.rescues[name]; !ok {
				d.rescues[name] = d.key(dm.pods[dm.served])
			}
			d.place(dm, n, h)
			d.serve(dm, n, PodRescues, reason.New(reason.RescuesNode, reason.Ref{}, "node", name))
		})
		if !d.takenBack(name) {
			restore()
			continue
		}
		d.there.Append(h)
	}
}

// takenBack says whether a node comes down from the ladder for somebody's sake.
func (d *placing) takenBack(node string) bool {
	_, rescued := d.rescues[node]
	_, spared := d.spared[node]
	return rescued || spared
}
