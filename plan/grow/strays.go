package grow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// NoticeStrays finds out where the machines came up that groups over several zones were asked for. A zone that has fewer than was assumed,
// while another has more, is passed over for a while: the cloud had its reasons to put its machine elsewhere, and asking again at once would buy
// another one there (S-31). It is judged when the zones of all machines are known.
func (d *Growth) NoticeStrays() {
	for _, g := range d.Snapshot.Groups {
		st, m := d.Groups[g.ID], d.Memory.Groups[g.ID]
		if m.Awaited == nil || !st.Usable() || m.Requested.After(g.Read.At) {
			continue
		}
		has := g.InZones()
		if has[""] > 0 || g.Capacity > st.Standing() {
			continue
		}
		for _, zone := range astray(m.Awaited, has) {
			f := cluster.Failure{At: d.Now, Code: "OtherZone", Message: fmt.Sprintf("a machine that was to come up in %s came up elsewhere", zone)}
			m.Astray = memory.With(m.Astray, zone, m.Astray[zone].Failed(f, 0, 0, d.Policy))
		}
		m.Awaited = nil
		d.Remember(g.ID, m)
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

// PassedZones are the group's zones that are passed over, with the reason of each.
func (d *Growth) PassedZones(st *Order) map[string]reason.Reason {
	passed := map[string]reason.Reason{}
	if st.Rotation == nil {
		return nil
	}
	for _, zone := range st.Zones {
		if !slices.Contains(st.Rotation.Zones, zone) {
			rest, why := d.Memory.Groups[st.ID].Astray[zone], "a machine that was to come up there came up elsewhere"
			if rest.Code == spotTaken {
				why = rest.Message
			}
			passed[zone] = reason.New(reason.ZonePassedOver, reason.Group(string(st.ID)), "zone", zone, "until", rest.Until.Format(time.RFC3339), "why", why)
		}
	}
	return passed
}

// turnsOf is how the zones of a group take turns from now on, in one word: "" for a group that spans none.
func (d *Growth) turnsOf(st *Order) string {
	if st.Rotation == nil {
		return ""
	}
	var b strings.Builder
	for _, zone := range st.Rotation.Zones {
		fmt.Fprintf(&b, "%s %d ", zone, st.Reaches(zone, 1))
	}
	passed := d.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fmt.Fprintf(&b, "%s %s ", zone, passed[zone].Facts["until"])
	}
	return b.String()
}

// passesOver says that a machine of the group would take the pod in a zone that is passed over, nil when none would.
func (d *Growth) passesOver(st *Order, p *cluster.Pod) *reason.Reason {
	passed := d.PassedZones(st)
	for _, zone := range slices.Sorted(maps.Keys(passed)) {
		fits := false
		d.OnEmpty(st.Incoming, zone, func(h scheduling.Handle) { fits = d.Check.Room(p.Class, h) > 0 })
		if fits {
			why := passed[zone]
			return &why
		}
	}
	return nil
}
