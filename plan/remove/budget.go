package remove

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
)

// evictions tells pods to leave.
type evictions struct {
	*node.View
	*orders
}

// spent says why pods may not be told to leave the node, which is on its way out: its group's budget has been used within its window, whatever for (S-19); nil when
// nothing is in the way.
func (ev *evictions) spent(st *candidate) []reason.Reason {
	if r := st.group.Contract.Leaving.MayEmpty(fleet.UID(st.Instance.UID)); r != nil {
		return ev.HeldBy(reason.Node(st.Name()), st.group.GroupFacts, r)
	}
	return nil
}

// empties remembers that a node is emptied of its pods.
func (ev *evictions) empties(st *candidate) {
	ev.Memory.Emptied = memory.With(ev.Memory.Emptied, st.Name(), memory.Emptied{Group: st.Group, At: ev.Now})
	st.emptied()
}

// received says whether a pod runs on the node that a drain has made homeless since then. What was seen of the node before is no evidence that it may
// go with that pod: else the pod would be moved again at once.
func (ev *evictions) received(st *candidate, since time.Time) bool {
	if len(ev.Memory.Emptied) == 0 {
		return false
	}
	return slices.ContainsFunc(st.Movers, func(p *cluster.Pod) bool {
		made := p.Created() // to the second
		if !made.After(since) {
			return false
		}
		for name, e := range ev.Memory.Emptied {
			if name != st.Name() && !made.Before(e.At.Truncate(time.Second)) && !made.After(e.At.Add(placed)) {
				return true
			}
		}
		return false
	})
}

// forgetEmptied leaves out what the window has left behind, and whose pods have found their places.
func (ev *evictions) forgetEmptied() {
	for name, e := range ev.Memory.Emptied {
		if ev.Now.Sub(e.At) >= max(ev.Policy.Removal.Emptied.Window, placed) {
			ev.Memory.Emptied = memory.Without(ev.Memory.Emptied, name)
		}
	}
}
