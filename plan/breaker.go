package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// breaksAt is how many machines of a group may fail to become Ready nodes one after the other before its breaker opens (S-35).
const breaksAt = 3

// Breaker counts machines of a group that never became Ready nodes, since one did. When it is open, the group gets one machine at a time: the next one
// tells whether they join again. The last that did not is kept for a while, so that somebody can find out why.
type Breaker struct {
	Machines int       `json:"machines,omitempty"` // at most [breaksAt]
	Last     time.Time `json:"last,omitzero"`      // when the last of them began to be waited for
	Kept     string    `json:"kept,omitempty"`     // the machine that is kept, by its UID
	Until    time.Time `json:"until,omitzero"`     // it is kept at most until then

}

func (b Breaker) equal(other Breaker) bool {
	return b.Machines == other.Machines && b.Kept == other.Kept && b.Last.Equal(other.Last) && b.Until.Equal(other.Until)
}

// open says whether the group gets one machine at a time.
func (b Breaker) open() bool { return b.Machines >= breaksAt }

// unjoined are the group's machines that never became nodes although they have had their time. One that is lost was a node.
func (d *view) unjoined(st *groupState) []*cluster.Instance {
	var all []*cluster.Instance
	for _, in := range st.nodeless {
		if in.State.Expected() && !d.lost[in.UID] && d.overdue(st, in) && d.suspect(in) == nil && d.s.Stray(in.ComputerName) == nil {
			all = append(all, in)
		}
	}
	return all
}

// unready are the nodes of groups that have not come up in their time. Those whose time was over before the process began the one before has noticed.
func (d *growing) unready() map[cluster.GroupID][]*cluster.Node {
	var all map[cluster.GroupID][]*cluster.Node
	for _, at := range d.facts.passing {
		v := d.facts.sights[at]
		if v.ready || v.of < 0 || v.Instance == nil || !v.Instance.State.Expected() || !d.allowed.Growth.Late(v.Object, d.now) || !d.allowed.Growth.Due(v.Object).After(d.m.Since) {
			continue
		}
		if all == nil {
			all = map[cluster.GroupID][]*cluster.Node{}
		}
		all[v.Group] = append(all[v.Group], v.Node)
	}
	return all
}

// turnBreaker counts the machines that have run out of time since the last cycle, and closes the breaker when one has joined since they began to
// be waited for, or when nothing has been tried for as long as a back-off is remembered. Of machines that came with one which joined none counts.
func (d *growing) turnBreaker(b Breaker, st *growGroup, unjoined []*cluster.Instance, unready []*cluster.Node) Breaker {
	if b.equal(Breaker{}) && len(unjoined) == 0 && len(unready) == 0 {
		return b
	}
	joined, counted := d.lastJoin(st.ID), b.Last
	if joined.After(b.Last) || d.now.Sub(b.Last) > d.allowed.Growth.BackoffReset {
		b.Machines = 0
	}
	if !d.now.Before(b.Until) {
		b.Kept, b.Until = "", time.Time{}
	}
	fails := func(since time.Time) bool {
		if !since.After(counted) || !since.After(joined) {
			return false
		}
		b.Machines = min(b.Machines+1, breaksAt)
		if since.After(b.Last) {
			b.Last = since
		}
		return true
	}
	for _, n := range unready { // each stays until it has not been Ready for long enough, and can be looked at until then
		fails(n.Object.CreationTimestamp.Time)
	}
	for _, in := range unjoined {
		if !fails(d.waits(in)) {
			continue
		}
		if keep := d.allowed.Removal.KeepUnjoined; b.open() && keep > 0 {
			b.Kept, b.Until = in.UID, d.now.Add(keep)
		}
	}
	if st.Usable() && b.Machines+len(unjoined)+len(unready) == 0 {
		b.Last = time.Time{}
	}
	return b
}

// lastJoin is when the youngest node of the group registered that came up, and whose machine is there.
func (d *view) lastJoin(g cluster.GroupID) (at time.Time) {
	for _, n := range d.s.Nodes {
		if n.Group == g && n.Instance != nil && n.Object.CreationTimestamp.After(at) && d.allowed.Growth.CameUp(n.Object) {
			at = n.Object.CreationTimestamp.Time
		}
	}
	return at
}

// foreign says that machines of the group may be another cluster's, so that none of them is deleted; nil when there are none, or when the operator has
// said which cluster the groups belong to (S-22).
func (d *view) foreign(st *groupState) *reason.Reason {
	if st.Joined || d.allowed.ClusterID != "" {
		return nil
	}
	n := st.Foreign(d.fleet)
	if n == 0 {
		return nil
	}
	facts := []any{"machines", n}
	if id := d.s.Objects.ID(); id != "" { // else the remedy says what is to be put there
		facts = append(facts, "cluster", id)
	}
	return new(reason.New(reason.GroupForeign, reason.Group(string(st.ID)), facts...))
}

// strays says that so many of the group's machines run and are no nodes that it gets no more of them (S-35); nil when it may have more.
func (d *growing) strays(st *growGroup) *reason.Reason {
	if d.fleet == nil {
		return nil
	}
	n := d.fleet.Bounds(fleet.GroupID(st.ID)).Strays
	if n < fleet.UsualStrays {
		return nil
	}
	return new(reason.New(reason.GroupStrays, reason.Group(string(st.ID)), "machines", n, "limit", d.allowed.Growth.Provision))
}

// tries says that the group gets one machine at a time and has it, with extra ones beyond those that it adds; nil when it may have one more.
func (d *growing) tries(st *growGroup, extra int) *reason.Reason {
	if b := d.m.Groups[st.ID].Breaker; !b.open() || st.coming+st.adding+extra < 1 {
		return nil
	}
	return new(d.broken(st.ID))
}

// broken says that the group's breaker is open.
func (d *growing) broken(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupBreaker, reason.Group(string(g)), "machines", breaksAt)
}

// inspected says until when the machine is kept so that somebody can find out why it never became a node; nil when it is not, or when its group
// or the whole cluster has no room for another one beside it.
func (d *growing) inspected(st *growGroup, in *cluster.Instance) *reason.Reason {
	b := d.m.Groups[st.ID].Breaker
	if b.Kept != in.UID || d.believed(st.groupState)+st.adding >= st.Max || d.inTheWay(st) {
		return nil
	}
	d.wake(b.Until)
	return new(reason.New(reason.MachineInspected, reason.Instance(string(st.ID), string(in.ID)), "until", b.Until.Format(time.RFC3339)))
}

// inTheWay says whether one machine of the group is what keeps some group from another one, as a limit of the whole cluster or a ceiling has it.
func (d *growing) inTheWay(st *growGroup) bool {
	with := d.totals()
	without := with
	without.add(st.Template, -1)
	return slices.ContainsFunc(d.s.Groups, func(g *cluster.Group) bool {
		other := d.groups[g.ID]
		switch {
		case g.Template == nil || d.believed(other.groupState)+other.adding >= g.Max:
			return false
		case d.clusterLimit(other, with) != nil && d.clusterLimit(other, without) == nil:
			return true
		}
		room, why, until := d.ceilings.Room(g)
		return room <= 0 && until.IsZero() && slices.ContainsFunc(d.allowed.Ceilings(st.Group), func(c policy.GroupCeiling) bool { // only a removal makes room
			return c.String() == why.Facts["ceiling"]
		})
	})
}
