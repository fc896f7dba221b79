package place

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// Machines are what a group's next machines are like.
type Machines struct {
	*node.View
	room   *Room
	attach map[cluster.GroupID]int // volumes that a node of the group can attach, as kubelets say, nil until somebody asks
}

// OnEmpty asks about an empty machine of the group in that zone, alone and for the moment.
// Nothing of it stays: the machine is closed, no zone's turn is over, and no [Witness] hears of it.
func (mc *Machines) OnEmpty(st *Incoming, zone string, ask func(h scheduling.Handle)) {
	undo := mc.Check.Mark()
	ask(mc.Check.Open(mc.Template(st, zone), "new machine of "+string(st.ID)))
	undo()
}

// Words is numbers as a key of a map.
// Each number takes 8 bytes. Two results are equal if the numbers are, and the lists are equally long.
func Words(lists ...[]int64) string {
	var b strings.Builder
	for _, l := range lists {
		for _, n := range l {
			for range 8 {
				b.WriteByte(byte(n))
				n >>= 8
			}
		}
	}
	return b.String()
}

// OpenRoom shows the checker the room that will be there soon: nodes that are starting count as Ready, and machines that are
// coming count as nodes such as their group's template says.
//
//	node                                 the checker sees
//	left half way by cluster-autoscaler  it without that taint and cordon (scenario switch-over-pods-wait)
//	starting: see [Arrivals.Arriving]    it as Ready, with the devices that it awaits (scenarios starting-node-counts, gpu-awaited)
//	any other                            it as it is
//
// To show a node in another way, it removes the node and adds it again. That drops what was placed on it, so this comes before all placing.
func (d *Room) OpenRoom() {
	d.Arrivals.open()
	for _, at := range d.Memo.Passing {
		v := d.Memo.Facts[at]
		switch n := v.Node; {
		case v.Passing && v.Ready && d.Returned(n):
			d.Check.Remove(n.Name())
			d.Check.Add(node.WithoutIncumbent(n.Object), n.Pods...)
		case v.Passing && d.Arrivals.Arriving(n):
			d.Check.Remove(n.Name())
			d.Check.Add(d.Machines.equipped(n), n.Pods...)
			h, _ := d.Check.Handle(n.Name())
			d.Arrivals.arrivals.Set(h, d.groups[n.Group])
			d.groups[n.Group].expect(1)
			d.Wake(d.Policy.Growth.Due(n.Object))
		}
	}
}

// OpenMachines adds nodes such as the group's next machines will be.
func (mc *Machines) OpenMachines(st *Incoming, n int, name func(g cluster.GroupID, number int) string) []scheduling.Handle {
	handles := make([]scheduling.Handle, n)
	for i := range handles {
		handles[i] = mc.Check.Open(mc.Template(st, st.NextZone()), name(st.ID, st.Opened))
		mc.room.Opened.Set(handles[i], st)
		st.open()
	}
	return handles
}

// equipped is the settled node with the devices that it has not announced yet.
func (mc *Machines) equipped(n *cluster.Node) *corev1.Node {
	out := settled(n.Object, mc.Policy.Growth.Taints)
	if len(n.Awaits) > 0 {
		out.Status.Allocatable = maps.Clone(out.Status.Allocatable)
		maps.Copy(out.Status.Allocatable, n.Awaits)
	}
	return out
}

// settled is the node without the taints of its present condition and without a cordon.
// Which taints pass with the node's arrival, and which are lasting, is in [policy.Growth] (scenarios startup-taint, status-taint).
func settled(n *corev1.Node, passing cluster.Taints) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = false
	out.Spec.Taints = passing.Lasting(n.Spec.Taints)
	return out
}

// Template is what machines of the group are opened like in that zone, with the daemons they will carry.
// It is made once a cycle for each zone. Trials do not take it back, since it says nothing of places.
func (mc *Machines) Template(st *Incoming, zone string) *scheduling.Template {
	t := st.Templates[zone]
	if t == nil {
		n := scheduling.Future(st.Node(zone), "new machine of "+string(st.ID))
		t = mc.Check.Template(n, mc.Check.Daemons(n)...).Attaching(mc.volumeLimit(st)).Publishing(mc.slices(st.ID)...)
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

// volumeLimit is how many volumes the group's next machine can attach: the most that kubelets of its nodes say of a driver, or said when
// there were some, else what the cloud says of the size. 0 is no limit.
//
//	who says it                     when
//	kubelets of the group's nodes   while it has such nodes (scenario disks-per-machine); this is remembered
//	the memory                      when it has none, and its size is the same (scenario disks-fewer-than-described)
//	the cloud's catalogue of sizes  otherwise (scenario disks-in-first-growth)
//
// The first call in a cycle reads all CSINodes.
func (mc *Machines) volumeLimit(st *Incoming) int {
	if mc.attach == nil {
		mc.attach = map[cluster.GroupID]int{}
		for _, c := range mc.Snapshot.Objects.CSINodes {
			n := mc.Snapshot.Node(c.Name)
			if n == nil || n.Instance == nil || n.Group == "" {
				continue
			}
			for i := range c.Spec.Drivers {
				if a := c.Spec.Drivers[i].Allocatable; a != nil && a.Count != nil {
					mc.attach[n.Group] = max(mc.attach[n.Group], int(*a.Count))
				}
			}
		}
	}
	m := mc.Memory.Groups[st.ID]
	if n, known := mc.attach[st.ID]; known {
		if said := (memory.Attaches{Volumes: n, Size: st.Size}); m.Attaches != said {
			m.Attaches = said
			mc.Remember(st.ID, m)
		}
		return n
	}
	if m.Attaches.Volumes > 0 && m.Attaches.Size == st.Size {
		return m.Attaches.Volumes
	}
	return st.VolumeLimit
}

// slices are the device slices of a node of the group, which say what its next machine will have; nil when no node has any.
// One node is enough: the group's machines are alike.
func (mc *Machines) slices(g cluster.GroupID) []*resourcev1.ResourceSlice {
	for _, s := range mc.Snapshot.Objects.ResourceSlices {
		if s.Spec.NodeName == nil {
			continue
		}
		if n := mc.Snapshot.Node(*s.Spec.NodeName); n != nil && n.Group == g {
			return mc.Check.Slices(n.Name())
		}
	}
	return nil
}
