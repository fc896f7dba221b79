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
func (d *decision) contractFor(g *cluster.Group) contract {
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
func (d *decision) nodeless(in *cluster.Instance) exit {
	return exit{fleet.Delete, fleet.Target{UID: fleet.UID(in.UID), ID: string(in.ID), Forced: d.allowed.Removal.Forces(in)}}
}

// may is why the safety contract keeps the machine beside those that go already, nil when it may go.
func (e exit) may(with *fleet.Batch) *fleet.Refusal { return with.May(e.verb, e.Target) }

// heldBy says what the safety contract holds back, and of a machine of a lost node what holds for its group.
func (d *decision) heldBy(about reason.Ref, st *groupState, r *fleet.Refusal) []reason.Reason {
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
func (d *decision) keptFromLadder(st *nodeState, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if r := exitOf(st, why).may(st.group.contract.ladder); r != nil {
		return d.heldBy(reason.Node(st.Name()), st.group, r)
	}
	return nil
}

// neededBack says whether a node comes down from the ladder for what the contract says: its group would keep too few Ready nodes.
func neededBack(r *fleet.Refusal) bool { return r.Property == "S-44" }
