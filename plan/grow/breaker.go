package grow

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// unready are the nodes of groups that have not come up in their time. Those whose time was over before the process began the one before
// has noticed.
func (fl *Failures) unready() map[cluster.GroupID][]*cluster.Node {
	var all map[cluster.GroupID][]*cluster.Node
	for _, at := range fl.Memo.Passing {
		v := fl.Memo.Facts[at]
		if v.Ready || v.Of < 0 || v.Instance == nil || !v.Instance.State.Expected() || !fl.Policy.Growth.Late(v.Object, fl.Now) || !fl.Policy.Growth.Due(v.Object).After(fl.Memory.Since) {
			continue
		}
		if all == nil {
			all = map[cluster.GroupID][]*cluster.Node{}
		}
		all[v.Group] = append(all[v.Group], v.Node)
	}
	return all
}

// turnBreaker counts the machines that have run out of time since the last cycle, and closes the breaker when one has joined since they
// began to be waited for, or when nothing has been tried for as long as a back-off is remembered. Of machines that came with one which
// joined none counts.
func (fl *Failures) turnBreaker(b memory.Breaker, st *Order, unjoined []*cluster.Instance, unready []*cluster.Node) memory.Breaker {
	if b.Equal(memory.Breaker{}) && len(unjoined) == 0 && len(unready) == 0 {
		return b
	}
	joined, counted := fl.LastJoin(st.ID), b.Last
	if joined.After(b.Last) || fl.Now.Sub(b.Last) > fl.Policy.Growth.Backoff.Reset {
		b.Machines = 0
	}
	if !fl.Now.Before(b.Until) {
		b.Kept, b.Until = "", time.Time{}
	}
	fails := func(since time.Time) bool {
		if !since.After(counted) || !since.After(joined) {
			return false
		}
		b.Machines = min(b.Machines+1, memory.BreaksAt)
		if since.After(b.Last) {
			b.Last = since
		}
		return true
	}
	for _, n := range unready { // each stays until it has not been Ready for long enough, and can be looked at until then
		fails(n.Object.CreationTimestamp.Time)
	}
	for _, in := range unjoined {
		if !fails(fl.Waits(in)) {
			continue
		}
		if keep := fl.Policy.Removal.Unregistered.Keep; b.Open() && keep > 0 {
			b.Kept, b.Until = in.UID, fl.Now.Add(keep)
		}
	}
	if st.Usable() && b.Machines+len(unjoined)+len(unready) == 0 {
		b.Last = time.Time{}
	}
	return b
}

// unregistered says that so many of the group's machines run and are no nodes that it gets no more of them (S-35); nil when it may have
// more.
func (fl *Failures) unregistered(st *Order) *reason.Reason {
	if fl.Fleet == nil {
		return nil
	}
	n := fl.Fleet.Bounds(fleet.GroupID(st.ID)).Unregistered
	if n < fleet.UsualUnregistered {
		return nil
	}
	return new(reason.New(reason.GroupStrays, reason.Group(string(st.ID)), "machines", n, "limit", fl.Policy.Growth.Node.ProvisionTime))
}

// Broken says that the group's breaker is open.
func Broken(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupBreaker, reason.Group(string(g)), "machines", memory.BreaksAt)
}

// Inspected says until when the machine is kept so that somebody can find out why it never became a node; nil when it is not, or when its
// group or the whole cluster has no room for another one beside it.
func (fl *Failures) Inspected(st *Order, in *cluster.Instance) *reason.Reason {
	b := fl.Memory.Groups[st.ID].Breaker
	if b.Kept != in.UID || fl.Believed(st.GroupFacts)+st.Adding >= st.Max || fl.inTheWay(st) {
		return nil
	}
	fl.Wake(b.Until)
	return new(reason.New(reason.MachineInspected, reason.Instance(string(st.ID), string(in.ID)), "until", b.Until.Format(time.RFC3339)))
}

// inTheWay says whether one machine of the group is what keeps some group from another one, as a limit of the whole cluster or a ceiling
// has it.
func (fl *Failures) inTheWay(st *Order) bool {
	if fl.limits.awaitsReady() {
		return false
	}
	with := fl.limits.totals()
	without := with
	without.Add(st.Template, -1)
	return slices.ContainsFunc(fl.Snapshot.Groups, func(g *cluster.Group) bool {
		other := fl.Groups[g.ID]
		switch {
		case g.Template == nil || fl.Believed(other.GroupFacts)+other.Adding >= g.Max:
			return false
		case fl.limits.clusterLimit(other, with) != nil && fl.limits.clusterLimit(other, without) == nil:
			return true
		}
		room, why, until := fl.limits.ceilings.Room(g)
		return room <= 0 && until.IsZero() && slices.ContainsFunc(fl.Policy.Ceilings(st.Group), func(c policy.GroupCeiling) bool { // only a removal makes room
			return c.String() == why.Facts["ceiling"]
		})
	})
}
