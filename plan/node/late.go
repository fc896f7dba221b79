package node

import (
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// A machine is late that has had three times as long as the longest that its group, or else its size, has shown to take. Pods that wait for it then ask the
// other groups; those that no other group helps go on waiting for it. When it joins after all it is a node as any other, and what it took is learned.
const (
	lateTimes = 3
	leastLate = 3 * time.Minute
)

// longestKept is how long what a machine took is remembered when none that is there took as long.
const longestKept = memory.Day

// LearnBoots remembers how long machines took. Groups without nodes keep what is known of them. It looks only while machines are without a node,
// nodes are not Ready, or a Ready one is young.
func (d *View) LearnBoots() {
	joins := func(g *cluster.Group) bool {
		return len(d.groups[g.ID].Nodeless) > 0 || g.Learned != nil && d.Now.Sub(g.Learned.Born) < d.Policy.Growth.Provision
	}
	if len(d.Memo.Passing) == 0 && !slices.ContainsFunc(d.Snapshot.Groups, joins) {
		return
	}
	longest := map[cluster.GroupID]time.Duration{}
	for _, n := range d.Snapshot.Nodes {
		if n.Instance == nil || n.Instance.Created.IsZero() {
			continue
		}
		if g := d.Snapshot.Group(n.Group); g != nil && strings.EqualFold(n.Instance.Size, g.Size) || g != nil && n.Instance.Size == "" {
			if took := n.Object.CreationTimestamp.Sub(n.Instance.Created); took > 0 && took <= d.Policy.Growth.Provision {
				longest[n.Group] = max(longest[n.Group], took)
			}
		}
	}
	for _, g := range d.Snapshot.Groups {
		m := d.Memory.Groups[g.ID]
		took, sameSize := longest[g.ID], strings.EqualFold(m.Boot.Size, g.Size)
		if took > m.Boot.Longest || took > 0 && !sameSize || took > 0 && took < m.Boot.Longest && d.Now.Sub(m.Boot.Learned) >= longestKept {
			m.Boot = memory.Boot{Longest: took, Size: g.Size, Learned: d.Now}
			d.Remember(g.ID, m)
		}
	}
}

// LongestBoot is the longest that machines of the group took, or of another group of its size where its own have shown nothing; 0 when nothing is known.
func (d *View) LongestBoot(st *GroupFacts) time.Duration {
	if b := d.Memory.Groups[st.ID].Boot; b.Longest > 0 && strings.EqualFold(b.Size, st.Size) {
		return b.Longest
	}
	var longest time.Duration
	for _, g := range d.Snapshot.Groups {
		if b := d.Memory.Groups[g.ID].Boot; st.Size != "" && strings.EqualFold(b.Size, st.Size) {
			longest = max(longest, b.Longest)
		}
	}
	return longest
}

// IsLate says whether a machine without a node is late, and after how long it is. One that is lost was a node, and one that a node could be may be none.
func (d *View) IsLate(st *GroupFacts, in *cluster.Instance) (limit time.Duration, late bool) {
	since, longest := d.Waits(in), d.LongestBoot(st)
	if since.IsZero() || longest == 0 || d.lost[in.UID] || d.Suspect(in) != nil {
		return 0, false
	}
	if limit = max(lateTimes*longest, leastLate); limit >= d.Policy.Growth.Provision {
		return 0, false
	}
	d.Wake(since.Add(limit))
	return limit, !d.Now.Before(since.Add(limit))
}
