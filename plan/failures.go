package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// noticeFailures turns what the cloud reported after it had accepted a growth into back-offs, once for each failure (S-33), and
// finds for every group why it may not grow.
func (d *growing) noticeFailures() {
	if d.m.Since.IsZero() {
		d.m.Since = d.now
	}
	d.learnBoots()
	d.noticeLost()
	d.noticeRestarts()
	late := d.unready()
	for _, g := range d.s.Groups {
		m, failures := d.m.Groups[g.ID], 0
		unjoined, unready := d.unjoined(d.groups[g.ID].groupState), late[g.ID]
		if b := d.turnBreaker(m.Breaker, d.groups[g.ID], unjoined, unready); !b.equal(m.Breaker) {
			m.Breaker = b
			d.remember(g.ID, m)
		}
		for _, f := range d.failuresOf(g, unjoined, unready) {
			if !f.At.After(m.Noticed) {
				continue
			}
			m.Noticed = f.At
			failures++
			f.At = d.now
			if f.Rest > 0 {
				m.Backoff = m.Backoff.brief(f)
				continue
			}
			m.Backoff = m.Backoff.failed(f, g.Capacity-len(d.groups[g.ID].faulty), max(m.Capacity, g.Capacity), d.allowed)
		}
		if failures > 0 {
			d.remember(g.ID, m)
		}
		d.groups[g.ID].blocked = d.blockedBy(g, m)
	}
}

// failuresOf are the failures of a group's operations and machines. A machine that never joined, or whose node is not Ready, failed when its time ran out;
// one that is lost says nothing of the next ones.
func (d *growing) failuresOf(g *cluster.Group, unjoined []*cluster.Instance, unready []*cluster.Node) []cluster.Failure {
	var fs []cluster.Failure
	if g.Failure != nil {
		fs = append(fs, *g.Failure)
	}
	st := d.groups[g.ID]
	for _, in := range st.faulty {
		if in.Failure != nil {
			fs = append(fs, *in.Failure)
		}
	}
	for _, in := range unjoined {
		why := d.neverJoined(reason.Instance(string(g.ID), string(in.ID)), in)
		fs = append(fs, cluster.Failure{At: d.waits(in).Add(d.allowed.Growth.Provision), Code: "NeverJoined", Message: why.Sentence()})
	}
	for _, n := range unready {
		why := reason.New(reason.NodeNeverReady, reason.Node(n.Name()), "node", n.Name(), "age", d.now.Sub(n.Object.CreationTimestamp.Time).Truncate(time.Second), "limit", d.allowed.Growth.Startup)
		fs = append(fs, cluster.Failure{At: d.allowed.Growth.Due(n.Object), Code: string(reason.NodeNeverReady), Message: why.Sentence()})
	}
	return fs
}

func (d *growing) blockedBy(g *cluster.Group, m GroupMemory) *reason.Reason {
	about := reason.Group(string(g.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	proof, strays := g.Contradicts(d.facts.doubtful), d.strays(d.groups[g.ID])
	switch {
	case g.AwaitsAnswer():
		return because(reason.New(reason.GroupAsked, about, "capacity", g.Asked))
	case g.Problem != "":
		return because(reason.New(reason.GroupUnreadable, about, readAgain(g, "message", g.Problem)...))
	case !d.groups[g.ID].Usable():
		return because(reason.New(reason.GroupIncomplete, about, readAgain(g)...))
	case proof != nil:
		return because(reason.New(reason.GroupContradicted, about, "node", proof.Name()))
	case !g.Deleted.IsZero():
		return because(reason.New(reason.GroupDeleted, about, "since", g.Deleted.Format(time.RFC3339)))
	case d.groups[g.ID].paused != nil:
		return d.groups[g.ID].paused
	case d.groups[g.ID].servers:
		return because(d.controlled(g.ID))
	case m.Backoff.Until.After(d.now) && m.Backoff.Ceiling <= d.believed(d.groups[g.ID].groupState):
		return because(d.backingOff(g.ID, m.Backoff))
	case strays != nil:
		return strays
	case g.Template == nil:
		return because(reason.New(reason.GroupNoTemplate, about, "size", g.Size, "remedy", g.Remedy))
	}
	return nil
}

// readAgain are the facts, and when the group is read again where that is known.
func readAgain(g *cluster.Group, facts ...any) []any {
	if g.Again.IsZero() {
		return append(facts, "next", "")
	}
	until := g.Again.Format(time.RFC3339)
	return append(facts, "until", until, "next", "; it is read again at "+until)
}

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (d *growing) backingOff(id cluster.GroupID, b Backoff) reason.Reason {
	d.wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}

// noticeLost notes the machines without a node that are lost, as the ledger has it. They are not counted on, since a kubelet that runs does not register again by
// itself.
func (d *view) noticeLost() {
	if d.fleet == nil {
		return
	}
	for _, g := range d.s.Groups {
		for _, in := range d.groups[g.ID].nodeless {
			if !waitedFor(d.groups[g.ID], in) {
				continue
			}
			if life, known := d.fleet.Life(fleet.GroupID(in.Group), fleet.UID(in.UID)); known && life == fleet.Lost {
				if d.lost == nil {
					d.lost = map[string]bool{}
				}
				d.lost[in.UID] = true
			}
		}
	}
}

// waitedFor says whether a machine that is no node has a time in which it is to become one. One that the cloud has taken away and kept, switched off, has
// it as well: in a group that is known to be this cluster's it is nobody else's, and takes up the room of one that runs. One beside control-plane nodes has
// none: it may run the control plane without being a node.
func waitedFor(g *groupState, in *cluster.Instance) bool {
	return !g.servers && (in.State.Expected() || g.Spot && g.Joined && in.State == cluster.StateStopped)
}

// waits is since when the machine is waited for; zero when nobody knows.
func (d *view) waits(in *cluster.Instance) time.Time {
	since, _ := in.WaitedSince(d.fleet)
	return since
}

// waited is for how long, in whole seconds.
func (d *view) waited(in *cluster.Instance) time.Duration {
	return d.now.Sub(d.waits(in)).Truncate(time.Second)
}

// noticeRestarts finds the nodes of machines that have been started again and are to have the time of new ones.
func (d *view) noticeRestarts() {
	for _, at := range d.facts.passing {
		if v := d.facts.sights[at]; !v.ready && v.of >= 0 && d.restarts(v.Node) {
			st := d.groupOf(v)
			st.restarted = append(st.restarted, v.Node)
		}
	}
}

// restarts says whether the machine of a node that is not Ready has been started again, and is still to have the time of a new one: it runs some time before its
// kubelet reports.
func (d *view) restarts(n *cluster.Node) bool {
	in := n.Instance
	if in == nil || !in.State.Expected() {
		return false
	}
	_, again := in.WaitedSince(d.fleet)
	return (again || in.State == cluster.StateCreating || wasParked(n)) && !d.hadTime(in)
}

// wasParked says whether the node stands as it was left when its machine was parked.
func wasParked(n *cluster.Node) bool {
	removal, _ := cluster.RemovalOf(n.Object)
	return removal.Why == cluster.Parked
}

// here says whether a Ready node could be the machine, which is joined to none. One of an earlier machine could not.
func (d *view) here(in *cluster.Instance) bool {
	n := d.suspect(in)
	return n != nil && cluster.Ready(n.Object) && !n.Outlived()
}

// hereOf is how many such machines the group has.
func (d *view) hereOf(st *groupState) (n int) {
	for _, in := range st.nodeless {
		if d.here(in) {
			n++
		}
	}
	return n
}

// comes says whether a machine without a node is expected to become one. Where more Node objects are gone than may be not Ready, somebody
// deletes them by mistake: then their machines are waited for, and not bought again. Nor does one that has been kept from joining by its name for too long,
// nor one that a Ready node could be already, while there are few such in its group: what is bought in their place may be no better.
func (d *view) comes(st *groupState, in *cluster.Instance) bool {
	if !in.State.Expected() || st.servers || d.overdue(st, in) || d.nameTaken(in) != nil && d.timeUp(in.Created) {
		return false
	}
	if d.here(in) && d.hereOf(st) < breaksAt {
		return false
	}
	return !d.lost[in.UID] || !d.allowed.Health.Tolerates(len(d.lost), len(d.s.Nodes)+len(d.lost))
}
