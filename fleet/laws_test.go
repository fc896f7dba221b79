package fleet_test

import (
	"fmt"
	"slices"

	"sluice.dev/sluice/fleet"
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
			w.together(v)
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
			may := view.May(pool, v.uid)
			if may == 0 || may.Has(v.state) || w.now.Sub(v.changed) < noticed || v.state == fleet.Leaving && may == fleet.Gone {
				continue
			}
			if told := w.read[i]; v.by != i && (told < v.changed.Add(stale) || v.alive() && v.shown[i] < v.changed.Add(stale)) {
				continue // by another hand than this process's, and no list can have told of it for certain
			}
			w.fail("soundness: machine %s is %04b, ledger %d holds %04b possible", v.uid, v.state, i, may)
		}
	}
}
