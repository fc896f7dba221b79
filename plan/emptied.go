package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/reason"
)

// Emptied is when a node was last told to be empty of pods: when it was cordoned for that, or a pod was evicted from it.
type Emptied struct {
	Group cluster.GroupID `json:"group"`
	At    time.Time       `json:"at"`
}

// spent says why pods may not be told to leave the node, which is on its way out: its group's budget has been used within its window, whatever for (S-19); nil when
// nothing is in the way.
func (d *removing) spent(st *nodeState) []reason.Reason {
	if r := st.group.contract.ladder.MayEmpty(fleet.UID(st.Instance.UID)); r != nil {
		return d.heldBy(reason.Node(st.Name()), st.group.groupState, r)
	}
	return nil
}

// empties remembers that a node is emptied of its pods.
func (d *removing) empties(st *nodeState) {
	d.m.Emptied = with(d.m.Emptied, st.Name(), Emptied{st.Group, d.now})
	if st.counted && st.exit.Idle { // it was cordoned with no pods on it
		ladder := st.group.contract.ladder
		ladder.Drop(st.exit.verb, st.exit.Target)
		st.exit.Idle = false
		ladder.Add(st.exit.verb, st.exit.Target)
	}
}

// received says whether a pod runs on the node that a drain has made homeless since then. What was seen of the node before is no evidence that it may
// go with that pod: else the pod would be moved again at once.
func (d *removing) received(st *nodeState, since time.Time) bool {
	if len(d.m.Emptied) == 0 {
		return false
	}
	return slices.ContainsFunc(st.movers, func(p *cluster.Pod) bool {
		made := p.Created() // to the second
		if !made.After(since) {
			return false
		}
		for name, e := range d.m.Emptied {
			if name != st.Name() && !made.Before(e.At.Truncate(time.Second)) && !made.After(e.At.Add(placed)) {
				return true
			}
		}
		return false
	})
}

// forgetEmptied leaves out what the window has left behind, and whose pods have found their places.
func (d *removing) forgetEmptied() {
	for name, e := range d.m.Emptied {
		if d.now.Sub(e.At) >= max(d.allowed.Removal.Window, placed) {
			d.m.Emptied = without(d.m.Emptied, name)
		}
	}
}
