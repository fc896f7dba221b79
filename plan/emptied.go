package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Emptied is when a node was last told to be empty of pods: when it was cordoned for that, or a pod was evicted from it.
type Emptied struct {
	Group cluster.GroupID `json:"group"`
	At    time.Time       `json:"at"`
}

// spent says why the node is not emptied now: its group's budget has been used within its window, whatever for (S-19); nil when nothing is in the
// way. A process that begins does not know what was emptied before it, but for nodes that it finds on their way, and that were counted when they were put there.
func (d *decision) spent(st *nodeState) *reason.Reason {
	window := d.allowed.Removal.Window
	if was, counted := d.m.Emptied[st.Name()]; window == 0 || counted && d.now.Sub(was.At) < window {
		return nil
	}
	if known := d.m.Since.Add(window); d.now.Before(known) && !(st.onLadder && st.removal.Empties() && !st.removal.Since.After(d.m.Since)) {
		d.wake(known)
		return new(reason.New(reason.EmptiedUnknown, reason.Node(st.Name()), "group", st.Group, "since", d.m.Since.UTC().Format(time.RFC3339), "window", window))
	}
	emptied, soonest := d.emptied(st, window)
	nodes := d.s.Size(st.Group)
	budget := d.allowed.Removal.Budget(nodes)
	if emptied < budget {
		return nil
	}
	if !soonest.IsZero() {
		d.wake(soonest.Add(window))
	}
	return new(reason.New(reason.EmptiedBudget, reason.Node(st.Name()), "group", st.Group, "emptied", emptied, "nodes", nodes, "limit", budget, "window", window))
}

// emptied counts the other nodes of the group that were emptied within the window, or are on their way with pods, and were so before this one;
// soonest is when the first of the former was.
func (d *decision) emptied(st *nodeState, window time.Duration) (count int, soonest time.Time) {
	for name, e := range d.m.Emptied {
		if name != st.Name() && e.Group == st.Group && d.now.Sub(e.At) < window {
			if count++; soonest.IsZero() || e.At.Before(soonest) {
				soonest = e.At
			}
		}
	}
	for _, other := range d.removable {
		if !other.onLadder || other.Group != st.Group || other == st || dries(other) || len(other.movers) == 0 {
			continue
		}
		if was, counted := d.m.Emptied[other.Name()]; counted && d.now.Sub(was.At) < window {
			continue
		}
		first, then := other.removal.Since, st.removal.Since
		if !st.onLadder || dries(st) || first.Before(then) || first.Equal(then) && other.Name() < st.Name() {
			count++
		}
	}
	return count, soonest
}

// empties remembers that a node is emptied of its pods.
func (d *decision) empties(st *nodeState) {
	d.m.Emptied = with(d.m.Emptied, st.Name(), Emptied{st.Group, d.now})
}

// received says whether a pod runs on the node that a drain has made homeless since then. What was seen of the node before is no evidence that it may
// go with that pod: else the pod would be moved again at once.
func (d *decision) received(st *nodeState, since time.Time) bool {
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
func (d *decision) forgetEmptied() {
	for name, e := range d.m.Emptied {
		if d.now.Sub(e.At) >= max(d.allowed.Removal.Window, placed) {
			d.m.Emptied = without(d.m.Emptied, name)
		}
	}
}
