package node

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// NewView is what a cycle begins with.
// It copies nothing of the snapshot, and counts each group once. The memory in it has counted what ceilings measure since the last cycle.
func NewView(s *cluster.Snapshot, allowed *policy.Policy, m memory.Memory, check *scheduling.Checker, known *Memo) *View {
	v := &View{
		Snapshot: s, Policy: allowed, Memory: m.Spend(s, allowed), Now: s.Time, Fleet: s.View(), Check: check, Memo: known,
		usages: map[[3]string]reason.Reason{}, Budgets: budgets{all: s.Objects.Budgets},
		groups:   make(map[cluster.GroupID]*GroupFacts, len(s.Groups)),
		Verdicts: map[reason.Kind][]action.Verdict{},
		suspects: map[*cluster.Instance]*cluster.Node{},
	}
	pauses := s.Objects.Pauses()
	for i, g := range s.Groups {
		st := &GroupFacts{
			Group: g, counts: count(g), At: i, Removal: allowed.Removal.Of(g.Options), Servers: g.ControlPlane != "" && !allowed.Removal.ControlPlane,
			Paused: v.pause(g, pauses), Contract: v.contractFor(g),
		}
		v.groups[g.ID], v.Listed = st, append(v.Listed, st)
	}
	return v
}

// GroupOf is the group of the node, nil when it is of none that is managed.
func (d *View) GroupOf(v *Facts) *GroupFacts {
	if v.Of < 0 {
		return nil
	}
	return d.Listed[v.Of]
}

// Watch visits the nodes that are not settled by what they show, in their order.
func (d *View) Watch(visit func(at int, v *Facts)) {
	for _, at := range d.Memo.Watched {
		visit(at, d.Memo.Facts[at])
	}
}

// Judge records a verdict on a machine or a group.
func (d *View) Judge(about reason.Ref, outcome action.Outcome, because ...reason.Reason) {
	d.Verdicts[about.Kind] = append(d.Verdicts[about.Kind], action.Verdict{Subject: about, Outcome: outcome, Because: because})
}

// Wake asks for a cycle at t, when a timer runs out.
// Whoever compares a time with Now calls it with that time. Without it, a timer that has run out would go unseen until something else
// changes.
func (d *View) Wake(t time.Time) {
	if t.After(d.Now) && (d.Next.IsZero() || t.Before(d.Next)) {
		d.Next = t
	}
}

// Starting says whether a node is not yet what it will be: it is not Ready as [policy.Growth.Starting] has it, or its devices have not
// been announced. A kubelet that fell silent announces nothing.
func (d *View) Starting(n *cluster.Node) bool {
	return len(n.Awaits) > 0 && !cluster.Silent(n.Object) || d.Policy.Growth.Starting(n.Object, d.Now)
}

// Remember puts a group's memory in the place of what was remembered of it. The memory that the cycle began with stays as it was.
func (d *View) Remember(id cluster.GroupID, g memory.GroupMemory) {
	d.Memory.Groups = memory.With(d.Memory.Groups, id, g)
}

// Believed is the capacity that a new request builds on: the last read's, or an accepted request's that it does not show yet.
func (d *View) Believed(st *GroupFacts) int {
	if m := d.Memory.Groups[st.ID]; m.Requested.After(st.Read.At) {
		return max(st.Promised(), m.Capacity)
	}
	return st.Promised()
}

// Keeps says why the policy keeps a pod where it is, false when it may be evicted.
func (d *View) Keeps(p *cluster.Pod, v *Facts) (reason.Reason, bool) {
	if why, keeps := d.Policy.Uncontrolled(p, d.Snapshot.Objects.Controllers); keeps {
		return why, true
	}
	at := v.Where
	at.Budgets = d.Snapshot.Objects.Budgets // which may be others than when the node was looked at
	return d.Policy.Keeps(p, at, d.Now)
}

// pause says that somebody has paused the group, nil when nobody has. It is not grown then, none of its nodes is cordoned, those that
// are on it come down, and no machine of it is deleted.
func (d *View) pause(g *cluster.Group, pauses cluster.Pauses) *reason.Reason {
	until, paused := pauses.Of(g.ID, d.Now)
	if !paused {
		return nil
	}
	d.wakeAt(until)
	r := reason.New(reason.GroupPaused, reason.Group(string(g.ID)), "until", until)
	return &r
}

// Held says that somebody holds the node until a time, nil when nobody does.
func (d *View) Held(n *cluster.Node) *reason.Reason {
	until, held := cluster.Held(n.Object, d.Now)
	if !held {
		return nil
	}
	d.wakeAt(until)
	r := reason.New(reason.NodeHeld, reason.Node(n.Name()), "until", until)
	return &r
}

// wakeAt asks for a cycle at a time as sentences have it. Words are none.
func (d *View) wakeAt(said string) {
	if t, err := time.Parse(time.RFC3339, said); err == nil {
		d.Wake(t)
	}
}
