package plan

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// noticeFailures turns what the cloud reported after it had accepted a growth into back-offs, once for each failure (S-33), and
// finds for every group why it may not grow.
func (d *decision) noticeFailures() {
	d.noticeNodeless()
	for _, g := range d.s.Groups {
		m, failures := d.m.Groups[g.ID], 0
		for _, f := range d.failuresOf(g) {
			if !f.At.After(m.Noticed) {
				continue
			}
			m.Noticed = f.At
			failures++
			f.At = d.now
			m.Backoff = m.Backoff.failed(f, g.Capacity-len(d.groups[g.ID].faulty), max(m.Capacity, g.Capacity), d.allowed)
		}
		if failures > 0 {
			d.remember(g.ID, m)
		}
		d.groups[g.ID].blocked = d.blockedBy(g, m)
	}
}

// failuresOf are the failures of a group's operations and machines. A machine that never joined failed when its time ran out.
func (d *decision) failuresOf(g *cluster.Group) []cluster.Failure {
	var fs []cluster.Failure
	if g.Failure != nil {
		fs = append(fs, *g.Failure)
	}
	st := d.groups[g.ID]
	for _, in := range st.faulty {
		if in.Failure != nil {
			fs = append(fs, *in.Failure)
		}
	}
	for _, in := range st.nodeless {
		if in.State.Expected() && d.overdue(in) && d.suspect(in) == nil && d.s.Stray(in.ComputerName) == nil {
			why := d.neverJoined(reason.Instance(string(g.ID), string(in.ID)), in)
			fs = append(fs, cluster.Failure{At: d.m.Nodeless[in.UID].Add(d.allowed.Growth.Provision), Code: "NeverJoined", Message: why.Sentence()})
		}
	}
	return fs
}

func (d *decision) blockedBy(g *cluster.Group, m GroupMemory) *reason.Reason {
	about := reason.Group(string(g.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	switch {
	case g.Problem != "":
		return because(reason.New(reason.GroupUnreadable, about, "message", g.Problem))
	case !d.groups[g.ID].Usable():
		return because(reason.New(reason.GroupIncomplete, about))
	case m.Backoff.Until.After(d.now) && m.Backoff.Ceiling <= d.believed(d.groups[g.ID]):
		return because(d.backingOff(g.ID, m.Backoff))
	case g.Template == nil:
		return because(reason.New(reason.GroupNoTemplate, about, "size", g.Size, "remedy", g.Remedy))
	}
	return nil
}

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (d *decision) backingOff(id cluster.GroupID, b Backoff) reason.Reason {
	d.wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}

// noticeNodeless remembers since when machines have been without a node. It is not their age: a machine that has been a node for
// long and lost its Node object has as much time to come back as a new one. While a group's list is not whole nobody's time runs
// out for having left the list.
func (d *decision) noticeNodeless() {
	nodeless, changed := 0, false
	for _, g := range d.s.Groups {
		for _, in := range d.groups[g.ID].nodeless {
			if in.State.Expected() {
				nodeless++
				_, known := d.m.Nodeless[in.UID]
				changed = changed || !known
			}
		}
	}
	if !changed && nodeless == len(d.m.Nodeless) {
		return
	}
	was := d.m.Nodeless
	d.m.Nodeless = make(map[string]time.Time, nodeless)
	for _, g := range d.s.Groups {
		for _, in := range d.groups[g.ID].nodeless {
			if !in.State.Expected() {
				continue
			}
			since, known := was[in.UID]
			if !known {
				since = d.now
			}
			d.m.Nodeless[in.UID] = since
		}
	}
}
