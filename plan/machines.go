package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// cleanUpMachines judges machines that have no node, and deletes those that failed to start or never joined, unless a node
// could be theirs (S-12) or the group would fall below its minimum.
func (d *decision) cleanUpMachines() {
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		for _, in := range g.Instances {
			if in.State == cluster.StateDeleting {
				st.deleting++
			}
			if in.Node == "" {
				d.judgeMachine(st, in)
			}
		}
	}
}

func (d *decision) judgeMachine(g *groupState, in *cluster.Instance) {
	about := reason.Instance(string(g.ID), string(in.ID))
	for _, n := range d.s.Nodes {
		if in.MayBe(n.Object) {
			d.judge(about, MachineHold, reason.New(reason.MachineAmbiguous, about, "node", n.Name()))
			return
		}
	}
	var why reason.Reason
	switch {
	case in.State == cluster.StateDeleting:
		return
	case in.State == cluster.StateStopped:
		d.judge(about, MachineHold, reason.New(reason.MachineStopped, about))
		return
	case in.State == cluster.StateFailed:
		f := cluster.Failure{Code: "Failed", Message: "the cloud gave no reason"}
		if in.Failure != nil {
			f = *in.Failure
		}
		why = reason.New(reason.MachineFailed, about, "code", f.Code, "message", f.Message)
	case d.overdue(in):
		aged := d.now.Sub(in.Created).Truncate(time.Second)
		why = reason.New(reason.MachineNeverJoined, about, "age", aged, "limit", d.allowed.Growth.Provision)
	default:
		d.judge(about, MachineComing, reason.New(reason.MachineComing, about, "age", d.now.Sub(in.Created).Truncate(time.Second)))
		return
	}
	switch {
	case g.blockedRead() != nil:
		d.judge(about, MachineHold, why, *g.blockedRead())
	case g.Capacity-len(d.leaving[g.ID])-1 < g.Min:
		d.judge(about, MachineHold, why, d.atMin(g))
	default:
		d.leaving[g.ID] = append(d.leaving[g.ID], Leaving{Machine: in.Machine(), Because: why})
		g.leaving++
		d.judge(about, MachineDelete, why)
	}
	if why.Code == reason.MachineNeverJoined {
		d.backOffOnce(g, in, why)
	}
}

// backOffOnce lets a machine that never joined count as one failure of its group, at the moment its time ran out.
func (d *decision) backOffOnce(g *groupState, in *cluster.Instance, why reason.Reason) {
	m := d.m.Groups[g.ID]
	if at := in.Created.Add(d.allowed.Growth.Provision); at.After(m.Noticed) {
		m.Noticed = at
		m.Backoff = m.Backoff.failed(d.now, "NeverJoined", why.Sentence(), d.allowed)
		d.m.Groups[g.ID] = m
	}
}
