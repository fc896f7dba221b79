package world

import (
	"math/rand/v2"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan"
)

// whims are what a sluice tries whose plans are not to be trusted: actions made of what there is, at random. Nothing but the guard stands between
// them and the world.
type whims struct {
	luck *rand.Rand
	old  *cluster.Snapshot // what some of them rest on: seen a while ago
}

func doReckless(w *world, _ *statement) error {
	w.whims = &whims{luck: rand.New(rand.NewPCG(w.cluster.Seed, 0x77))}
	w.rule.Reckless = true
	return nil
}

// tempt is app.Parts.Tempt.
func (w *world) tempt(seen *cluster.Snapshot, perform func(*cluster.Snapshot, []plan.Action) []plan.Result) {
	h := w.whims
	if h.old == nil || h.luck.IntN(10) == 0 {
		h.old = seen
	}
	if h.luck.IntN(3) > 0 {
		return
	}
	var actions []plan.Action
	for range 1 + h.luck.IntN(3) {
		if a := h.action(seen); a != nil {
			actions = append(actions, a)
		}
	}
	decided := seen
	if h.luck.IntN(4) == 0 {
		decided = h.old
	}
	for _, r := range perform(decided, actions) {
		w.tally(r)
	}
}

// action is one at random; nil where there is nothing to do it to.
func (h *whims) action(seen *cluster.Snapshot) plan.Action {
	from := seen
	if h.luck.IntN(4) == 0 {
		from = h.old
	}
	switch h.luck.IntN(9) {
	case 0, 1:
		if g := one(h, from.Groups); g != nil {
			return plan.SetCapacity{Group: g.ID, From: max(0, g.Capacity-h.luck.IntN(2)), To: h.luck.IntN(g.Max + 3)}
		}
	case 2, 3, 4:
		return h.deletion(from)
	case 5:
		if n := one(h, from.Nodes); n != nil {
			return plan.Cordon{Node: n.Name(), UID: n.Object.UID, Machine: h.machine(n, from), Removal: cluster.Removal{Since: seen.Time.Truncate(time.Second), Why: "idle"}}
		}
	case 6:
		if n := one(h, from.Nodes); n != nil {
			if p := one(h, n.Pods); p != nil {
				return plan.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name(), Grace: -1}
			}
		}
	case 7:
		if n := one(h, from.Nodes); n != nil {
			a := plan.DeleteNode{Node: n.Name(), UID: n.Object.UID, Machine: h.machine(n, from)}
			if v := one(h, seen.Objects.VolumeAttachments); v != nil {
				a.Attachments = append(a.Attachments, cluster.Attachment{Name: v.Name, UID: v.UID})
			}
			return a
		}
	case 8:
		if p, n := one(h, from.Pending), one(h, from.Nodes); p != nil && n != nil {
			return plan.OpenGate{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name()}
		}
	}
	return nil
}

// deletion names machines as a bad plan would: the wrong node, no node, no unique id, one twice, or none at all.
func (h *whims) deletion(from *cluster.Snapshot) plan.Action {
	g := one(h, from.Groups)
	if g == nil {
		return nil
	}
	a := plan.DeleteInstances{Group: g.ID}
	for range h.luck.IntN(3) {
		in := one(h, g.Instances)
		if in == nil {
			break
		}
		l := plan.Leaving{Machine: in.Machine(), Node: in.Node}
		switch h.luck.IntN(8) {
		case 0:
			l.Node = ""
		case 1:
			if n := one(h, from.Nodes); n != nil {
				l.Node = n.Name()
			}
		case 2:
			l.UID = ""
		case 3:
			a.Machines = append(a.Machines, l)
		case 4:
			if other := one(h, g.Instances); other != nil {
				l.UID = other.UID
			}
		}
		a.Machines = append(a.Machines, l)
	}
	return a
}

// machine is what a node is, or another one.
func (h *whims) machine(n *cluster.Node, from *cluster.Snapshot) cluster.Machine {
	if n.Instance != nil && h.luck.IntN(4) > 0 {
		return n.Instance.Machine()
	}
	if n.Marked.UID != "" && h.luck.IntN(2) == 0 {
		return n.Marked
	}
	if g := one(h, from.Groups); g != nil {
		if in := one(h, g.Instances); in != nil {
			return in.Machine()
		}
	}
	return cluster.Machine{}
}

// one is one of all, at random; nil when there is none.
func one[T any](h *whims, all []*T) *T {
	if len(all) == 0 {
		return nil
	}
	return all[h.luck.IntN(len(all))]
}
