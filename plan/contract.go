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

	lost  int       // machines that it keeps since nodes were lost
	until time.Time // when it lets the first of them go, zero when nobody knows
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

// forbids says why the safety contract keeps the machine beside those of its group that go already, nil when it does not.
func (d *decision) forbids(about reason.Ref, st *groupState, with *fleet.Batch, e exit) *reason.Reason {
	r := with.May(e.verb, e.Target)
	if r == nil {
		return nil
	}
	return d.heldBy(about, st, r)
}

// heldBy says that the safety contract holds something back.
func (d *decision) heldBy(about reason.Ref, st *groupState, r *fleet.Refusal) *reason.Reason {
	until := r.Until.Time()
	d.wake(until)
	switch r.Code {
	case fleet.NotLostYet, fleet.LostTogether, fleet.NodesHidden:
		if c := &st.contract; c.lost == 0 || !until.IsZero() && (c.until.IsZero() || until.Before(c.until)) {
			c.until = until
		}
		st.contract.lost++
	}
	return new(reason.New(reason.RemovalHeld, about, "property", r.Property, "why", r.Sentence(fleet.GroupID(st.ID))))
}

// losses says that lost machines of the group are kept, nil when none is.
func (st *groupState) losses() *reason.Reason {
	if st.contract.lost == 0 {
		return nil
	}
	until := "somebody acknowledges it"
	if !st.contract.until.IsZero() {
		until = st.contract.until.Format(time.RFC3339)
	}
	return new(reason.New(reason.GroupLost, reason.Group(string(st.ID)), "machines", st.contract.lost, "until", until))
}

// keptFromLadder says why the safety contract keeps a node whose time has come, so that it is not cordoned in vain; nil when it does not, or something else is in
// the way.
func (d *decision) keptFromLadder(st *nodeState, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if held := d.forbids(reason.Node(st.Name()), st.group, st.group.contract.ladder, exitOf(st, why)); held != nil {
		return []reason.Reason{*held}
	}
	return nil
}
