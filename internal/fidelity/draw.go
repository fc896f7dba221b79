package fidelity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// Draw makes the world of that seed: always the same one. Of four worlds one is under a single constraint, each in its turn;
// the others combine two to six of them. They are drawn from those given, or from [Constraints].
func Draw(seed uint64, from ...Constraint) *World { return draw(seed, false, from) }

// DrawSpanning is [Draw] of worlds in which most groups span zones, and some of them await machines.
func DrawSpanning(seed uint64, from ...Constraint) *World { return draw(seed, true, from) }

func draw(seed uint64, spanning bool, from []Constraint) *World {
	if len(from) == 0 {
		from = Constraints
	}
	d := &draft{
		rand: rand.New(rand.NewPCG(seed, 0x5eed)), on: map[Constraint]bool{}, spanning: spanning,
		w: &World{Seed: seed, Carries: map[string][]Constraint{}},
	}
	d.constraints(from)
	d.namespaces()
	d.groups()
	d.attach()
	d.daemons()
	d.classes()
	d.running()
	d.pending()
	sort.Slice(d.w.Nodes, func(i, j int) bool { return d.w.Nodes[i].Name < d.w.Nodes[j].Name })
	sort.Slice(d.w.Pods, func(i, j int) bool { return keyOf(d.w.Pods[i]) < keyOf(d.w.Pods[j]) })
	return d.w
}

// draft is a world in the making.
type draft struct {
	rand *rand.Rand
	w    *World
	on   map[Constraint]bool

	spanning bool // most groups span zones
	kinds    []*class
	asked    map[string]resourcev1.DeviceClaim // what claims of a template ask for, by namespace/name
}

// chance is true with that probability.
func (d *draft) chance(p float64) bool { return d.rand.Float64() < p }

// between is a whole number from low to high, both included.
func (d *draft) between(low, high int) int { return low + d.rand.IntN(high-low+1) }

// pick is one of the values.
func pick[T any](d *draft, values ...T) T { return values[d.rand.IntN(len(values))] }

// some are values of the list in their order, at least one.
func some[T any](d *draft, values ...T) []T {
	sure := d.rand.IntN(len(values))
	var out []T
	for i, v := range values {
		if i == sure || d.chance(0.4) {
			out = append(out, v)
		}
	}
	return out
}

func (d *draft) constraints(from []Constraint) {
	switch {
	case d.w.Seed%4 == 0:
		d.on[from[int(d.w.Seed/4)%len(from)]] = true
	default:
		for range d.between(2, 6) {
			d.on[pick(d, from...)] = true
		}
	}
	for _, c := range from {
		if d.on[c] {
			d.w.Constraints = append(d.w.Constraints, c)
		}
	}
}

var zones = []string{"westeurope-1", "westeurope-2", "westeurope-3"}

func (d *draft) namespaces() {
	for i, name := range []string{"default", "shop", "tools"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
		if i > 0 {
			ns.Labels["team"] = pick(d, "red", "blue")
		}
		d.w.Namespaces = append(d.w.Namespaces, ns)
	}
}

// groups makes groups with their nodes, and now and then a node of nobody's. Nodes of a group are alike.
func (d *draft) groups() {
	most := d.between(2, 12)
	for i := range d.between(1, 4) {
		id := cluster.GroupID(fmt.Sprintf("group-%d", i))
		g := &cluster.Group{ID: id, Template: d.shape(), Read: cluster.Read{At: Start, Complete: true}, PriceUSDPerHour: float64(d.between(1, 8)) / 8}
		if d.spanning && d.chance(0.7) {
			d.span(g)
		}
		for j := range d.between(0, 3) {
			if len(d.w.Nodes) == most {
				break
			}
			d.join(g, fmt.Sprintf("%s-%d", id, j))
		}
		g.Capacity = len(g.Instances)
		if len(g.Zones) > 0 {
			d.expect(g)
		}
		g.Max = g.Capacity + pick(d, 0, 1, 1, 2, 3, 4)
		d.w.Groups = append(d.w.Groups, g)
	}
	for i := 0; len(d.w.Nodes) < 2 || len(d.w.Nodes) < most && d.chance(0.4); i++ {
		n := d.shape()
		n.Name = fmt.Sprintf("other-%d", i)
		n.Labels[corev1.LabelHostname] = n.Name
		if d.chance(0.1) {
			delete(n.Labels, corev1.LabelTopologyZone)
		}
		d.enter(n)
	}
}

// join adds a node of the group with its machine.
func (d *draft) join(g *cluster.Group, name string) {
	n := g.Template.DeepCopy()
	n.Name, n.Labels[corev1.LabelHostname] = name, name
	n.Spec.ProviderID = "azure:///" + name
	zone := ""
	if len(g.Zones) > 0 {
		zone = d.place(g)
		enterZone(n, zone)
	}
	d.enter(n)
	g.Instances = append(g.Instances, &cluster.Instance{
		Zone: zone,
		ID:   cluster.InstanceID(name), Group: g.ID, UID: "machine-" + name, ProviderID: n.Spec.ProviderID, ComputerName: name,
		Created: Start.Add(-hour), State: cluster.StateRunning,
	})
}

func (d *draft) enter(n *corev1.Node) {
	n.UID = types.UID("uid-of-" + n.Name)
	n.CreationTimestamp = metav1.NewTime(Start.Add(-hour))
	for c := range d.each() {
		if c.node != nil {
			c.node(d, n)
		}
	}
	d.w.Nodes = append(d.w.Nodes, n)
}

// shape is a node without a name. Sizes are small multiples of what pods ask for, so that some fill a node to the last unit.
func (d *draft) shape() *corev1.Node {
	cores := pick(d, 1, 2, 2, 4)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			corev1.LabelTopologyZone:       pick(d, zones...),
			corev1.LabelInstanceTypeStable: fmt.Sprintf("size-%d", cores),
			corev1.LabelOSStable:           "linux",
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cores)*1000-pick[int64](d, 0, 0, 100), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(int64(cores)*pick[int64](d, 2, 4)<<30, resource.BinarySI),
				corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Start.Add(-hour))}},
		},
	}
	for c := range d.each() {
		if c.shape != nil {
			c.shape(d, n)
		}
	}
	n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	return n
}

// attach says what disks every node can attach, for those who ask.
func (d *draft) attach() {
	for c := range d.each() {
		if c.groups != nil {
			c.groups(d)
		}
	}
	for _, n := range d.w.Nodes {
		limit := pick(d, 0, 2)
		for _, g := range d.w.Groups {
			if slices.ContainsFunc(g.Instances, func(in *cluster.Instance) bool { return in.ComputerName == n.Name }) {
				limit = g.VolumeLimit
			}
		}
		d.w.Volumes.CSINodes = append(d.w.Volumes.CSINodes, csiNode(n.Name, limit))
	}
}
