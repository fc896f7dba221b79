package place

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// rotation is the order in which the machines of a group that spans zones come up in them: see [cluster.NextZone]. It says nothing but that,
// so that whoever takes back what was opened need not take back what was asked of it.
type rotation struct {
	Zones []string       // in which machines are expected to come up
	known []string       // zones of the machines that are opened first: those in flight that are listed, then parked ones, which a growth starts
	has   map[string]int // machines by zone: all whose zone is known
	turns []string       // zones of the machines that are opened after those, as far as somebody has asked
	count map[string]int // machines by zone with turns
	nodes map[string]*corev1.Node
}

// rotate finds the order in which the group's machines come up, nil for a group that spans no zones.
func (d *Room) rotate(st *Incoming) *rotation {
	if !st.Spans() || st.Template == nil {
		return nil
	}
	r := &rotation{Zones: d.zonesOf(st), has: st.InZones(), nodes: map[string]*corev1.Node{}}
	delete(r.has, "") // these take their turns
	r.count = map[string]int{}
	for zone, n := range r.has {
		r.count[zone] = n
	}
	for _, in := range st.Nodeless {
		if _, late := d.IsLate(st.GroupFacts, in); in.Zone != "" && d.Comes(st.GroupFacts, in) && !late {
			r.known = append(r.known, in.Zone)
		}
	}
	for _, in := range st.Parked {
		r.known = append(r.known, in.Zone)
	}
	return r
}

// At is the zone of the machine of that number, counted from 0 in the order of opening.
func (r *rotation) At(n int) string {
	if n < len(r.known) {
		return r.known[n]
	}
	for n -= len(r.known); len(r.turns) <= n; {
		zone := cluster.NextZone(r.Zones, r.count)
		r.count[zone]++
		r.turns = append(r.turns, zone)
	}
	return r.turns[n]
}

// after is how many machines there are by zone when so many have been opened.
func (r *rotation) after(opened int) map[string]int {
	all := map[string]int{}
	for zone, n := range r.has {
		all[zone] = n
	}
	for i := len(r.known); i < opened; i++ {
		all[r.At(i)]++
	}
	return all
}

// farthest is as far as one looks for the turn of a zone.
const farthest = 1000

// until is how many machines have to be opened, after so many, until n of them are in the zone; [farthest] when it takes more or the zone is
// passed over.
func (r *rotation) until(opened int, zone string, n int) int {
	for i := range farthest {
		if n <= 0 {
			return i
		}
		if r.At(opened+i) == zone {
			n--
		}
	}
	return farthest
}

// ZonesAfter are how many machines the group has in each zone when all that are opened are there, nil for a group that spans none.
func (st *Incoming) ZonesAfter() map[string]int {
	if st.Rotation == nil {
		return nil
	}
	return st.Rotation.after(st.Opened)
}

// NextZone is where the group's next machine comes up, "" for a group that spans no zones.
func (st *Incoming) NextZone() string {
	if st.Rotation == nil {
		return ""
	}
	return st.Rotation.At(st.Opened)
}

// Reaches is how many machines the group opens until n of them are in the zone: n for one that spans no zones.
func (st *Incoming) Reaches(zone string, n int) int {
	if st.Rotation == nil {
		return n
	}
	return st.Rotation.until(st.Opened, zone, n)
}

// Node is a node such as a machine of the group becomes in that zone, "" for a group that spans none.
func (st *Incoming) Node(zone string) *corev1.Node {
	if zone == "" || st.Rotation == nil || !slices.Contains(st.Zones, st.Template.Labels[corev1.LabelTopologyZone]) { // nodes bear no zone, or not the cloud's
		return st.Template
	}
	n := st.Rotation.nodes[zone]
	if n == nil {
		n = cluster.InZone(st.Template, zone)
		st.Rotation.nodes[zone] = n
	}
	return n
}

// Sites are the zones in which machines of the group come up, in the order of their turns; one without a name for a group that spans none.
func (st *Incoming) Sites() []string {
	if st.Rotation == nil {
		return []string{""}
	}
	sites := slices.Clone(st.Rotation.Zones)
	slices.SortStableFunc(sites, func(a, b string) int { return st.Reaches(a, 1) - st.Reaches(b, 1) })
	return sites
}

// TopologiesOf are the labels by whose values such pods have to be spread, near others or away from them.
func TopologiesOf(spec *corev1.PodSpec) []string {
	var keys []string
	for _, t := range spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			keys = append(keys, t.TopologyKey)
		}
	}
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				keys = append(keys, t.TopologyKey)
			}
		}
		if a.PodAntiAffinity != nil {
			for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				keys = append(keys, t.TopologyKey)
			}
		}
	}
	return keys
}
