package remove

import (
	"cmp"
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// handedOverFor is how long a node must have been of no group that is managed before what stands on it is taken back: a machine that was being deleted
// is gone by then, and a group that was out of sight for a moment is back.
const handedOverFor = 10 * time.Minute

// handOver takes the removal taint, the cordon, the mark and the soft taint off nodes of groups that were managed and are no more (S-37). What this
// sluice has put there bears its name: an earlier process may have done it. What bears another name, or none, is somebody else's and stays.
func (d *Removal) handOver() {
	if len(d.Memo.Owned)+len(d.Memory.HandedOver) == 0 {
		return
	}
	var all map[string]time.Time
	for _, n := range d.Memo.Owned {
		if !d.handedOver(n) {
			continue
		}
		since, seen := d.Memory.HandedOver[n.Name()]
		if !seen {
			since = d.Now
		}
		if all == nil {
			all = map[string]time.Time{}
		}
		all[n.Name()] = since
		if due := since.Add(handedOverFor); d.Now.Before(due) {
			d.Wake(due)
		} else if cluster.Ready(n.Object) {
			d.giveBack(n, since)
		}
	}
	if !maps.Equal(all, d.Memory.HandedOver) {
		d.Memory.HandedOver = all
	}
}

// handedOver says whether the node bears the name of this sluice, and belongs to no group of its own.
func (d *Removal) handedOver(n *cluster.Node) bool {
	return d.Policy.Installation != "" && cluster.OwnerOf(n.Object) == d.Policy.Installation && len(n.Suspects) == 0 && d.groups[n.Group] == nil
}

// giveBack takes from the node what this sluice has put on it.
func (d *Removal) giveBack(n *cluster.Node, since time.Time) {
	why := reason.New(reason.NodeHandedOver, reason.Node(n.Name()), "since", since.UTC().Format(time.RFC3339))
	if _, on := cluster.RemovalOf(n.Object); on || n.Marked.UID != "" {
		d.act(action.Uncordon{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
	if cluster.Candidate(n.Object) {
		d.steer(action.SoftUntaint{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
}

// begunByAnother says whether a node on the ladder bears another name than this sluice's: whoever put it there has given its group away since, or was
// of an earlier version, which wrote no name.
func (d *Removal) begunByAnother(st *candidate) bool {
	return d.Policy.Installation != "" && cluster.OwnerOf(st.Object) != d.Policy.Installation
}

// takeOver puts the name of this sluice on the node, before anything else is done to it: nobody else takes it back from now on.
func (d *Removal) takeOver(st *candidate) {
	why := reason.New(reason.NodeAdopted, reason.Node(st.Name()), "owner", cmp.Or(cluster.OwnerOf(st.Object), "a sluice without a name"))
	d.act(action.Mark{Node: st.Name(), UID: st.Object.UID, Machine: st.Instance.Machine(), Because: why})
	d.judgeNode(st, phase(st), why)
}
