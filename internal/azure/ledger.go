package azure

import (
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// asked are the instants by which the ledger knows what one write asks for; zero for what it does not.
type asked struct {
	growth   fleet.Instant // of machines that are made
	machines fleet.Instant // of those that are started, deleted or switched off
}

// with is the same with another growth.
func (a asked) with(growth fleet.Instant) asked { return asked{growth, a.machines} }

// tellListed tells the ledger what a read says, and nothing of what this process makes of it.
func (s *state) tellListed(g *group, r *reading) {
	if r.model.unfit != "" {
		return
	}
	_, pool := r.model.kind.(intentRecorder)
	o := fleet.Listed{Group: fleet.GroupID(g.id), Asked: r.asked, Counted: !pool, Capacity: r.model.capacity, Whole: r.whole, Machines: make([]fleet.Sighted, 0, len(r.machines))}
	for _, m := range r.machines {
		if m.uid == "" {
			o.Whole = false
			continue
		}
		o.Machines = append(o.Machines, fleet.Sighted{UID: fleet.UID(m.uid), ID: m.id, State: m.sighted(), Created: fleet.At(m.created)})
	}
	s.options.Ledger.Observe(o)
}

// beyond is what is known of a machine that a list may not show.
type beyond struct {
	does   verb      // what Azure has taken on to do to it; "" for nothing
	ours   bool      // because this program asked for it
	up     time.Time // when it was started last; zero where it runs since it was made
	absent bool      // the last complete list lacks it
}

// beyond is what is known of a group's machines beyond lists, by UID: by the ledger, and by the operations that are under way. state.mu is held.
func (s *state) beyond(g *group) map[string]beyond {
	known := map[string]beyond{}
	for _, m := range s.options.Ledger.Ledger().Beyond(fleet.GroupID(g.id)) {
		b := beyond{ours: m.Asked, up: m.Up.Time(), absent: m.Absent}
		switch m.Does {
		case fleet.Delete:
			b.does = verbDelete
		case fleet.Park:
			b.does = verbParked
		case fleet.Start:
			b.does = verbStart
		}
		known[string(m.UID)] = b
	}
	for _, o := range s.operations {
		if o.Group != g.id || o.failed {
			continue
		}
		for _, m := range o.Named {
			uid := strings.ToLower(m.UID)
			b := known[uid]
			b.does, b.ours = o.Verb, true
			known[uid] = b
		}
	}
	return known
}

// sighted is the machine's state as the ledger has it.
func (m *machine) sighted() fleet.State {
	switch {
	case m.leaving():
		return fleet.Deleting
	case m.off():
		return fleet.Off
	case m.state == cluster.StateFailed:
		return fleet.Failed
	case m.state == cluster.StateCreating:
		return fleet.Creating
	}
	return fleet.Running
}

// tellGrowth tells the ledger of a growth that is about to be sent: of so many machines to the capacity, and by parked machines that are started. state.mu
// is held.
func (s *state) tellGrowth(g *group, capacity, makes int, started []cluster.Machine) (a asked) {
	if makes > 0 {
		if k, ok := g.reading.model.kind.(intentRecorder); ok {
			g.writing.ahead = k.recordIntent(g.name, capacity)
		}
		a.growth = s.options.Ledger.Instant()
		s.options.Ledger.Observe(fleet.Asked{Group: fleet.GroupID(g.id), At: a.growth, Verb: fleet.Grow, From: g.reading.model.capacity, To: capacity, Token: g.writing.ahead})
	}
	if len(started) > 0 {
		a.machines = s.options.Ledger.Instant()
		s.options.Ledger.Observe(fleet.Asked{Group: fleet.GroupID(g.id), At: a.machines, Verb: fleet.Start, Machines: uids(started)})
	}
	return a
}

// tellRemoval tells the ledger of machines that are about to be deleted or switched off.
func (s *state) tellRemoval(id cluster.GroupID, does verb, named []cluster.Machine) asked {
	a := asked{machines: s.options.Ledger.Instant()}
	o := fleet.Asked{Group: fleet.GroupID(id), At: a.machines, Verb: fleet.Delete, Machines: uids(named)}
	if does == verbPark {
		o.Verb = fleet.Park
	}
	s.options.Ledger.Observe(o)
	return a
}

// tellAnswer tells the ledger what became of a write; of one that it does not know, nothing.
func (s *state) tellAnswer(id cluster.GroupID, asked fleet.Instant, answer fleet.Reply) {
	if asked != 0 {
		s.options.Ledger.Observe(fleet.Answered{Group: fleet.GroupID(id), Asked: asked, At: s.options.Ledger.Instant(), Answer: answer})
	}
}

// tellRefusal is [state.tellAnswer] for a write that Azure has refused. One after which nobody knows whether it took effect has no answer.
func (s *state) tellRefusal(id cluster.GroupID, asked fleet.Instant, refusal *cloud.Error) {
	if !outcomeUnknown(refusal) && refusal.Kind != cloud.Transient {
		s.tellAnswer(id, asked, fleet.Refused)
	}
}

// tellConflict is [state.tellRefusal] for a write that names machines: what it conflicts with may be its own first arrival, which was carried out.
func (s *state) tellConflict(id cluster.GroupID, asked fleet.Instant, refusal *cloud.Error) {
	if refusal.Kind != cloud.Conflict {
		s.tellRefusal(id, asked, refusal)
	}
}

// tellUnsent tells the ledger that nothing was sent.
func (s *state) tellUnsent(id cluster.GroupID, a asked) {
	s.tellAnswer(id, a.growth, fleet.Refused)
	s.tellAnswer(id, a.machines, fleet.Refused)
}

// tellTaken tells the ledger which of the machines that a write names Azure has taken on.
func (s *state) tellTaken(id cluster.GroupID, asked fleet.Instant, taken []cluster.Machine) {
	if asked == 0 {
		return
	}
	s.options.Ledger.Observe(fleet.Answered{Group: fleet.GroupID(id), Asked: asked, At: s.options.Ledger.Instant(), Answer: fleet.Accepted, Machines: uids(taken)})
}

// tellAbsent tells the ledger that there is no machine of this id any more, as the answer to a write says. state.mu is held.
func (s *state) tellAbsent(g *group, id string) {
	if g.reading == nil {
		return
	}
	for _, m := range g.reading.machines {
		if m.id == id {
			s.options.Ledger.Observe(fleet.Answered{Group: fleet.GroupID(g.id), At: s.options.Ledger.Instant(), Absent: []fleet.UID{fleet.UID(m.uid)}})
		}
	}
	s.showAgain(g)
}

// uids are the unique ids of machines, in lower case as the ledger has them.
func uids(all []cluster.Machine) []fleet.UID {
	out := make([]fleet.UID, len(all))
	for i, m := range all {
		out[i] = fleet.UID(m.UID)
	}
	return out
}
