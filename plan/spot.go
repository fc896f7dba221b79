package plan

import (
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
)

// spotTaken is the code of the back-off of a size in a zone where the cloud takes spot machines away.
const spotTaken = "SpotTaken"

// noticePreemptions has the size of a spot machine that the cloud takes away rest in its zone: what is asked for there next would be taken away
// as well, or not come at all. A group that spans zones passes that zone over, one that does not rests, as long as another group may grow in its place. Each
// machine counts once.
func (d *decision) noticePreemptions() {
	taken := map[string]bool{}
	for _, n := range d.planner.noticed {
		notice, _ := cluster.NoticeOf(n.Object)
		in := n.Instance
		if in == nil || notice.Kind != "Preempt" || d.groups[n.Group] == nil || !d.groups[n.Group].Spot {
			continue
		}
		taken[in.UID] = true
		if !slices.Contains(d.m.Taken, in.UID) {
			d.restSize(d.groups[n.Group].Size, in.Zone)
		}
	}
	var uids []string
	for uid := range taken {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	if !slices.Equal(uids, d.m.Taken) {
		d.m.Taken = uids
	}
}

// restSize has all spot groups of the size rest in the zone.
func (d *decision) restSize(size, zone string) {
	f := cluster.Failure{At: d.now, Code: spotTaken, Message: fmt.Sprintf("the cloud takes spot machines of size %s away", size)}
	if zone != "" && zone != "0" { // which is what machines outside of all zones say
		f.Message += " in zone " + zone
	}
	same := func(g *cluster.Group) bool {
		return g.Spot && strings.EqualFold(g.Size, size) && (zone == "" || len(g.Zones) == 0 || slices.Contains(g.Zones, zone))
	}
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
