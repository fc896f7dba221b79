package place

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/scheduling"
)

// OnEmpty asks about an empty machine of the group in that zone, alone and for the moment.
func (d *Room) OnEmpty(st *Incoming, zone string, ask func(h scheduling.Handle)) {
	undo := d.Check.Mark()
	ask(d.Check.Open(d.Template(st, zone), "new machine of "+string(st.ID)))
	undo()
}

// zonesOf are the zones in which the group's next machines are expected: all of its zones but those that are passed over, while another is left.
func (d *Room) zonesOf(st *Incoming) []string {
	zones := slices.DeleteFunc(slices.Clone(st.Zones), func(zone string) bool {
		until := d.Memory.Groups[st.ID].Astray[zone].Until
		d.Wake(until)
		return until.After(d.Now)
	})
	if len(zones) == 0 {
		return st.Zones
	}
	return zones
}

// Words is numbers as a key of a map.
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

// TakenBack says whether a node comes down from the ladder for somebody's sake.
func (d *Room) TakenBack(node string) bool {
	_, rescued := d.Rescues[node]
	_, spared := d.Spared[node]
	return rescued || spared
}

// NewName names a machine that is being added.
func NewName(g cluster.GroupID, number int) string {
	return "new:" + string(g) + ":" + strconv.Itoa(number)
}

// settles says whether pods may stand in the checker before it is known who waits: nobody is placed then but by the places of the last cycle.
func (d *Room) settles() bool {
	o := &d.Snapshot.Objects
	return !d.hopeful && len(o.CapacityBuffers)+len(o.ProvisioningRequests) == 0
}
