package grow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling"
)

// machines are those that are being added, in the order in which pods are placed on them.
type machines struct {
	open []*machine
	by   map[scheduling.Handle]*machine
	row  *scheduling.Row
}

func (d *Growth) machines(open []*machine) *machines {
	ms := &machines{by: make(map[scheduling.Handle]*machine, len(open)), row: d.Check.Row()}
	for _, m := range open {
		ms.add(m)
	}
	return ms
}

func (ms *machines) add(more ...*machine) {
	for _, m := range more {
		ms.open = append(ms.open, m)
		ms.by[m.handle] = m
		ms.row.Append(m.handle)
	}
}

// fill places pods of the demand on machines that take them.
func (d *Growth) fill(ms *machines, w *wanted) int {
	return ms.row.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { d.granted(ms.by[h], w, n) })
}

// settle shows the pods that mind each other to the checker: first on the machines that were meant for them; then whoever is left on all
// nodes and on further machines, as long as a group may add some and one of them takes such a pod. Machines on which nobody was let stay
// are given up. All of it is tried again until nothing changes: every pod that finds a place, and every empty machine that goes, may be what
// another one waited for.
func (d *Growth) settle(c *Candidates, b *mix, open []*machine) {
	if !c.tells() {
		return
	}
	ms := d.machines(open)
	for _, m := range open {
		for _, p := range m.meant {
			d.Check.Row(m.handle).Fill(p.Of, min(p.n, p.Left()), func(_ scheduling.Handle, n int) { d.granted(m, p.wanted, n) })
		}
	}
	for again := true; again; {
		again = d.fillKnown(c)
		for _, w := range c.wanted {
			if w.Left() > 0 && d.fill(ms, w) > 0 {
				again = true
			}
			for w.Left() > 0 {
				more := d.further(c, b, w)
				if len(more) == 0 {
					break
				}
				again = true
				ms.add(more...)
				d.fill(ms, w)
			}
		}
		again = d.closeEmpty(c, ms) || again
	}
}

// fillKnown places pods that mind others on nodes that are there or coming, and says whether any found a place.
func (d *Growth) fillKnown(c *Candidates) bool {
	placed := 0
	for _, w := range c.wanted {
		if w.depends && w.Left() > 0 {
			placed += d.There.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { d.PlaceThere(w.Demand, h, n) })
			placed += d.Coming.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { d.PlaceComing(w.Demand, h, n) })
		}
	}
	return placed > 0
}

// closeEmpty gives up machines on which nobody was let stay, and says whether there were any. Those stay whose daemons may be why a pod was
// let onto another node, and those of a group that spans zones after which the turn of another one's zone comes.
func (d *Growth) closeEmpty(c *Candidates, ms *machines) bool {
	closed := map[*machine]bool{}
	for _, m := range slices.Backward(ms.open) {
		if m.pods > 0 || m.zone != "" && !m.last() || d.heeded(c, m) {
			continue
		}
		closed[m] = true
		name := d.Check.Name(m.handle)
		d.Check.Remove(name)
		if d.Witness != nil {
			d.Witness.Closes(name)
		}
		m.of.Adding--
		d.ceilings.Take(m.of.Group, -1)
		if m.zone != "" {
			m.of.Opened--
			m.of.fresh = m.of.fresh[:len(m.of.fresh)-1]
		}
	}
	ms.open = slices.DeleteFunc(ms.open, func(m *machine) bool { return closed[m] })
	return len(closed) > 0
}

// heeded says whether a pod that is wanted looks for the daemons of the machine, by affinity or spread. In which namespaces it looks is left
// open.
func (d *Growth) heeded(c *Candidates, m *machine) bool {
	daemons := d.Check.Pods(d.Check.Name(m.handle))
	if len(daemons) == 0 {
		return false
	}
	return slices.ContainsFunc(c.wanted, func(w *wanted) bool {
		return w.depends && slices.ContainsFunc(soughtBy(w.Of.Spec), func(sought *metav1.LabelSelector) bool {
			selector, err := metav1.LabelSelectorAsSelector(sought)
			return err == nil && slices.ContainsFunc(daemons, func(p *cluster.Pod) bool { return selector.Matches(labels.Set(p.Labels)) })
		})
	})
}

// soughtBy are the selectors of pods that such a pod must be near to or spread with.
func soughtBy(spec *corev1.PodSpec) []*metav1.LabelSelector {
	var all []*metav1.LabelSelector
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			all = append(all, t.LabelSelector)
		}
	}
	for _, t := range spec.TopologySpreadConstraints {
		all = append(all, t.LabelSelector)
	}
	return all
}
