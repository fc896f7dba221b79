package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// rotation is the order in which the machines of a group that spans zones come up in them: see [cluster.NextZone]. It says nothing but that,
// so that whoever takes back what was opened need not take back what was asked of it.
type rotation struct {
	zones []string       // in which machines are expected to come up
	known []string       // zones of the machines that are opened first: those in flight that are listed, then parked ones, which a growth starts
	has   map[string]int // machines by zone: all whose zone is known
	turns []string       // zones of the machines that are opened after those, as far as somebody has asked
	count map[string]int // machines by zone with turns
	nodes map[string]*corev1.Node
}

// rotate finds the order in which the group's machines come up, nil for a group that spans no zones.
func (d *placing) rotate(st *placeGroup) *rotation {
	if !st.Spans() || st.Template == nil {
		return nil
	}
	r := &rotation{zones: d.zonesOf(st), has: st.InZones(), nodes: map[string]*corev1.Node{}}
	delete(r.has, "") // these take their turns
	r.count = map[string]int{}
	for zone, n := range r.has {
		r.count[zone] = n
	}
	for _, in := range st.nodeless {
		if _, late := d.isLate(st.groupState, in); in.Zone != "" && d.comes(st.groupState, in) && !late {
			r.known = append(r.known, in.Zone)
		}
	}
	for _, in := range st.Parked {
		r.known = append(r.known, in.Zone)
	}
	return r
}

// at is the zone of the machine of that number, counted from 0 in the order of opening.
func (r *rotation) at(n int) string {
	if n < len(r.known) {
		return r.known[n]
	}
	for n -= len(r.known); len(r.turns) <= n; {
		zone := cluster.NextZone(r.zones, r.count)
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
		all[r.at(i)]++
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
		if r.at(opened+i) == zone {
			n--
		}
	}
	return farthest
}

// zonesAfter are how many machines the group has in each zone when all that are opened are there, nil for a group that spans none.
func (st *placeGroup) zonesAfter() map[string]int {
	if st.rotation == nil {
		return nil
	}
	return st.rotation.after(st.opened)
}

// nextZone is where the group's next machine comes up, "" for a group that spans no zones.
func (st *placeGroup) nextZone() string {
	if st.rotation == nil {
		return ""
	}
	return st.rotation.at(st.opened)
}

// reaches is how many machines the group opens until n of them are in the zone: n for one that spans no zones.
func (st *placeGroup) reaches(zone string, n int) int {
	if st.rotation == nil {
		return n
	}
	return st.rotation.until(st.opened, zone, n)
}

// node is a node such as a machine of the group becomes in that zone, "" for a group that spans none.
func (st *placeGroup) node(zone string) *corev1.Node {
	if zone == "" || st.rotation == nil || !slices.Contains(st.Zones, st.Template.Labels[corev1.LabelTopologyZone]) { // nodes bear no zone, or not the cloud's
		return st.Template
	}
	n := st.rotation.nodes[zone]
	if n == nil {
		n = cluster.InZone(st.Template, zone)
		st.rotation.nodes[zone] = n
	}
	return n
}

// sites are the zones in which machines of the group come up, in the order of their turns; one without a name for a group that spans none.
func (st *placeGroup) sites() []string {
	if st.rotation == nil {
		return []string{""}
	}
	sites := slices.Clone(st.rotation.zones)
	slices.SortStableFunc(sites, func(a, b string) int { return st.reaches(a, 1) - st.reaches(b, 1) })
	return sites
}

// reach opens the group's next machines until one takes a pod of the demand; none when no zone's would, when a limit forbids it, or when more
// machines would stand there for nobody than the group has zones. total is what the cluster has, extra how many machines the group is about to
// add beyond it.
func (d *growing) reach(st *growGroup, w *wanted, total totals, extra int) []scheduling.Handle {
	undo := d.check.Mark()
	var open []scheduling.Handle
	spare := 0
	for d.limit(st, total, extra+len(open)) == nil {
		h := d.openMachines(st.placeGroup, 1, newName)[0]
		open = append(open, h)
		if d.check.Room(w.of, h) > 0 {
			return open
		}
		if len(open) == 1 {
			spare = d.spare(st)
		}
		if len(open) > spare {
			break
		}
	}
	undo()
	st.opened -= len(open)
	return nil
}

// spare is how many machines the group may open, besides one that is needed, only because zones take turns: as many as it has zones, less
// those that it could give back by now because they carry nobody.
func (d *growing) spare(st *growGroup) int {
	if st.rotation == nil {
		return 0
	}
	idle := -1 // the machine that was opened to be asked about
	for _, h := range d.check.Handles() {
		name := d.check.Name(h)
		n := d.s.Node(name)
		if own := n == nil && d.opened.of(h) == st.placeGroup || n != nil && n.Group == st.ID && !n.Object.Spec.Unschedulable; own && d.carriesNobody(name) {
			idle++
		}
	}
	machines, _ := d.allowed.Headroom(st.Group)
	idle = min(idle-machines, d.beyond(st))
	return max(0, len(st.rotation.zones)-max(0, idle))
}

// beyond is how many machines the group has beyond those that it has to keep.
func (d *growing) beyond(st *growGroup) int {
	return d.believed(st.groupState) + st.adding - max(st.Min, d.allowed.Floor(st.Group, d.now))
}

func (d *growing) carriesNobody(node string) bool {
	return !slices.ContainsFunc(d.check.Pods(node), func(p *cluster.Pod) bool { return !p.Daemon() })
}

// tooFar says that a zone's turn comes too late for the pod, which a machine there would take; nil when no zone would do.
func (d *growing) tooFar(st *growGroup, p *cluster.Pod) *reason.Reason {
	if st.rotation == nil {
		return nil
	}
	zone, others, spare := "", 0, 0
	undo := d.check.Mark()
	opened := st.opened
	for i := range len(st.rotation.zones) + 1 {
		at := st.nextZone()
		h := d.openMachines(st.placeGroup, 1, newName)[0]
		if i == 0 {
			spare = d.spare(st)
		} else if d.check.Room(p.Class, h) > 0 {
			zone, others = at, i
			break
		}
	}
	undo()
	st.opened = opened
	if zone == "" {
		for _, at := range st.sites() {
			fits := false
			d.onEmpty(st.placeGroup, at, func(h scheduling.Handle) { fits = d.check.Room(p.Class, h) > 0 })
			if n := st.reaches(at, 1) - 1; fits && n > 0 {
				zone, others = at, n
				break
			}
		}
	}
	if zone == "" {
		return nil
	}
	why := reason.New(reason.ZoneTooFar, reason.Group(string(st.ID)), "zone", zone, "machines", others, "limit", spare)
	return &why
}

// tellTurns says of groups and of pods that machines are added for which nobody has a use but that other zones' turns come first.
func (d *growing) tellTurns() {
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		if st.adding == 0 || st.rotation == nil {
			continue
		}
		nobody := 0
		for _, m := range st.fresh {
			if m.pods == 0 {
				nobody++
				continue
			}
			if nobody == 0 {
				continue
			}
			for _, those := range m.zonal {
				for _, at := range those.demand.pods[those.from : those.from+those.n] {
					v := &d.podVerdicts[at]
					v.Because = append(slices.Clip(v.Because), reason.New(reason.ZoneTakesTurns, v.Subject, "group", g.ID, "zone", m.zone, "machines", nobody))
				}
			}
		}
	}
}

// topologiesOf are the labels by whose values such pods have to be spread, near others or away from them.
func topologiesOf(spec *corev1.PodSpec) []string {
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
