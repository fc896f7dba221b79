package remove

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
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
func (hd *holds) contract(st *candidate, why string, block []reason.Reason) []reason.Reason {
	if block != nil {
		return nil
	}
	if r := exitOf(st, why).May(st.group.Contract.Ladder); r != nil {
		return hd.HeldBy(reason.Node(st.Name()), st.group.GroupFacts, r)
	}
	return nil
}

// neededOf is the same of a node's machine, beside those that are on the ladder.
func (hd *holds) neededOf(st *candidate, n int) *reason.Reason {
	return hd.Needed(st.group.GroupFacts, exitOf(st, ""), st.group.Contract.Ladder, n)
}

// phase is how far a cordoned node is whose machine has not been asked to go.
func phase(st *candidate) action.Outcome {
	if len(st.Movers) > 0 || dries(st) {
		return action.NodeDraining
	}
	return action.NodeCordoned
}

// dries says whether a node runs dry.
func dries(st *candidate) bool { return st.Removal.Why == cluster.RunsDry }

// idleFor is how long the node could have gone, in whole seconds.
func (qu *queue) idleFor(st *candidate) time.Duration {
	return qu.Now.Sub(st.since).Truncate(time.Second)
}

// removal is the policy that holds for the node's group.
func (d *Removal) removal(st *candidate) *policy.Removal { return &st.group.Removal }

// count counts a node among those on their way out.
func (d *Removal) count(st *candidate) {
	st.counted = true
	st.group.leaving++
	st.group.Contract.Ladder.Add(st.exit.Verb, st.exit.Target)
	d.inFlight++
}

// keep says that a node that could have gone is needed: its time starts anew.
func (d *Removal) keep(st *candidate, because ...reason.Reason) {
	st.kept = true
	d.judgeNode(st, action.NodeKeep, because...)
}

// takeDown takes a node off the ladder.
func (d *Removal) takeDown(st *candidate, because ...reason.Reason) {
	if st.counted {
		st.group.leaving--
		st.group.Contract.Ladder.Drop(st.exit.Verb, st.exit.Target)
		if !d.holds.outstays(st) {
			d.inFlight--
		}
	} else {
		st.group.drying--
	}
	d.act(action.Uncordon{Node: st.Name(), UID: st.Object.UID, Because: because[0]})
	d.judgeNode(st, action.NodeRescue, because...)
}
