package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// spotTaken is the code of the back-off of a size in a zone where the cloud takes spot machines away.
const spotTaken = "SpotTaken"

// restLostSizes has the size of a spot machine that the cloud takes away rest in its zone: what is asked for there next would be taken away
// as well, or not come at all. A group that spans zones passes that zone over, one that does not rests, as long as another group may grow in its place. It counts
// whether an agent has told of it or the machine was seen to leave, and once for each machine. A notice that is taken back has not been.
func (d *growing) restLostSizes() {
	var uids []string
	for _, n := range d.facts.spot {
		uid, zone, taken := d.takenAway(n)
		known := slices.Contains(d.m.Taken, uid)
		if uid == "" || !taken && !known {
			continue
		}
		if uids = append(uids, uid); !known {
			d.restSize(d.groups[n.Group].Size, zone)
		}
	}
	slices.Sort(uids)
	if uids = slices.Compact(uids); slices.Equal(uids, d.m.Taken) {
		return
	}
	for _, g := range d.s.Groups {
		for _, in := range g.Instances {
			if g.Spot && in.State == cluster.StateRunning && slices.Contains(d.m.Taken, in.UID) && !slices.Contains(uids, in.UID) {
				d.wakeSize(g.Size, in.Zone)
			}
		}
	}
	d.m.Taken = uids
}

// wakeSize ends the rest of spot groups of the size in the zone, unless another machine of theirs is taken away.
func (d *growing) wakeSize(size, zone string) {
	for _, n := range d.facts.spot {
		if _, at, taken := d.takenAway(n); taken && at == zone && strings.EqualFold(d.groups[n.Group].Size, size) {
			return
		}
	}
	for _, g := range d.s.Groups {
		if m := d.m.Groups[g.ID]; sameSpot(g, size, zone) {
			if m.Backoff.Code == spotTaken {
				m.Backoff = Backoff{}
			}
			if m.Astray[zone].Code == spotTaken {
				m.Astray = maps.Clone(m.Astray)
				delete(m.Astray, zone)
			}
			d.remember(g.ID, m)
		}
	}
}

// sameSpot says whether the group is one of spot machines of the size, in the zone.
func sameSpot(g *cluster.Group, size, zone string) bool {
	return g.Spot && strings.EqualFold(g.Size, size) && (zone == "" || len(g.Zones) == 0 || slices.Contains(g.Zones, zone))
}

// leavesSpot says of a node whether its machine may be a spot machine that is taken away: something is announced to it, or it leaves or has
// left by no doing of sluice's.
func (d *view) leavesSpot(v *sight) bool {
	g := d.groups[v.Group]
	if g == nil || !g.Spot {
		return false
	}
	return v.noticed || !v.onLadder && (v.Instance == nil || v.Instance.State == cluster.StateDeleting || v.Instance.Stopped())
}

// takenAway says which machine the node is or was, where, and whether the cloud takes it away. Who else had it leave does not show: a
// person's hand counts as well. That a machine is in no list any more has to be said by a whole one, of a node that is silent.
func (d *growing) takenAway(n *cluster.Node) (uid, zone string, taken bool) {
	in := n.Instance
	if in == nil {
		g := d.groups[n.Group]
		gone := len(n.Suspects) == 0 && !cluster.Ready(n.Object) && g.Usable() && g.Standing() == g.Capacity
		return n.Was().UID, n.Object.Labels[corev1.LabelTopologyZone], gone
	}
	if in.State == cluster.StateDeleting || in.Stopped() {
		_, onLadder := cluster.RemovalOf(n.Object)
		return in.UID, in.Zone, !onLadder
	}
	notice, _ := cluster.NoticeOf(n.Object)
	return in.UID, in.Zone, notice.Kind == "Preempt"
}

// restSize has all spot groups of the size rest in the zone.
func (d *growing) restSize(size, zone string) {
	f := cluster.Failure{At: d.now, Code: spotTaken, Message: fmt.Sprintf("the cloud takes spot machines of size %s away", size)}
	if zone != "" && zone != "0" { // which is what machines outside of all zones say
		f.Message += " in zone " + zone
	}
	same := func(g *cluster.Group) bool { return sameSpot(g, size, zone) }
	instead := slices.ContainsFunc(d.s.Groups, func(g *cluster.Group) bool {
		return !same(g) && g.Template != nil && g.Usable() && g.Capacity < g.Max && !d.m.Groups[g.ID].Backoff.Until.After(d.now)
	})
	for _, g := range d.s.Groups {
		m := d.m.Groups[g.ID]
		switch {
		case !same(g):
			continue
		case len(g.Zones) > 1:
			m.Astray = with(m.Astray, zone, m.Astray[zone].failed(f, 0, 0, d.allowed))
		case instead:
			m.Backoff = m.Backoff.failed(f, g.Capacity, max(m.Capacity, g.Capacity), d.allowed)
		default:
			continue
		}
		d.remember(g.ID, m)
	}
}
