package remove

import (
	"cmp"
	"maps"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// handedOverFor is how long a node must have been of no group that is managed before what stands on it is taken back: a machine that was
// being deleted is gone by then, and a group that was not seen for a moment is back.
const handedOverFor = 10 * time.Minute

// ownership tells nodes that this sluice has begun with from those of others.
type ownership struct {
	*node.View
	*orders
	nodes *nodes
}

// handOver takes the removal taint, the cordon, the mark and the candidate taint off nodes of groups that were managed and are no more
// (S-37). What this sluice has put there bears its name: an earlier process may have done it. What bears another name, or none, is somebody
// else's and stays.
//
//	node, of no managed group                       does
//	bears this sluice's name, not for ten minutes   waits; a process that begins waits anew
//	the same for ten minutes, and is not Ready      waits: its machine may be about to stop
//	the same for ten minutes, and is Ready          takes back what stands there (scenario handed-over)
//	could be a machine of a managed group           nothing
//	bears another name, or none                     nothing (scenario handed-over-restart)
//
// A sluice without a name takes nothing back.
func (ow *ownership) handOver() {
	if len(ow.Memo.Owned)+len(ow.Memory.HandedOver) == 0 {
		return
	}
	var all map[string]time.Time
	for _, n := range ow.Memo.Owned {
		if !ow.handedOver(n) {
			continue
		}
		since, seen := ow.Memory.HandedOver[n.Name()]
		if !seen {
			since = ow.Now
		}
		if all == nil {
			all = map[string]time.Time{}
		}
		all[n.Name()] = since
		if due := since.Add(handedOverFor); ow.Now.Before(due) {
			ow.Wake(due)
		} else if cluster.Ready(n.Object) {
			ow.giveBack(n, since)
		}
	}
	if !maps.Equal(all, ow.Memory.HandedOver) {
		ow.Memory.HandedOver = all
	}
}

// handedOver says whether the node bears the name of this sluice, and belongs to no group of its own.
func (ow *ownership) handedOver(n *cluster.Node) bool {
	return ow.Policy.Installation != "" && cluster.OwnerOf(n.Object) == ow.Policy.Installation && len(n.Suspects) == 0 && ow.nodes.groups[n.Group] == nil
}

// giveBack takes from the node what this sluice has put on it.
func (ow *ownership) giveBack(n *cluster.Node, since time.Time) {
	why := reason.New(reason.NodeHandedOver, reason.Node(n.Name()), "since", since.UTC().Format(time.RFC3339))
	if _, on := cluster.RemovalOf(n.Object); on || n.Marked.UID != "" {
		ow.act(action.Uncordon{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
	if cluster.Candidate(n.Object) {
		ow.steer(action.CandidateUntaint{Node: n.Name(), UID: n.Object.UID, Because: why})
	}
}

// begunByAnother says whether a cordoned node bears another name than this sluice's: whoever put it there has given its group away since,
// or was of an earlier version, which wrote no name.
func (ow *ownership) begunByAnother(st *candidate) bool {
	return ow.Policy.Installation != "" && cluster.OwnerOf(st.Object) != ow.Policy.Installation
}

// takeOver puts the name of this sluice on the node, before anything else is done to it: nobody else takes it back from now on.
func (ow *ownership) takeOver(st *candidate) {
	why := reason.New(reason.NodeAdopted, reason.Node(st.Name()), "owner", cmp.Or(cluster.OwnerOf(st.Object), "a sluice without a name"))
	ow.act(action.Mark{Node: st.Name(), UID: st.Object.UID, Machine: st.Instance.Machine(), Because: why})
	ow.nodes.judge(st, phase(st), why)
}
