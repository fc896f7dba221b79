package node

import (
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// Overdue says whether a machine without a node has had its time.
func (d *View) Overdue(st *GroupFacts, in *cluster.Instance) bool {
	return waitedFor(st, in) && d.hadTime(in)
}

// hadTime says whether a machine has been waited for as long as it is to be.
func (d *View) hadTime(in *cluster.Instance) bool {
	since := d.Waits(in)
	return !since.IsZero() && d.TimeUp(since)
}

// TimeUp says whether a machine that has been expected to become a node since then has had its time.
// It also asks for a cycle at that time.
func (d *View) TimeUp(since time.Time) bool {
	due := since.Add(d.Policy.Growth.Node.ProvisionTime)
	d.Wake(due)
	return !d.Now.Before(due)
}

// A machine is late that has had three times as long as the longest that its group, or else its size, has shown to take. Pods that wait for
// it then ask the other groups; those that no other group helps go on waiting for it. When it joins after all it is a node as any other,
// and what it took is learned.
//
//	waited for                              machine  pods that have a place on it
//	less than three times the longest boot  coming   go on waiting
//	longer, and at least 3 minutes          late     ask other groups (scenarios late-next-group, late-only-group)
//	the provision time                      overdue  look for room anew; package remove deletes the machine (scenario never-joins)
//
// Where no boot was ever seen, a machine is never late (scenario late-nothing-learned).
const (
	lateTimes = 3
	leastLate = 3 * time.Minute
)

// longestKept is how long what a machine took is remembered when none that is there took as long.
const longestKept = memory.Day

// LearnBoots remembers how long machines took. Groups without nodes keep what is known of them. It looks only while machines are without a
// node, nodes are not Ready, or a Ready one is young.
// A boot lasts from the creation of the machine to the creation of its Node object, and the provision time at most. A machine that is late
// and joins after all is learned from, so the next one is waited for (scenario late-joins-after-all).
func (d *View) LearnBoots() {
	joins := func(g *cluster.Group) bool {
		return len(d.groups[g.ID].Unregistered) > 0 || g.Learned != nil && d.Now.Sub(g.Learned.Born) < d.Policy.Growth.Node.ProvisionTime
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
			if took := n.Object.CreationTimestamp.Sub(n.Instance.Created); took > 0 && took <= d.Policy.Growth.Node.ProvisionTime {
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

// LongestBoot is the longest that machines of the group took, or of another group of its size where its own have shown nothing; 0 when
// nothing is known.
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

// IsLate says whether a machine without a node is late, and after how long it is. One that is lost was a node, and one that a node could be
// may be none.
func (d *View) IsLate(st *GroupFacts, in *cluster.Instance) (limit time.Duration, late bool) {
	since, longest := d.Waits(in), d.LongestBoot(st)
	if since.IsZero() || longest == 0 || d.lost[in.UID] || d.Suspect(in) != nil {
		return 0, false
	}
	if limit = max(lateTimes*longest, leastLate); limit >= d.Policy.Growth.Node.ProvisionTime {
		return 0, false
	}
	d.Wake(since.Add(limit))
	return limit, !d.Now.Before(since.Add(limit))
}

// Unjoined are the group's machines that never became nodes although they have had their time. One that is lost was a node.
func (d *View) Unjoined(st *GroupFacts) []*cluster.Instance {
	var all []*cluster.Instance
	for _, in := range st.Unregistered {
		if in.State.Expected() && !d.lost[in.UID] && d.Overdue(st, in) && d.Suspect(in) == nil && d.Snapshot.Orphan(in.ComputerName) == nil {
			all = append(all, in)
		}
	}
	return all
}

// LastJoin is when the youngest node of the group registered that came up, and whose machine is there.
func (d *View) LastJoin(g cluster.GroupID) (at time.Time) {
	for _, n := range d.Snapshot.Nodes {
		if n.Group == g && n.Instance != nil && n.Object.CreationTimestamp.After(at) && d.Policy.Growth.CameUp(n.Object) {
			at = n.Object.CreationTimestamp.Time
		}
	}
	return at
}

// Foreign says that machines of the group may be another cluster's, so that none of them is deleted; nil when there are none, or when the
// operator has said which cluster the groups belong to (S-22).
// Somebody may run two clusters on the machines of one resource group (scenario machines-of-another-cluster).
func (d *View) Foreign(st *GroupFacts) *reason.Reason {
	if st.Joined || d.Policy.ClusterID != "" {
		return nil
	}
	n := st.Foreign(d.Fleet)
	if n == 0 {
		return nil
	}
	facts := []any{"machines", n}
	if id := d.Snapshot.Objects.ID(); id != "" { // else the remedy says what is to be put there
		facts = append(facts, "cluster", id)
	}
	return new(reason.New(reason.GroupForeign, reason.Group(string(st.ID)), facts...))
}

// NeverJoined says that a machine has had its time and is no node.
func (d *View) NeverJoined(about reason.Ref, in *cluster.Instance) reason.Reason {
	code := reason.MachineNeverJoined
	if d.lost[in.UID] {
		code = reason.MachineLost
	}
	return reason.New(code, about, "age", d.Waited(in), "limit", d.Policy.Growth.Node.ProvisionTime)
}

// Diagnosed is the known cause that the machine's own boot log shows for its being no node; nothing when it shows none. It tells, and decides
// nothing: the log is written by the machine.
func Diagnosed(about reason.Ref, in *cluster.Instance) []reason.Reason {
	if in.Diagnosis == nil || in.Diagnosis.Cause == "" {
		return nil
	}
	return []reason.Reason{reason.New(reason.MachineDiagnosed, about, "cause", in.Diagnosis.Cause, "remedy", in.Diagnosis.Remedy)}
}

// NameTaken says which node of an earlier machine has the machine's name, nil when none has: a server of K3s lets no second one of a name
// join.
func (d *View) NameTaken(in *cluster.Instance) *reason.Reason {
	n := d.Suspect(in)
	if n == nil || !n.Replaced() {
		return nil
	}
	about := reason.Instance(string(in.Group), string(in.ID))
	if held := Finalized(n); held != "" {
		return new(reason.New(reason.MachineNameHeld, about, "node", n.Name(), "finalizers", held))
	}
	return new(reason.New(reason.MachineNameTaken, about, "node", n.Name()))
}

// Suspect is a node that could be this machine although it is not joined to it, nil when there is none (S-12). A node that is joined to its
// one machine could be no other, unless it has its name, and one that could be none of those listed belongs to a group by its name alone.
// It looks through [Memo.Doubtful], once a cycle for each machine: in a farm where hundreds of machines come and hundreds of nodes are left of
// those that went, this was half of a cycle.
func (d *View) Suspect(in *cluster.Instance) *cluster.Node {
	n, known := d.suspects[in]
	if !known {
		n = d.suspect(in)
		d.suspects[in] = n
	}
	return n
}

func (d *View) suspect(in *cluster.Instance) *cluster.Node {
	if n := d.Snapshot.Node(strings.ToLower(in.ComputerName)); n != nil && n.Instance != nil && n.CouldBe(in) {
		return n
	}
	for _, n := range d.Memo.Doubtful {
		if n.CouldBe(in) {
			return n
		}
	}
	return nil
}
