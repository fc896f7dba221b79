package guard

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Charged are the machines of a removal for which the budget is charged.
func Charged(w Delete, e Evidence, allowed *policy.Policy) (all []fleet.UID) {
	if e.Fleet == nil || e.Group == nil {
		return nil
	}
	var targets []fleet.Target
	for _, t := range w.Machines {
		targets = append(targets, target(t, e, allowed))
	}
	return e.Fleet.Charged(fleet.GroupID(w.Group), targets)
}

// checkFleet holds a removal that the ledger of machines forbids.
func checkFleet(w Delete, e Evidence, allowed *policy.Policy) error {
	if e.Fleet == nil {
		return refuse("S-02", reason.GroupNotRead, reason.Group(string(w.Group)))
	}
	limits := allowed.Fleet(e.Group)
	limits.Age = fleet.ReadAge
	together := e.Fleet.Batch(fleet.GroupID(w.Group), limits)
	for _, t := range w.Machines {
		verb := fleet.Delete
		if e.Group.Parks && t.Node != "" && e.Group.Instance(t.ID).State != cluster.StateFailed {
			verb = fleet.Park
		}
		if r := together.Add(verb, target(t, e, allowed)); r != nil {
			return refuseAs(r, w.Group)
		}
	}
	return nil
}

// target is the machine as the ledger is asked about it. That nothing stands in the way of one with a node is for [checkNodeOf] to say.
func target(t Target, e Evidence, allowed *policy.Policy) fleet.Target {
	to := fleet.Target{UID: fleet.UID(t.UID), ID: string(t.ID), Clear: t.Node != ""}
	if n := e.Newest.Node(t.Node); n != nil {
		removal, _ := cluster.RemovalOf(n.Object)
		to.Idle, to.Person = removal.Why == cluster.Idle, removal.Why == cluster.AskedFor
	}
	if in := e.Group.Instance(t.ID); in != nil {
		to.Held, to.Forced = in.Protected, t.Node == "" && allowed.Removal.Forces(in)
	}
	return to
}
