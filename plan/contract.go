package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// contract is what the safety contract says of a group within one cycle, by the ledger of machines. The zero value forbids nothing: nobody keeps a ledger.
type contract struct {
	ladder *fleet.Batch // machines whose nodes are on the ladder or step on it
	leave  *fleet.Batch // machines whose removal this cycle asks for

	lost  *reason.Reason // that it keeps machines of lost nodes, nil when it keeps none
	until time.Time      // when it lets the first of them go, zero when nobody knows
}

// contractFor is the contract of a group when a cycle begins.
func (d *view) contractFor(g *cluster.Group) contract {
	id, limits := fleet.GroupID(g.ID), d.allowed.Fleet(g)
	limits.Planned = true
	return contract{ladder: d.fleet.Batch(id, limits), leave: d.fleet.Batch(id, limits)}
}

// exit is a machine that is to go, as the ledger is asked about it.
type exit struct {
	verb fleet.Verb
	fleet.Target
}

// exitOf is the machine of a node that is cordoned for that reason.
func exitOf(st *nodeState, why string) exit {
	e := exit{fleet.Delete, fleet.Target{UID: fleet.UID(st.Instance.UID), ID: string(st.Instance.ID), Clear: true, Idle: why == cluster.Idle, Person: why == cluster.AskedFor}}
	if st.group.Parks && st.Instance.State != cluster.StateFailed {
		e.verb = fleet.Park
	}
	return e
}

// nodeless is a machine that has no node.
func (d *view) nodeless(in *cluster.Instance) exit {
	return exit{fleet.Delete, fleet.Target{UID: fleet.UID(in.UID), ID: string(in.ID), Forced: d.allowed.Removal.Forces(in)}}
}

// may is why the safety contract keeps the machine beside those that go already, nil when it may go.
func (e exit) may(with *fleet.Batch) *fleet.Refusal { return with.May(e.verb, e.Target) }

// heldBy says what the safety contract holds back, and of a machine of a lost node what holds for its group.
func (d *view) heldBy(about reason.Ref, st *groupState, r *fleet.Refusal) []reason.Reason {
	id, until := fleet.GroupID(st.ID), r.Until.Time()
	d.wake(until)
	held := []reason.Reason{reason.New(reason.RemovalHeld, about, "property", r.Property, "why", r.Sentence(id))}
	switch r.Code {
	case fleet.NotLostYet, fleet.LostTogether, fleet.NodesHidden:
		word := "somebody acknowledges it"
		if !until.IsZero() {
			word = until.Format(time.RFC3339)
		}
		lost := reason.New(reason.GroupLost, reason.Group(string(st.ID)), "machines", st.contract.ladder.Lost(), "until", word)
		if c := &st.contract; c.lost == nil || !until.IsZero() && (c.until.IsZero() || until.Before(c.until)) {
			c.lost, c.until = &lost, until
		}
		held = append(held, lost)
	}
	return held
}

// keptFromLadder says why the safety contract keeps a node whose time has come, so that it is not cordoned in vain; nil when it does not, or something else is in
// the way.
func (d *removing) keptFromLadder(st *nodeState, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if r := exitOf(st, why).may(st.group.contract.ladder); r != nil {
		return d.heldBy(reason.Node(st.Name()), st.group.groupState, r)
	}
	return nil
}

// needed says why its group's min keeps one of so many machines such as this one, beside those that go already; nil when it does not.
func (d *view) needed(g *groupState, e exit, with *fleet.Batch, n int) *reason.Reason {
	r := with.Needs(e.verb, e.Target, n)
	if r == nil {
		return nil
	}
	id := fleet.GroupID(g.ID)
	about, has := reason.Group(string(g.ID)), d.fleet.Bounds(id)
	switch {
	case g.Capacity < g.Min:
		return new(reason.New(reason.GroupBelowMin, about, "capacity", g.Capacity, "min", g.Min))
	case has.Coming > 0 && has.Sure > g.Min:
		return new(reason.New(reason.GroupAwaits, about, "machines", has.Ready, "coming", has.Coming, "min", g.Min))
	case g.standing < g.Capacity:
		return new(reason.New(reason.GroupListsFewer, about, "machines", has.Sure, "capacity", g.Capacity, "min", g.Min))
	case r.Property == "S-44" && has.Sure-has.Coming > has.Ready: // machines that serve nobody count for nothing
		return new(reason.New(reason.RemovalHeld, about, "property", r.Property, "why", r.Sentence(id)))
	}
	return new(reason.New(reason.GroupAtMin, about, "capacity", g.Capacity, "min", g.Min))
}

// neededOf is the same of a node's machine, beside those that are on the ladder.
func (d *removing) neededOf(st *nodeState, n int) *reason.Reason {
	return d.needed(st.group.groupState, exitOf(st, ""), st.group.contract.ladder, n)
}
