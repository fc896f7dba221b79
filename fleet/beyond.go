package fleet

// Beyond is what is known of a machine that the newest list may not show.
type Beyond struct {
	UID    UID
	Does   Verb    // Delete: it leaves, as the cloud said; Park, Start: the cloud took that on a moment ago; NoVerb for none of these
	Asked  bool    // sluice asked for that
	Up     Instant // when it was started last; never where it runs since it was made
	Absent bool    // the newest whole list lacks it
}

// Beyond are the machines of a group of which more is known than a list shows, sorted by UID.
func (l Ledger) Beyond(id GroupID) (all []Beyond) {
	g := l.groups[id]
	if g == nil {
		return nil
	}
	for i := range g.machines {
		m := &g.machines[i]
		c := &m.cloud
		b := Beyond{UID: m.uid, Absent: c.Absent != 0}
		taken := c.Reply == Accepted || c.Reply == Done
		switch {
		case c.Gone != 0 || c.leaves() || c.pending(Delete) && taken:
			b.Does, b.Asked = Delete, c.Verb == Delete
		case (c.pending(Park) || c.pending(Start)) && taken:
			b.Does, b.Asked = c.Verb, true
		}
		if c.Up != c.Created {
			b.Up = c.Up
		}
		if b.Does != NoVerb || b.Up != 0 || b.Absent {
			all = append(all, b)
		}
	}
	return all
}

// Grown is the largest capacity that the group was asked for and that a list may not show yet, and when it was asked for; 0 for none.
func (l Ledger) Grown(id GroupID) (to int, at Instant) {
	if g := l.groups[id]; g != nil {
		for _, r := range g.grants {
			if r.counts() && r.To > to {
				to, at = r.To, r.At
			}
		}
	}
	return to, at
}

// Taken counts the machines of a group that lists have had, and had no more or as leaving for the first time since then, though sluice did
// not ask for it; and when that was seen of the first and of the last of them.
func (l Ledger) Taken(id GroupID, since Instant) (n int, first, last Instant) {
	g := l.groups[id]
	if g == nil {
		return 0, 0, 0
	}
	for i := range g.machines {
		c := &g.machines[i].cloud
		at := c.Absent
		if c.leaves() {
			at = c.Word
		}
		if at < max(since, 1) || at <= c.Turned || c.pending(Delete) || c.State == Unlisted {
			continue
		}
		n++
		first, last = earliest(first, at), max(last, at)
	}
	return n, first, last
}
