package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// noticeStrays finds out where the machines came up that groups over several zones were asked for. A zone that has fewer than was assumed,
// while another has more, is passed over for a while: the cloud had its reasons to put its machine elsewhere, and asking again at once would buy
// another one there (S-31). It is judged when the zones of all machines are known.
func (d *growing) noticeStrays() {
	for _, g := range d.s.Groups {
		st, m := d.groups[g.ID], d.m.Groups[g.ID]
		if m.Awaited == nil || !st.Usable() || m.Requested.After(g.Read.At) {
			continue
		}
		has := g.InZones()
		if has[""] > 0 || g.Capacity > st.Standing() {
			continue
		}
		for _, zone := range astray(m.Awaited, has) {
			f := cluster.Failure{At: d.now, Code: "OtherZone", Message: fmt.Sprintf("a machine that was to come up in %s came up elsewhere", zone)}
			m.Astray = with(m.Astray, zone, m.Astray[zone].failed(f, 0, 0, d.allowed))
		}
		m.Awaited = nil
		d.remember(g.ID, m)
	}
}

// astray are the zones that have fewer machines than was assumed; none when no other zone has more: then machines have left in the meantime.
func astray(awaited, has map[string]int) []string {
	more := false
	for zone, n := range has {
		more = more || n > awaited[zone]
	}
	var less []string
	for _, zone := range slices.Sorted(maps.Keys(awaited)) {
		if more && has[zone] < awaited[zone] {
			less = append(less, zone)
		}
	}
	return less
}

// zonesOf are the zones in which the group's next machines are expected: all of its zones but those that are passed over, while another is left.
func (d *placing) zonesOf(st *placeGroup) []string {
	zones := slices.DeleteFunc(slices.Clone(st.Zones), func(zone string) bool {
		until := d.m.Groups[st.ID].Astray[zone].Until
		d.wake(until)
		return until.After(d.now)
	})
	if len(zones) == 0 {
		return st.Zones
	}
	return zones
}

// passedZones are the group's zones that are passed over, with the reason of each.
func (d *growing) passedZones(st *growGroup) map[string]reason.Reason {
	passed := map[string]reason.Reason{}
	if st.rotation == nil {
		return nil
	}
	for _, zone := range st.Zones {
		if !slices.Contains(st.rotation.zones, zone) {
			rest, why := d.m.Groups[st.ID].Astray[zone], "a machine that was to come up there came up elsewhere"
			if rest.Code == spotTaken {
				why = rest.Message
			}
			passed[zone] = reason.New(reason.ZonePassedOver, reason.Group(string(st.ID)), "zone", zone, "until", rest.Until.Format(time.RFC3339), "why", why)
		}
	}
	return passed
}

// turnsOf is how the zones of a group take turns from now on, in one word: "" for a group that spans none.
func (d *growing) turnsOf(st *growGroup) string {
	if st.rotation == nil {
		return ""
	}
	var b strings.Builder
	for _, zone := range st.rotation.zones {
		fmt.Fprintf(&b, "%s %d ", zone, st.reaches(zone, 1))
	}
	passed := d.passedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fmt.Fprintf(&b, "%s %s ", zone, passed[zone].Facts["until"])
	}
	return b.String()
}

// passesOver says that a machine of the group would take the pod in a zone that is passed over, nil when none would.
func (d *growing) passesOver(st *growGroup, p *cluster.Pod) *reason.Reason {
	passed := d.passedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fits := false
		d.onEmpty(st.placeGroup, zone, func(h scheduling.Handle) { fits = d.check.Room(p.Class, h) > 0 })
		if fits {
			why := passed[zone]
			return &why
		}
	}
	return nil
}
