package grow

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// NoticeFailures turns what the cloud reported after it had accepted a growth into back-offs, once for each failure (S-33), and
// finds for every group why it may not grow.
func (d *Growth) NoticeFailures() {
	if d.Memory.Since.IsZero() {
		d.Memory.Since = d.Now
	}
	d.LearnBoots()
	d.NoticeLost()
	d.NoticeRestarts()
	late := d.unready()
	for _, g := range d.Snapshot.Groups {
		m, failures := d.Memory.Groups[g.ID], 0
		unjoined, unready := d.Unjoined(d.Groups[g.ID].GroupFacts), late[g.ID]
		if b := d.turnBreaker(m.Breaker, d.Groups[g.ID], unjoined, unready); !b.Equal(m.Breaker) {
			m.Breaker = b
			d.Remember(g.ID, m)
		}
		for _, f := range d.failuresOf(g, unjoined, unready) {
			if !f.At.After(m.Noticed) {
				continue
			}
			m.Noticed = f.At
			failures++
			f.At = d.Now
			if f.Rest > 0 {
				m.Backoff = m.Backoff.Brief(f)
				continue
			}
			m.Backoff = m.Backoff.Failed(f, g.Capacity-len(d.Groups[g.ID].Faulty), max(m.Capacity, g.Capacity), d.Policy)
		}
		if failures > 0 {
			d.Remember(g.ID, m)
		}
		d.Groups[g.ID].Blocked = d.blockedBy(g, m)
	}
}

// failuresOf are the failures of a group's operations and machines. A machine that never joined, or whose node is not Ready, failed when its time ran out;
// one that is lost says nothing of the next ones.
func (d *Growth) failuresOf(g *cluster.Group, unjoined []*cluster.Instance, unready []*cluster.Node) []cluster.Failure {
	var fs []cluster.Failure
	if g.Failure != nil {
		fs = append(fs, *g.Failure)
	}
	st := d.Groups[g.ID]
	for _, in := range st.Faulty {
		if in.Failure != nil {
			fs = append(fs, *in.Failure)
		}
	}
	for _, in := range unjoined {
		why := d.NeverJoined(reason.Instance(string(g.ID), string(in.ID)), in)
		fs = append(fs, cluster.Failure{At: d.Waits(in).Add(d.Policy.Growth.Provision), Code: "NeverJoined", Message: why.Sentence()})
	}
	for _, n := range unready {
		why := reason.New(reason.NodeNeverReady, reason.Node(n.Name()), "node", n.Name(), "age", d.Now.Sub(n.Object.CreationTimestamp.Time).Truncate(time.Second), "limit", d.Policy.Growth.Startup)
		fs = append(fs, cluster.Failure{At: d.Policy.Growth.Due(n.Object), Code: string(reason.NodeNeverReady), Message: why.Sentence()})
	}
	return fs
}

func (d *Growth) blockedBy(g *cluster.Group, m memory.GroupMemory) *reason.Reason {
	about := reason.Group(string(g.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	proof, strays := g.Contradicts(d.Memo.Doubtful), d.strays(d.Groups[g.ID])
	switch {
	case g.AwaitsAnswer():
		return because(reason.New(reason.GroupAsked, about, "capacity", g.Asked))
	case g.Problem != "":
		return because(reason.New(reason.GroupUnreadable, about, readAgain(g, "message", g.Problem)...))
	case !d.Groups[g.ID].Usable():
		return because(reason.New(reason.GroupIncomplete, about, readAgain(g)...))
	case proof != nil:
		return because(reason.New(reason.GroupContradicted, about, "node", proof.Name()))
	case !g.Deleted.IsZero():
		return because(reason.New(reason.GroupDeleted, about, "since", g.Deleted.Format(time.RFC3339)))
	case d.Groups[g.ID].Paused != nil:
		return d.Groups[g.ID].Paused
	case d.Groups[g.ID].Servers:
		return because(d.Controlled(g.ID))
	case m.Backoff.Until.After(d.Now) && m.Backoff.Ceiling <= d.Believed(d.Groups[g.ID].GroupFacts):
		return because(d.backingOff(g.ID, m.Backoff))
	case strays != nil:
		return strays
	case g.Template == nil:
		return because(reason.New(reason.GroupNoTemplate, about, "size", g.Size, "remedy", g.Remedy))
	}
	return nil
}

// readAgain are the facts, and when the group is read again where that is known.
func readAgain(g *cluster.Group, facts ...any) []any {
	if g.Again.IsZero() {
		return append(facts, "next", "")
	}
	until := g.Again.Format(time.RFC3339)
	return append(facts, "until", until, "next", "; it is read again at "+until)
}

// backingOff says until when and why a group does not grow, or not beyond what is left of a quota.
func (d *Growth) backingOff(id cluster.GroupID, b memory.Backoff) reason.Reason {
	d.Wake(b.Until)
	return reason.New(reason.GroupBackoff, reason.Group(string(id)), "until", b.Until.Format(time.RFC3339), "code", b.Code, "message", b.Message)
}
