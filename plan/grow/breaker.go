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

// unready are the nodes of each group that have not come up in the time that a new node has. Nodes whose time ended before this process
// began are left out: the process before has counted them. A node that fell silent is left out too (see [policy.Growth.Late]). The result
// is nil when there is none.
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

// turnBreaker is the group's breaker after this cycle's failures (S-35, scenarios breaker-opens and never-ready-breaker):
//
//	state   evidence                                                            next
//	closed  fewer than memory.BreaksAt machines in a row failed                 open with the one that makes it as many
//	open    as many failed; [bounds] lets the group have one machine at a time  closed when a machine joins, or after Backoff.Reset
//
// A machine fails when it has had its time and is no node (unjoined), or its node did not become Ready (unready). It counts once: the wait
// for it has to begin later than the wait for the last one that counted. It does not count when another machine joined after that: a few
// accidents in a burst are no broken image. A node that registers after the wait for the last failed machine began closes the breaker.
//
// A machine that is unjoined when the breaker opens, or later, is kept for inspection. It takes the place of the one before, so that one at
// most is paid for.
func (fl *Failures) turnBreaker(b memory.Breaker, st *Order, unjoined []*cluster.Instance, unready []*cluster.Node) memory.Breaker {
	if b.Equal(memory.Breaker{}) && len(unjoined) == 0 && len(unready) == 0 {
		return b
	}
	// counted stays as it was before the loops below: machines of one request begin to be waited for at the same time, and each counts.
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
	// Last is what keeps a machine from counting twice, so it stays while such a machine may be there. A list that is not usable may lack
	// one.
	if st.Usable() && b.Machines+len(unjoined)+len(unready) == 0 {
		b.Last = time.Time{}
	}
	return b
}

// unregistered says that the group gets no more machines, as fleet.UsualUnregistered of its machines run and are no nodes (S-35). It is nil
// when the group may have more, and when nobody keeps a ledger. The guard refuses such a growth too; asking here spares the request, and
// tells pods why they wait (scenario machines-never-join).
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

// Inspected says until when a machine that never joined is kept, so that a person can find out why. It is nil, and the machine may go, in
// these cases:
//
//	case                                      why
//	the breaker keeps no machine, or another  one machine at most is kept
//	its group is at its max                   a kept machine is never a reason that a pod has no place
//	it is in the way of another machine       the same, for limits of the cluster and ceilings
func (fl *Failures) Inspected(st *Order, in *cluster.Instance) *reason.Reason {
	b := fl.Memory.Groups[st.ID].Breaker
	if b.Kept != in.UID || fl.Believed(st.GroupFacts)+st.Adding >= st.Max || fl.inTheWay(st) {
		return nil
	}
	fl.Wake(b.Until)
	return new(reason.New(reason.MachineInspected, reason.Instance(string(st.ID), string(in.ID)), "until", b.Until.Format(time.RFC3339)))
}

// inTheWay says whether one machine of the group is what keeps some group from growing. Each group that has a template and is below its max
// is asked:
//
//	case                                                                                   in the way
//	nothing grows before a node of the cluster is Ready                                    no, since removing the machine changes nothing
//	a limit of the cluster forbids a machine, and would not if this one were gone          yes
//	a ceiling of what machines cost an hour, which counts this group too, leaves none      yes
//	anything else                                                                          no
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
		room, why, _ := fl.limits.ceilings.Room(g)
		return room <= 0 && slices.ContainsFunc(fl.Policy.Ceilings(st.Group), func(c policy.GroupCeiling) bool {
			return c.Ceiling.Unit == cluster.CeilingRate && c.String() == why.Facts["ceiling"] // only a removal makes room there
		})
	})
}
