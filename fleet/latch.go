package fleet

import "slices"

// lossPercent is the share of nodes whose loss within an hour is no accident any more.
const lossPercent = 5

// latch holds after many nodes were lost together. It ends when each machine lost since then is a Ready node, gone, or acknowledged;
// neither new machines nor a restart end it. The zero value does not hold.
type latch struct {
	From Instant `json:"from,omitempty"` // when the first of them was lost
	Lost int     `json:"lost,omitempty"` // how many within the hour
	Of   int     `json:"of,omitempty"`   // nodes there were then; 0 when that is not known
}

func (t latch) holds() bool { return t.From != 0 }

// losses are the times at which machines were lost that are not acknowledged, and whether one of them may still be there.
func (g *group) losses(now, began Instant, h Horizon) (at []Instant, open bool) {
	for i := range g.machines {
		m := &g.machines[i]
		if lost := m.loss(now, began, h); lost > m.node.Known {
			at = append(at, lost)
			open = open || m.cloud.Gone == 0
		}
	}
	return at, open
}

// nodesAt is how many nodes the group had then.
func (g *group) nodesAt(at Instant) int {
	n := 0
	for i := range g.machines {
		if g.machines[i].wasNode(at) {
			n++
		}
	}
	return n
}

// event is the largest loss within an hour that is more than may be, by what there was when it began.
func event(losses []Instant, since Instant, h Horizon, of func(Instant) int) latch {
	slices.Sort(losses)
	var worst latch
	within := 0
	for i, from := range losses {
		for within < len(losses) && losses[within].Sub(from) < h.Loss {
			within++
		}
		n := within - i
		if n <= 1 || n <= worst.Lost {
			continue
		}
		base := 0
		if from > since {
			base = of(from)
		}
		if n > tolerance(base, lossPercent) {
			worst = latch{From: from, Lost: n, Of: base}
		}
	}
	return worst
}

// next is the latch after losses.
func (t latch) next(losses []Instant, open bool, since Instant, h Horizon, of func(Instant) int) latch {
	switch {
	case !open:
		return latch{}
	case !t.holds():
		return event(losses, since, h, of)
	}
	n := 0
	for _, at := range losses {
		if at >= t.From {
			n++
		}
	}
	t.Lost = max(t.Lost, n)
	return t
}

// latched is the ledger with the latches that follow from what it knows of the changed groups. Until the nodes of a group were listed
// nobody knows what it lost: its latch stays as it is, and nothing new counts.
func (l Ledger) latched(now Instant, changed map[GroupID]*group) Ledger {
	for _, g := range changed {
		if g.looked != 0 {
			losses, open := g.losses(now, l.began, l.horizon)
			g.latch = g.latch.next(losses, open, l.since, l.horizon, g.nodesAt)
		}
	}
	var all []Instant
	var open bool
	for _, g := range l.groups {
		losses, some := g.losses(now, l.began, l.horizon)
		if open = open || some; g.looked != 0 {
			all = append(all, losses...)
		}
	}
	l.latch = l.latch.next(all, open, l.since, l.horizon, func(at Instant) int {
		n := 0
		for _, g := range l.groups {
			n += g.nodesAt(at)
		}
		return n
	})
	return l
}
