package node

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/memory"
)

// NoticeLost notes the machines without a node that are lost, as the ledger has it. They are not counted on, since a kubelet that runs does
// not register again by itself.
func (d *View) NoticeLost() {
	if d.Fleet == nil {
		return
	}
	for _, g := range d.Snapshot.Groups {
		for _, in := range d.groups[g.ID].Unregistered {
			if !waitedFor(d.groups[g.ID], in) {
				continue
			}
			if life, known := d.Fleet.Life(fleet.GroupID(in.Group), fleet.UID(in.UID)); known && life == fleet.Lost {
				if d.lost == nil {
					d.lost = map[string]bool{}
				}
				d.lost[in.UID] = true
			}
		}
	}
}

// Lost says whether a machine without a node was one, as the ledger has it.
func (d *View) Lost(in *cluster.Instance) bool { return d.lost[in.UID] }

// waitedFor says whether a machine that is no node has a time in which it is to become one. One that the cloud has taken away and kept,
// switched off, has it as well: in a group that is known to be this cluster's it is nobody else's, and takes up the room of one that runs.
// One beside control-plane nodes has none: it may run the control plane without being a node.
// Scenarios spot-taken-before-it-joined and k3s-servers hold these cases.
func waitedFor(g *GroupFacts, in *cluster.Instance) bool {
	return !g.Servers && (in.State.Expected() || g.Spot && g.Joined && in.State == cluster.StateStopped)
}

// Waits is since when the machine is waited for; zero when nobody knows.
func (d *View) Waits(in *cluster.Instance) time.Time {
	since, _ := in.WaitedSince(d.Fleet)
	return since
}

// Waited is for how long, in whole seconds.
func (d *View) Waited(in *cluster.Instance) time.Duration {
	return d.Now.Sub(d.Waits(in)).Truncate(time.Second)
}

// NoticeRestarts finds the nodes of machines that have been started again and are to have the time of new ones.
func (d *View) NoticeRestarts() {
	for _, at := range d.Memo.Passing {
		if v := d.Memo.Facts[at]; !v.Ready && v.Of >= 0 && d.Restarts(v.Node) {
			st := d.GroupOf(v)
			st.Restarted = append(st.Restarted, v.Node)
		}
	}
}

// Restarts says whether the machine of a node that is not Ready has been started again, and is still to have the time of a new one: it runs
// some time before its kubelet reports.
// Another machine is bought for its pods only when that time is over (scenario parked-started-and-silent).
func (d *View) Restarts(n *cluster.Node) bool {
	in := n.Instance
	if in == nil || !in.State.Expected() {
		return false
	}
	_, again := in.WaitedSince(d.Fleet)
	return (again || in.State == cluster.StateCreating || WasParked(n)) && !d.hadTime(in)
}

// WasParked says whether the node stands as it was left when its machine was parked.
func WasParked(n *cluster.Node) bool {
	removal, _ := cluster.RemovalOf(n.Object)
	return removal.Why == cluster.Parked
}

// here says whether a Ready node could be the machine, which is joined to none. One of an earlier machine could not.
func (d *View) here(in *cluster.Instance) bool {
	n := d.Suspect(in)
	return n != nil && cluster.Ready(n.Object) && !n.Outlived()
}

// hereOf is how many such machines the group has.
func (d *View) hereOf(st *GroupFacts) (n int) {
	for _, in := range st.Unregistered {
		if d.here(in) {
			n++
		}
	}
	return n
}

// Comes says whether a machine without a node is expected to become one. Where more Node objects are gone than may be not Ready, somebody
// deletes them by mistake: then their machines are waited for, and not bought again. Nor does one that has been kept from joining by its
// name for too long, nor one that a Ready node could be already, while there are few such in its group: what is bought in their place may
// be no better.
//
//	machine without a node, in this order                                        comes
//	neither creating nor running; of a group of servers; overdue                 no
//	the node of an earlier machine has its name, and its provision time is over  no
//	a Ready node could be it, and fewer than three such are in its group         no (scenario node-ambiguous)
//	it is lost, and few are                                                      no
//	it is lost, and nobody knows that it was a node: there is no record          no (scenario lost-machines-record-lost-wait)
//	it is lost, with more than may be not Ready                                  yes (scenario node-objects-deleted-all)
//	any other                                                                    yes
func (d *View) Comes(st *GroupFacts, in *cluster.Instance) bool {
	if !in.State.Expected() || st.Servers || d.Overdue(st, in) || d.NameTaken(in) != nil && d.TimeUp(in.Created) {
		return false
	}
	if d.here(in) && d.hereOf(st) < memory.BreaksAt {
		return false
	}
	if d.lost[in.UID] && !d.Fleet.Joined(fleet.GroupID(in.Group), fleet.UID(in.UID)) {
		return false
	}
	return !d.lost[in.UID] || !d.Policy.Health.Tolerates(len(d.lost), len(d.Snapshot.Nodes)+len(d.lost))
}
