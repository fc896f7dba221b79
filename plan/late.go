package plan

import (
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// A machine is late that has had three times as long as the longest that its group, or else its size, has shown to take. Pods that wait for it then ask the
// other groups; those that no other group helps go on waiting for it. When it joins after all it is a node as any other, and what it took is learned.
const (
	lateTimes = 3
	leastLate = 3 * time.Minute
)

// Boot is the longest that machines of a group took from their creation until they registered, and the group's size then.
type Boot struct {
	Longest time.Duration `json:"longest"`
	Size    string        `json:"size,omitempty"`
	Learned time.Time     `json:"learned,omitzero"`
}

// longestKept is how long what a machine took is remembered when none that is there took as long.
const longestKept = day

// learnBoots remembers how long machines took. Groups without nodes keep what is known of them. It looks only while machines are without a node,
// nodes are not Ready, or a Ready one is young.
func (d *view) learnBoots() {
	joins := func(g *cluster.Group) bool {
		return len(d.groups[g.ID].nodeless) > 0 || g.Learned != nil && d.now.Sub(g.Learned.Born) < d.allowed.Growth.Provision
	}
	if len(d.facts.passing) == 0 && !slices.ContainsFunc(d.s.Groups, joins) {
		return
	}
	longest := map[cluster.GroupID]time.Duration{}
	for _, n := range d.s.Nodes {
		if n.Instance == nil || n.Instance.Created.IsZero() {
			continue
		}
		if g := d.s.Group(n.Group); g != nil && strings.EqualFold(n.Instance.Size, g.Size) || g != nil && n.Instance.Size == "" {
			if took := n.Object.CreationTimestamp.Sub(n.Instance.Created); took > 0 && took <= d.allowed.Growth.Provision {
				longest[n.Group] = max(longest[n.Group], took)
			}
		}
	}
	for _, g := range d.s.Groups {
		m := d.m.Groups[g.ID]
		took, sameSize := longest[g.ID], strings.EqualFold(m.Boot.Size, g.Size)
		if took > m.Boot.Longest || took > 0 && !sameSize || took > 0 && took < m.Boot.Longest && d.now.Sub(m.Boot.Learned) >= longestKept {
			m.Boot = Boot{took, g.Size, d.now}
			d.remember(g.ID, m)
		}
	}
}

// longestBoot is the longest that machines of the group took, or of another group of its size where its own have shown nothing; 0 when nothing is known.
func (d *view) longestBoot(st *groupState) time.Duration {
	if b := d.m.Groups[st.ID].Boot; b.Longest > 0 && strings.EqualFold(b.Size, st.Size) {
		return b.Longest
	}
	var longest time.Duration
	for _, g := range d.s.Groups {
		if b := d.m.Groups[g.ID].Boot; st.Size != "" && strings.EqualFold(b.Size, st.Size) {
			longest = max(longest, b.Longest)
		}
	}
	return longest
}

// isLate says whether a machine without a node is late, and after how long it is. One that is lost was a node, and one that a node could be may be none.
func (d *view) isLate(st *groupState, in *cluster.Instance) (limit time.Duration, late bool) {
	since, longest := d.waits(in), d.longestBoot(st)
	if since.IsZero() || longest == 0 || d.lost[in.UID] || d.suspect(in) != nil {
		return 0, false
	}
	if limit = max(lateTimes*longest, leastLate); limit >= d.allowed.Growth.Provision {
		return 0, false
	}
	d.wake(since.Add(limit))
	return limit, !d.now.Before(since.Add(limit))
}

// lateBy says of a machine that is late by how much; nil for any other one.
func (d *growing) lateBy(st *growGroup, in *cluster.Instance) *reason.Reason {
	limit, late := d.isLate(st.groupState, in)
	if !late {
		return nil
	}
	return new(reason.New(reason.MachineLate, reason.Instance(string(st.ID), string(in.ID)),
		"age", d.waited(in), "longest", d.longestBoot(st.groupState).Truncate(time.Second), "limit", limit.Truncate(time.Second),
		"given-up", d.waits(in).Add(d.allowed.Growth.Provision).Format(time.RFC3339)))
}

// waitsForLate says whether other groups are asked before this one: machines of it are late, and none has joined since they began to be waited for.
func (d *growing) waitsForLate(st *growGroup) bool {
	for _, in := range st.late {
		if !d.lastJoin(st.ID).After(d.waits(in)) {
			return true
		}
	}
	return false
}

// growPastLate chooses machines of groups none of which is late first. What these leave has room on the machines that are late, and then asks their groups.
func (d *growing) growPastLate(wanting []*demand) *candidates {
	some := false
	for _, st := range d.groups {
		some = some || len(st.late) > 0
	}
	c := d.candidates(wanting, some)
	d.gather(c)
	d.growFor(c)
	if !some || d.ask != nil {
		return c
	}
	d.placeOnLate()
	if wanting = d.wanting(); len(wanting) == 0 {
		return c
	}
	c = d.candidates(wanting, false)
	d.growFor(c)
	return c
}

// placeOnLate has pods that no other group helps go on waiting for the machines that are late.
func (d *placing) placeOnLate() {
	row := d.check.Row()
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		if g.Template == nil {
			continue
		}
		for i, in := range st.late {
			zone := ""
			if st.rotation != nil {
				zone = in.Zone
			}
			h := d.check.Open(d.template(st, zone), comingName(g.ID, st.expects+i))
			d.opened.set(h, st)
			d.tellOpen(g.ID, h)
			row.Append(h)
		}
	}
	for _, band := range d.bands() {
		d.placeOn(row, band, func(dm *demand, h scheduling.Handle, n int) { d.placeComing(dm, h, n) })
	}
}
