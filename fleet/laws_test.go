package fleet_test

import (
	"fmt"
	"slices"
	"time"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/fleet/fleettest"
	"sluice.dev/sluice/reason"
)

// removed judges a removal that the cloud performs.
func (w *world) removed(all []*vm, verb fleet.Verb, by int) {
	readied := 0
	for _, v := range w.vms {
		if v.ready() && !slices.Contains(all, v) || v.state == fleet.Here && w.now.Sub(v.changed) < noticed {
			readied++
		}
	}
	for _, v := range all {
		w.counts[fmt.Sprintf("removed ready=%v lost=%v", v.ready(), v.lost != 0)]++
		switch {
		case !v.alive() || verb == fleet.Park && v.state == fleet.IsOff:
			continue // the request was sent twice
		case v.ready() && v.work:
			w.fail("S-15: %s was removed at work", v.uid)
		case v.ready() && readied < lowest:
			w.fail("S-44: %d Ready nodes stay", readied)
		case v.lost != 0 && v.work && !v.known && w.now.Sub(v.lost) < lossFor:
			w.fail("S-43: %s was removed %s after it was lost at work", v.uid, w.now.Sub(v.lost))
		}
		if !v.ready() && v.joined {
			w.charge()
			if v.state == fleet.Here {
				w.together(v)
			}
		}
		if verb == fleet.Park {
			if v.state == fleet.Here {
				v.state, v.changed, v.wanted, v.by = fleet.IsOff, w.now, true, by
			}
		} else {
			w.leave(v, by)
		}
	}
}

// charge counts a removal of the budget.
func (w *world) charge() {
	w.charged = append(w.charged, w.now)
	n := 0
	for _, at := range w.charged {
		if w.now.Sub(at) < budgetFor {
			n++
		}
	}
	if most := max(1, 60*5/100); n > most {
		w.fail("S-19: %d machines were removed within the window, more than of any size of this group", n)
	}
}

// together counts the removal of a machine that was lost with many others.
func (w *world) together(v *vm) {
	lost := 0
	for _, o := range w.vms {
		if o.alive() && o.lost != 0 && !o.known && max(o.lost, v.lost).Sub(min(o.lost, v.lost)) < lossFor/2 {
			lost++
		}
	}
	if lost <= max(2, highest*5/100) || v.known {
		return
	}
	if w.now.Sub(v.lost) < lossFor {
		w.fail("S-43: %s was removed %s after %d were lost together", v.uid, w.now.Sub(v.lost), lost)
	}
	for _, at := range w.outs {
		if w.now.Sub(at) < lossFor {
			w.fail("S-43: two machines of a loss of %d were removed within %s", lost, w.now.Sub(at))
		}
	}
	w.outs = append(w.outs, w.now)
	w.say("%s of a loss of %d removed", v.uid, lost)
}

// sound holds that what is true is possible in both ledgers.
func (w *world) sound() {
	for i, l := range w.ledgers {
		view := l.At(w.now)
		for _, v := range w.sorted() {
			told := w.read[i]
			if v.alive() {
				told = min(told, v.shown[i])
			}
			truth := fleettest.Truth{State: v.state, Changed: v.changed, Own: v.by == i, Reported: told}
			may := view.May(pool, v.uid)
			if may == 0 || truth.Sound(may, w.now, fleet.Usual()) {
				continue
			}
			w.fail("soundness: machine %s is %04b, ledger %d holds %04b possible", v.uid, v.state, i, may)
		}
	}
}

// calm lets the cloud tell the truth each minute for so long, to one process that leads.
func (w *world) calm(d time.Duration) {
	for until := w.now.Add(d); w.now < until; {
		w.pass(time.Minute)
		w.now++
		o := fleet.Listed{Group: pool, Asked: w.now, Counted: true, Capacity: w.capacity, Whole: true, Machines: w.past[len(w.past)-1].machines}
		w.ledgers[0] = w.ledgers[0].Observe(w.now, o)
		w.ledgers[0], _, _ = w.ledgers[0].Merge(w.record, w.now)
		w.record = w.ledgers[0].Record(w.now)
	}
}

// live holds that nothing is refused for good: after an hour and a half in which all goes well, and a person who knows of the losses, each
// idle node may go, each lost machine and each that never became a node, each Node object without a machine; those that are off may be
// started, and the group may grow.
func (w *world) live() {
	w.calm(90 * time.Minute)
	w.ledgers[0] = w.ledgers[0].Observe(w.now, fleet.Acknowledged{Group: pool, At: w.now})
	w.calm(2 * time.Minute)
	view, lim := w.ledgers[0].At(w.now), allowed
	lim.Unregistered = 1000
	to := max(w.capacity, w.alive()) + 1
	if r := view.MayGrow(pool, to, 1, lim); r != nil && to <= highest {
		w.fail("liveness: no growth to %d: %+v %+v", to, *r, view.Bounds(pool))
	}
	ready := 0
	for _, v := range w.vms {
		if v.ready() {
			ready++
		}
	}
	for _, v := range w.sorted() {
		var r *fleet.Refusal
		var kind string
		switch {
		case v.state == fleet.Gone && v.object && v.joined:
			kind, r = "its Node object", view.MayDeleteNode(pool, v.uid)
		case v.state == fleet.Gone:
			continue
		case v.state == fleet.IsOff:
			if kind = "off"; w.alive() < highest {
				r = view.MayStart(pool, []fleet.UID{v.uid}, lim)
			}
		case v.ready() && (v.work || ready <= lowest):
			continue
		default:
			if kind = "not a node"; v.ready() {
				kind = "idle"
			}
			r = view.MayRemove(pool, fleet.Delete, []fleet.Target{{UID: v.uid, ID: v.id, Idle: !v.work}}, lim)
			if r != nil && (r.Code == reason.GroupMinMachines || r.Code == reason.GroupMinReady) {
				r = nil
			}
		}
		w.counts["lives: "+kind]++
		if r != nil {
			w.fail("liveness: %s, %s: %+v", v.uid, kind, *r)
		}
	}
}
