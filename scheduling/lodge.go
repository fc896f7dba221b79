package scheduling

import (
	"slices"

	"sluice.dev/sluice/cluster"
)

// Most pods that wait keep their places from cycle to cycle. Those that mind nobody and whom nobody minds can stand on their nodes from one
// snapshot to the next, as pods do that run there: they are lodgers. Whether such a pod has room where it was depends on that node alone. So it
// need not be asked about for as long as the node is as it was, and gives its place up in the snapshot in which the node is another one.
//
// Lodgers stand below all what-ifs. On their nodes they are entries without a pod.

// Lodger is pods of one class, with the places that they had after the last snapshot.
type Lodger struct {
	Of    *cluster.Class
	Pods  int    // that there are now
	Seats []Seat // where [Row.Keep] will be asked to place them; see [Seat.Held]
}

// Lodge has these pods stand on the seats that they held, as far as that is certain to be what [Row.Keep] finds, and nobody else: whoever stood
// until now and is not named stands no longer. A class is named once, and no pods may have been placed since the snapshot came.
//
// All that stands on a node had room there together. Whoever is placed on it before all lodgers and their like were kept must have had his room
// with them.
func (c *Checker) Lodge(all []Lodger) {
	for i := range all {
		c.current(c.class(all[i].Of)) // who shares claims with whom is known of all before the first is looked at
	}
	for i := range all {
		l := &all[i]
		cl := c.class(l.Of)
		cl.lodging = c.snapshots
		c.resettle(cl, c.standing(cl, l))
		cl.unkept = cl.provided != nil
	}
	kept := c.lodgers[:0]
	for _, cl := range c.lodgers {
		if cl.lodging != c.snapshots {
			c.resettle(cl, nil)
		}
		if cl.listed = len(cl.lodged) > 0; cl.listed {
			kept = append(kept, cl)
		}
	}
	clear(c.lodgers[len(kept):])
	c.lodgers = kept
}

// Lodged is how many pods stand.
func (c *Checker) Lodged() int {
	n := 0
	for _, cl := range c.lodgers {
		for _, s := range cl.lodged {
			n += s.Pods
		}
	}
	return n
}

// standing are the seats that the lodgers stand on now, and notes it on them.
func (c *Checker) standing(cl *class, l *Lodger) []Seat {
	all := c.moving[:0]
	if c.lodges(cl, l) {
		for i := range l.Seats {
			s := &l.Seats[i]
			at := &c.slots[s.On]
			if s.stands = s.Held && s.On < c.founded && at.present && at.turned != c.snapshots; s.stands {
				all = append(all, *s)
			}
		}
	}
	c.moving = all
	return all
}

// lodges says whether pods of the class can be lodgers.
func (c *Checker) lodges(cl *class, l *Lodger) bool {
	if len(c.nominated) > 0 || len(cl.owns)+len(cl.spec.ports) > 0 {
		return false
	}
	if c.current(cl); slices.ContainsFunc(cl.hits, func(s *selector) bool { return len(s.counters)+len(s.owners) > 0 }) {
		return false
	}
	if len(cl.mounts) > 0 {
		return c.owns(cl, l)
	}
	return !c.minds(c.kind(cl))
}

// owns says whether the one pod of the class has its claims to itself, which wait for it and are given a volume wherever it goes.
func (c *Checker) owns(cl *class, l *Lodger) bool {
	if l.Pods != 1 || len(l.Seats) != 1 || l.Seats[0].Pods != 1 || slices.ContainsFunc(cl.mounts, func(claim string) bool { return c.mounters[claim] > 1 }) {
		return false
	}
	if cl.provided != nil {
		return true // it was found out when it came to stand, and depends on storage alone
	}
	if k := c.kind(cl); k.depends() || k.devices != nil || k.volumes == nil || k.volumes != cl.twin {
		return false
	}
	return !slices.ContainsFunc(cl.mounts, func(key string) bool {
		claim := c.storage.claim(key)
		return claim == nil || claim.Spec.VolumeName != "" || !c.storage.makes(claim)
	})
}

// resettle has pods of the class stand on these seats and no others. Both lists are mostly in one order, with gaps where nodes changed.
func (c *Checker) resettle(cl *class, now []Seat) {
	at, changed := 0, false
	for _, s := range cl.lodged {
		if at < len(now) && s.alike(now[at]) {
			at++
			continue
		}
		changed = true
		next := slices.IndexFunc(now[at:], s.alike)
		if next < 0 {
			c.moveOut(cl, s)
			continue
		}
		for _, come := range now[at : at+next] {
			c.moveIn(cl, come)
		}
		at += next + 1
	}
	for _, s := range now[at:] {
		changed = true
		c.moveIn(cl, s)
	}
	if changed {
		cl.lodged = append(cl.lodged[:0], now...)
	}
	if len(now) > 0 && !cl.listed {
		cl.listed = true
		c.lodgers = append(c.lodgers, cl)
	}
}

func (s Seat) alike(o Seat) bool { return s.On == o.On && s.Pods == o.Pods }

// moveIn has pods of the class stand on the seat.
func (c *Checker) moveIn(cl *class, s Seat) {
	c.columns()
	e := entry{class: cl.id, n: int32(s.Pods)}
	at := &c.slots[s.On]
	at.pods = append(at.pods, e)
	c.count(s.On, &e, e.n)
	if len(cl.mounts) > 0 {
		cl.provided = c.provide(cl, s.On)
	}
}

// moveOut takes pods of the class off the seat. The node may not be present.
func (c *Checker) moveOut(cl *class, s Seat) {
	e := entry{class: cl.id, n: int32(s.Pods)}
	at := &c.slots[s.On]
	i := slices.Index(at.pods, e)
	at.pods = slices.Concat(at.pods[:i], at.pods[i+1:])
	if at.present {
		c.count(s.On, &e, -e.n)
	}
	if cl.provided != nil {
		c.unprovide(cl.provided)
		cl.provided, cl.unkept = nil, false
	}
}

// giveUp takes pods of the class off a seat that they stand on, while other pods are being placed.
func (c *Checker) giveUp(cl *class, s Seat) {
	c.moveOut(cl, s)
	i := slices.IndexFunc(cl.lodged, s.alike)
	cl.lodged = slices.Delete(cl.lodged, i, i+1)
	c.last++
	c.loosened = c.last
}

// vacate has nobody stand on the node any more. There are no what-ifs.
func (c *Checker) vacate(h Handle) {
	for i := len(c.slots[h].pods) - 1; i >= 0; i-- {
		if e := c.slots[h].pods[i]; e.pod == nil {
			cl := c.classes[e.class]
			c.giveUp(cl, Seat{On: h, Pods: int(e.n)})
			i = len(c.slots[h].pods)
		}
	}
}

// disown has nobody stand who has claims: what is known of these is given up.
func (c *Checker) disown() {
	for _, cl := range c.lodgers {
		if cl.provided != nil {
			c.resettle(cl, nil)
		}
	}
}
