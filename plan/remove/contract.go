package remove

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// exitOf is the machine of a node that is cordoned for that reason.
func exitOf(st *candidate, why string) node.Exit {
	e := node.Exit{Verb: fleet.Delete, Target: fleet.Target{UID: fleet.UID(st.Instance.UID), ID: string(st.Instance.ID), Clear: true, Idle: why == cluster.Idle, Person: why == cluster.AskedFor}}
	if st.group.Parks && st.Instance.State != cluster.StateFailed {
		e.Verb = fleet.Park
	}
	return e
}

// keptFromLadder says why the safety contract keeps a node whose time has come, so that it is not cordoned in vain; nil when it does not, or something else is in
// the way.
func (d *Removal) keptFromLadder(st *candidate, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if r := exitOf(st, why).May(st.group.Contract.Ladder); r != nil {
		return d.HeldBy(reason.Node(st.Name()), st.group.GroupFacts, r)
	}
	return nil
}

// neededOf is the same of a node's machine, beside those that are on the ladder.
func (d *Removal) neededOf(st *candidate, n int) *reason.Reason {
	return d.Needed(st.group.GroupFacts, exitOf(st, ""), st.group.Contract.Ladder, n)
}
