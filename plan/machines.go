package plan

import (
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// cleanUpMachines judges machines that have no node, and deletes those that failed to start or never joined, unless a node
// could be theirs (S-12) or the group would fall below its minimum.
func (d *removing) cleanUpMachines() {
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		for _, in := range st.nodeless {
			d.judgeMachine(st, in)
		}
	}
}

func (d *removing) judgeMachine(g *removeGroup, in *cluster.Instance) {
	about := reason.Instance(string(g.ID), string(in.ID))
	if taken := d.nameTaken(in); taken != nil {
		d.judge(about, MachineHold, *taken)
		return
	}
	if n := d.suspect(in); n != nil {
		d.judge(about, MachineHold, reason.New(reason.MachineAmbiguous, about, "node", n.Name()))
		return
	}
	var why reason.Reason
	switch {
	case in.State == cluster.StateDeleting:
		return
	case g.servers:
		d.judge(about, MachineHold, d.controlled(g.ID))
		return
	case in.State == cluster.StateStopped && !d.overdue(g.groupState, in):
		d.judge(about, MachineHold, reason.New(reason.MachineStopped, about))
		return
	case in.State == cluster.StateFailed:
		f := cluster.Failure{Code: "Failed", Message: "the cloud gave no reason"}
		if in.Failure != nil {
			f = *in.Failure
		}
		why = reason.New(reason.MachineFailed, about, "code", f.Code, "message", f.Message)
	case d.s.Stray(in.ComputerName) != nil:
		p := d.s.Stray(in.ComputerName)
		d.judge(about, MachineHold, reason.New(reason.MachineCarriesPods, about, "pod", p.String()))
		return
	case d.overdue(g.groupState, in):
		why = d.neverJoined(about, in)
	case !d.comes(g.groupState, in):
		d.judge(about, MachineHold, d.neverJoined(about, in))
		return
	case d.lateBy(g.growGroup, in) != nil:
		d.judge(about, MachineComing, *d.lateBy(g.growGroup, in))
		return
	default:
		d.judge(about, MachineComing, reason.New(reason.MachineComing, about, "age", max(0, d.now.Sub(in.Created)).Truncate(time.Second), "limit", d.allowed.Growth.Provision))
		return
	}
	switch {
	case in.Protected:
		d.judge(about, MachineHold, why, reason.New(reason.MachineProtected, about))
	case g.paused != nil:
		d.judge(about, MachineHold, why, *g.paused)
	case g.blockedRead() != nil:
		d.judge(about, MachineHold, why, *g.blockedRead())
	case d.foreign(g.groupState) != nil:
		d.judge(about, MachineHold, why, *d.foreign(g.groupState))
	case d.rests(g) != nil:
		d.judge(about, MachineHold, why, *d.rests(g))
	case d.inspected(g.growGroup, in) != nil:
		d.judge(about, MachineHold, why, *d.inspected(g.growGroup, in))
	case d.needed(g.groupState, d.nodeless(in), g.contract.leave, 1) != nil:
		d.judge(about, MachineHold, why, *d.needed(g.groupState, d.nodeless(in), g.contract.leave, 1))
	default:
		e := d.nodeless(in)
		if r := e.may(g.contract.leave); r != nil {
			d.judge(about, MachineHold, append([]reason.Reason{why}, d.heldBy(about, g.groupState, r)...)...)
			return
		}
		d.removes(g, e, Leaving{Machine: in.Machine(), Because: why})
		g.leaving++
		g.contract.ladder.Add(e.verb, e.Target)
		d.judge(about, MachineDeleting, why)
	}
}

func (d *view) neverJoined(about reason.Ref, in *cluster.Instance) reason.Reason {
	code := reason.MachineNeverJoined
	if d.lost[in.UID] {
		code = reason.MachineLost
	}
	return reason.New(code, about, "age", d.waited(in), "limit", d.allowed.Growth.Provision)
}

// nameTaken says which node of an earlier machine has the machine's name, nil when none has: a server of K3s lets no second one of a name join.
func (d *view) nameTaken(in *cluster.Instance) *reason.Reason {
	n := d.suspect(in)
	if n == nil || !n.Replaced() {
		return nil
	}
	about := reason.Instance(string(in.Group), string(in.ID))
	if held := finalized(n); held != "" {
		return new(reason.New(reason.MachineNameHeld, about, "node", n.Name(), "finalizers", held))
	}
	return new(reason.New(reason.MachineNameTaken, about, "node", n.Name()))
}

// suspect is a node that could be this machine although it is not joined to it, nil when there is none (S-12). A node that is joined to
// its one machine could be no other, unless it has its name, and one that could be none of those listed belongs to a group by its name alone.
func (d *view) suspect(in *cluster.Instance) *cluster.Node {
	if n := d.s.Node(strings.ToLower(in.ComputerName)); n != nil && n.Instance != nil && n.CouldBe(in) {
		return n
	}
	for _, n := range d.facts.doubtful {
		if n.CouldBe(in) {
			return n
		}
	}
	return nil
}
