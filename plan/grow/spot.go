package grow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// spotTaken is the code of the back-off of a size in a zone where the cloud takes spot machines away.
const spotTaken = "SpotTaken"

// RestLostSizes has the size of a spot machine that the cloud takes away rest in its zone: what is asked for there next would be taken away
// as well, or not come at all. A group that spans zones passes that zone over, one that does not rests, as long as another group may grow in its place. It counts
// whether an agent has told of it or the machine was seen to leave, and once for each machine. A notice that is taken back has not been.
func (d *Growth) RestLostSizes() {
	var uids []string
	for _, n := range d.Memo.Spot {
		uid, zone, taken := d.takenAway(n)
		known := slices.Contains(d.Memory.Taken, uid)
		if uid == "" || !taken && !known {
			continue
		}
		if uids = append(uids, uid); !known {
			d.restSize(d.Groups[n.Group].Size, zone)
		}
	}
	slices.Sort(uids)
	if uids = slices.Compact(uids); slices.Equal(uids, d.Memory.Taken) {
		return
	}
	for _, g := range d.Snapshot.Groups {
		for _, in := range g.Instances {
			if g.Spot && in.State == cluster.StateRunning && slices.Contains(d.Memory.Taken, in.UID) && !slices.Contains(uids, in.UID) {
				d.wakeSize(g.Size, in.Zone)
			}
		}
	}
	d.Memory.Taken = uids
}

// wakeSize ends the rest of spot groups of the size in the zone, unless another machine of theirs is taken away.
func (d *Growth) wakeSize(size, zone string) {
	for _, n := range d.Memo.Spot {
		if _, at, taken := d.takenAway(n); taken && at == zone && strings.EqualFold(d.Groups[n.Group].Size, size) {
			return
		}
	}
	for _, g := range d.Snapshot.Groups {
		if m := d.Memory.Groups[g.ID]; sameSpot(g, size, zone) {
			if m.Backoff.Code == spotTaken {
				m.Backoff = memory.Backoff{}
			}
			if m.Astray[zone].Code == spotTaken {
				m.Astray = maps.Clone(m.Astray)
				delete(m.Astray, zone)
			}
			d.Remember(g.ID, m)
		}
	}
}

// sameSpot says whether the group is one of spot machines of the size, in the zone.
func sameSpot(g *cluster.Group, size, zone string) bool {
	return g.Spot && strings.EqualFold(g.Size, size) && (zone == "" || len(g.Zones) == 0 || slices.Contains(g.Zones, zone))
}

// takenAway says which machine the node is or was, where, and whether the cloud takes it away. Who else had it leave does not show: a
// person's hand counts as well. That a machine is in no list any more has to be said by a whole one, of a node that is silent.
func (d *Growth) takenAway(n *cluster.Node) (uid, zone string, taken bool) {
	in := n.Instance
	if in == nil {
		g := d.Groups[n.Group]
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
func (d *Growth) restSize(size, zone string) {
	f := cluster.Failure{At: d.Now, Code: spotTaken, Message: fmt.Sprintf("the cloud takes spot machines of size %s away", size)}
	if zone != "" && zone != "0" { // which is what machines outside of all zones say
		f.Message += " in zone " + zone
	}
	same := func(g *cluster.Group) bool { return sameSpot(g, size, zone) }
	instead := slices.ContainsFunc(d.Snapshot.Groups, func(g *cluster.Group) bool {
		return !same(g) && g.Template != nil && g.Usable() && g.Capacity < g.Max && !d.Memory.Groups[g.ID].Backoff.Until.After(d.Now)
	})
	for _, g := range d.Snapshot.Groups {
		m := d.Memory.Groups[g.ID]
		switch {
		case !same(g):
			continue
		case len(g.Zones) > 1:
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, d.Policy))
		case instead:
			m.Backoff = m.Backoff.Failed(f, g.Capacity, max(m.Capacity, g.Capacity), d.Policy)
		default:
			continue
		}
		d.Remember(g.ID, m)
	}
}
