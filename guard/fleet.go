package guard

import (
	"cmp"
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
)

// Held is a machine that may not be removed now, and why.
type Held struct {
	Machine cluster.Machine
	fleet.Refusal
}

// Split is the removal without the machines that the ledger of machines keeps for now, and these.
func Split(w Delete, e Evidence, allowed *policy.Policy) (may Delete, held []Held) {
	if e.Fleet == nil || e.Group == nil {
		return w, nil
	}
	may.Group = w.Group
	for _, t := range w.Machines {
		with := append(may.Machines[:len(may.Machines):len(may.Machines)], t)
		if r := mayRemove(w.Group, with, e, allowed); r != nil {
			held = append(held, Held{t.Machine, *r})
			continue
		}
		may.Machines = with
	}
	return may, held
}

// Charged are the machines of a removal for which the budget is charged.
func Charged(w Delete, e Evidence, allowed *policy.Policy) []fleet.UID {
	if e.Fleet == nil || e.Group == nil {
		return nil
	}
	return e.Fleet.Charged(fleet.GroupID(w.Group), targets(w.Machines, e))
}

// checkFleet holds a removal that the ledger of machines forbids.
func checkFleet(w Delete, e Evidence, allowed *policy.Policy) error {
	if e.Fleet == nil {
		return nil
	}
	if r := mayRemove(w.Group, w.Machines, e, allowed); r != nil {
		return refuse(r.Property, "%s", Sentence(w.Group, *r))
	}
	return nil
}

// checkEmpty holds a node that may not be emptied of its pods by the budget that all removals share.
func checkEmpty(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	if e.Fleet == nil || n.Instance == nil || !spends(n, e, allowed) || n.Object.Annotations[cluster.DrainAnnotation] != "" {
		return nil
	}
	if r := e.Fleet.MayEmpty(fleet.GroupID(n.Group), fleet.UID(n.Instance.UID), limits(e.Newest.Group(n.Group), allowed)); r != nil {
		return refuse(r.Property, "%s", Sentence(n.Group, *r))
	}
	return nil
}

// spends says whether the budget is charged for a node that is cordoned: somebody has to leave it, or nobody saw that it was empty, since it is not Ready.
func spends(n *cluster.Node, e Evidence, allowed *policy.Policy) bool {
	return works(n, e, allowed) || !cluster.Ready(n.Object)
}

func mayRemove(id cluster.GroupID, machines []Target, e Evidence, allowed *policy.Policy) *fleet.Refusal {
	l := limits(e.Group, allowed)
	verb := fleet.Delete
	if e.Group.Parks {
		verb = fleet.Park
	}
	forced := true
	for _, t := range machines {
		in := e.Group.Instance(t.ID)
		if in == nil {
			return &fleet.Refusal{Property: "S-11", Code: fleet.NotListed, UID: fleet.UID(t.UID)}
		}
		if t.Node == "" || in.State == cluster.StateFailed {
			verb = fleet.Delete
		}
		forced = forced && t.Node == "" && allowed.Removal.Forces(in)
	}
	if forced {
		l.Min = 0
	}
	return e.Fleet.MayRemove(fleet.GroupID(id), verb, targets(machines, e), l)
}

// limits are what the policy allows a group.
func limits(g *cluster.Group, allowed *policy.Policy) fleet.Limits {
	if g == nil {
		return fleet.Limits{}
	}
	r := allowed.Removal.Of(g.Options)
	return fleet.Limits{Min: g.Min, Max: g.Max, Owned: true, Age: fleet.ReadAge, Budget: r.Emptied, LostFor: r.Unready, WorkFor: max(r.Unready, cmp.Or(r.Lost, fleet.WorkLost))}
}

// targets are the machines as the ledger is asked about them. That nothing stands in the way of those with nodes is for [checkNodeOf] to say.
func targets(machines []Target, e Evidence) (all []fleet.Target) {
	for _, t := range machines {
		to := fleet.Target{UID: fleet.UID(t.UID), ID: string(t.ID), Clear: t.Node != ""}
		if n := e.Newest.Node(t.Node); n != nil {
			removal, _ := cluster.RemovalOf(n.Object)
			to.Idle, to.Person = removal.Why == cluster.Idle, removal.Why == cluster.AskedFor
		}
		all = append(all, to)
	}
	return all
}

// Acknowledge is the command by which a person says that he knows what a group has lost.
func Acknowledge(id cluster.GroupID) string { return "sluice acknowledge " + string(id) }

// Sentence is why the ledger of machines forbids a write to a group, in one sentence with the numbers compared.
func Sentence(id cluster.GroupID, r fleet.Refusal) string {
	until := ""
	if r.Until != 0 {
		until = "; not before " + r.Until.Time().Truncate(time.Second).Format(time.RFC3339)
	}
	switch r.Code {
	case fleet.LostTogether:
		return fmt.Sprintf("%d nodes of group %s were lost together (limit %d)%s; %s ends that", r.Have, id, r.Limit, until, Acknowledge(id))
	case fleet.NodesHidden:
		return fmt.Sprintf("%d of %d Node objects of group %s are gone and their machines run; %s ends that", r.Have, r.Limit, id, Acknowledge(id))
	case fleet.NotLostYet:
		return fmt.Sprintf("machine %s of group %s is lost and may still work%s; %s ends that", r.UID, id, until, Acknowledge(id))
	case fleet.OverBudget:
		return fmt.Sprintf("%d machines of group %s would leave within the window (limit %d)%s", r.Have, id, r.Limit, until)
	case fleet.MemoryShort:
		return fmt.Sprintf("what left group %s before this process began is not known%s", id, until)
	case fleet.IdleTogether:
		return fmt.Sprintf("%d machines of group %s would leave after their pods were taken away together (limit %d)", r.Have, id, r.Limit)
	case fleet.BelowMin:
		return fmt.Sprintf("group %s would keep %d Ready nodes (min %d)", id, r.Have, r.Limit)
	case fleet.MachinesHidden:
		return fmt.Sprintf("Azure's list lacks %d of %d machines of group %s, and nobody saw them leave", r.Have, r.Limit, id)
	}
	return fmt.Sprintf("machine %s of group %s may not go (%s): %d, limit %d%s", r.UID, id, r.Code, r.Have, r.Limit, until)
}
