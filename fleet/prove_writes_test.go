package fleet_test

import (
	"fmt"
	"slices"
	"time"

	"sluice.dev/sluice/fleet"
)

func (w *earth) limits() fleet.Limits {
	return fleet.Limits{Min: w.min, Max: w.max, Owned: true, Age: noticed, LostFor: lostFor, WorkFor: workFor}
}

// targets are machines as a caller names them: by what the last list and its nodes say.
func (m *moment) targets(all []int) (targets []fleet.Target) {
	for _, i := range all {
		b := &m.boxes[i]
		targets = append(targets, fleet.Target{UID: slotUID[i], ID: slotID[i], Idle: b.reports() && !b.work})
	}
	return targets
}

// write has a process take in the record, ask, write the record and send, if it may.
func (m *moment) write(e event, p int) bool {
	news := m.merge(p)
	asked, fate := fleet.Asked{Group: pool, At: m.now}, int(e.arg)
	var all []int
	var may *fleet.Refusal
	view := m.ps[p].At(m.now)
	if e.kind == growth {
		asked.Verb, asked.To, fate = fleet.Grow, fate/fates, fate%fates
		if m.uncounted {
			asked.From = view.Bounds(pool).Stay
			asked.To, asked.Token = asked.From+1, fmt.Sprint(m.now)
		}
		if m.growing > 0 {
			return false
		}
		may = view.MayGrow(pool, asked.To, 1, m.limits())
	} else {
		all = []int{int(e.box)}
		if e.kind == both {
			all = append(all, (int(e.box)+1)%m.earth.boxes)
		}
		for _, i := range all {
			asked.Machines = append(asked.Machines, slotUID[i])
			if m.boxes[i].state == 0 {
				return false
			}
		}
		switch e.kind {
		case starting:
			asked.Verb = fleet.Start
			may = view.MayStart(pool, asked.Machines, m.limits())
		case parking:
			asked.Verb = fleet.Park
			may = view.MayRemove(pool, fleet.Park, m.targets(all), m.limits())
		default:
			asked.Verb = fleet.Delete
			may = view.MayRemove(pool, fleet.Delete, m.targets(all), m.limits())
		}
	}
	if may != nil {
		m.refused = true
		return false
	}
	if news {
		return true // nothing may be sent; another try asks anew
	}
	m.evidence(p, asked.Verb)
	if asked.Verb == fleet.Delete || asked.Verb == fleet.Park {
		for _, i := range all {
			if b := &m.boxes[i]; !b.ready() || b.work {
				asked.Charge = append(asked.Charge, slotUID[i])
			}
		}
	}
	ps := &m.ps[p]
	ps.Ledger, ps.wrote = ps.Observe(m.now, asked), m.now
	m.save(p)
	if e.kind == growth {
		m.grow(p, asked, fate)
	} else {
		m.judge(p, asked.Verb, all)
		for _, i := range all {
			m.send(i, p, asked, fate)
		}
	}
	answer := fleet.Answered{Group: pool, Asked: asked.At, At: m.now, Answer: fleet.Accepted}
	switch fate {
	case done:
		answer.Answer = fleet.Done
	case refused:
		answer.Answer = fleet.Refused
	case unsent, unknownWrite:
		return true
	}
	m.hear(p, answer)
	return true
}

// send has the cloud do what was asked, if it heard.
func (m *moment) send(i, p int, asked fleet.Asked, fate int) {
	b := &m.boxes[i]
	if fate >= unsent && (asked.Verb != fleet.Park || b.state == fleet.Here) {
		b.unsure, b.unsureAt = asked.Verb, m.now
	}
	if fate == refused || fate == unsent {
		return
	}
	to := map[fleet.Verb]fleet.Set{fleet.Delete: fleet.Leaving, fleet.Park: fleet.IsOff, fleet.Start: fleet.Here}[asked.Verb]
	if !b.alive() || b.state == to {
		if b.op == asked.Verb && fate != unknownWrite {
			b.opBy, b.opAt, b.heard = int8(p), asked.At, true
		}
		if fate == done && b.op == fleet.Delete {
			b.op = fleet.NoVerb
			m.become(i, fleet.Gone, p)
		}
		return
	}
	if asked.Verb != fleet.Start && b.lost != 0 {
		b.out = m.now
	}
	if asked.Verb != fleet.Start && (!b.ready() || b.work) {
		b.charged = m.now
	}
	b.wanted = asked.Verb != fleet.Start
	hand := p
	if m.young(p, b) {
		hand = -1
	}
	if asked.Verb != fleet.Park {
		m.become(i, to, hand)
	}
	b.op, b.opBy, b.opAt, b.heard = asked.Verb, int8(p), asked.At, fate != unknownWrite
	if fate == done {
		m.end(i, succeedsAlone)
	}
}

// grow has the cloud make machines, at once or, where it only accepts, later.
func (m *moment) grow(p int, asked fleet.Asked, fate int) {
	alive := m.count((*box).alive)
	live := m.count(func(b *box) bool { return b.alive() && b.by >= 0 || b.alive() && m.settled(p, b) })
	to := asked.To
	switch {
	case m.uncounted:
		to = alive + 1
		if hidden := m.count(func(b *box) bool {
			asked := b.unsure == fleet.Delete && b.shown[p] < b.unsureAt.Add(stale)
			return b.alive() && b.told[p] == fleet.Unlisted && b.shown[p] != 0 && !asked
		}); hidden > 0 {
			m.fail("S-04: a machine is made while %d are hidden", hidden)
		}
	case to < live && m.now.Sub(m.forgot) >= stale:
		m.fail("S-01: asked for %d, there are %d", to, live)
	case to <= m.ps[p].capacity:
		m.fail("S-05: asked for %d, the cloud says %d", to, m.ps[p].capacity)
	}
	here := m.count(func(b *box) bool { return b.state == fleet.Here && (b.by >= 0 || m.settled(p, b)) })
	off := m.count(func(b *box) bool { return b.state == fleet.IsOff || b.alive() && m.young(p, b) })
	if run := max(here, to-off); (m.uncounted && here+1 > m.max || !m.uncounted && run > m.max) && m.now.Sub(m.forgot) >= stale {
		m.fail("S-06: %d would run, of %d at most", run, m.max)
	}
	switch fate {
	case accepted, unknownWrite:
		m.growing, m.growBy, m.growAt = to, int8(p), asked.At
	case done:
		m.fill(to, p, asked.At)
	}
}

// fill has the cloud make machines until there are so many.
func (m *moment) fill(to, by int, asked fleet.Instant) {
	for m.count((*box).alive) < to && m.make(by, asked) {
	}
	m.growing = 0
	if to > m.capacity {
		m.resize(to)
	}
}

// evidence judges what a write rests on.
func (m *moment) evidence(p int, verb fleet.Verb) {
	switch ps := &m.ps[p]; {
	case ps.read == 0 || ps.read < ps.began:
		m.fail("S-02: verb %d without a list", verb)
	case !ps.whole:
		m.fail("S-02: verb %d on a list that is not whole", verb)
	case ps.read <= ps.wrote:
		m.fail("S-02: verb %d on a list from before the last write", verb)
	case m.now.Sub(ps.read) > noticed:
		m.fail("S-02: verb %d on a list that is %s old", verb, m.now.Sub(ps.read))
	case !ps.looked:
		m.fail("S-13: verb %d, and the nodes were never listed", verb)
	}
}

// settled says whether lists must have told a process what somebody else did to a machine: a whole one was asked for a horizon later, and
// had it.
func (m *moment) settled(p int, b *box) bool {
	until := b.changed.Add(stale)
	return m.ps[p].read >= until && (!b.alive() || b.shown[p] >= until)
}

// young says whether no list needs to have told a process yet what somebody else did to the machine.
func (m *moment) young(p int, b *box) bool { return b.by < 0 && !m.settled(p, b) }

// judge judges a write about machines that exist, by what is true of them.
func (m *moment) judge(p int, verb fleet.Verb, all []int) {
	if verb == fleet.Start {
		run := m.count(func(b *box) bool { return b.state == fleet.Here && (b.by >= 0 || m.settled(p, b)) })
		for _, i := range all {
			if b := &m.boxes[i]; b.told[p] == fleet.Unlisted {
				m.fail("S-11: %s is started, and not listed", slotUID[i])
			} else if b.state == fleet.IsOff {
				run++
			}
		}
		if run > m.max && m.now.Sub(m.forgot) >= stale {
			m.fail("S-06: %d would run, of %d at most", run, m.max)
		}
		return
	}
	stays := func(b *box) bool { return !slices.ContainsFunc(all, func(i int) bool { return &m.boxes[i] == b }) }
	ready := m.count(func(b *box) bool {
		return stays(b) && (b.ready() || b.untold || m.young(p, b) || b.joined && m.now.Sub(b.since) < noticed)
	})
	sure := m.count(func(b *box) bool { return stays(b) && (b.state == fleet.Here || m.young(p, b)) })
	charged := 0
	for _, i := range all {
		b := &m.boxes[i]
		switch {
		case b.told[p] == fleet.Unlisted || b.told[p] == fleet.Deleting:
			m.fail("S-11: %s goes, and is listed %d", slotUID[i], b.told[p])
		case b.state == fleet.Leaving && b.op == fleet.Delete && int(b.opBy) == p && b.heard && m.ps[p].began < b.opAt:
			m.fail("S-11: %s is being deleted", slotUID[i])
		case (b.unsure == fleet.Delete || b.unsure == fleet.Park && b.state != fleet.IsOff) && b.unsure != verb && b.shown[p].Sub(b.unsureAt) < stale:
			m.fail("S-11: verb %d for %s, and nobody knows what became of verb %d", verb, slotUID[i], b.unsure)
		case b.doubt && m.ps[p].looked && b.object:
			m.fail("S-12: %s may be another's node", slotUID[i])
		}
		if !b.alive() || verb == fleet.Park && b.state == fleet.IsOff {
			continue
		}
		switch {
		case b.ready() && b.work:
			m.fail("S-15: %s goes at work", slotUID[i])
		case b.ready() && ready < m.min:
			m.fail("S-44: %d Ready nodes would stay, of %d", ready, m.min)
		case b.state == fleet.Here && sure < m.min && !m.young(p, b):
			m.fail("S-06: %d machines would stay, of %d", sure, m.min)
		case b.lost != 0 && !b.known && !b.untold && b.state == fleet.Here:
			m.loses(i)
		}
		if !b.ready() || b.work {
			charged++
			for k := range m.boxes {
				if o := &m.boxes[k]; k != i && o.charged != 0 && m.now.Sub(o.charged) < budgetFor {
					charged++
				}
			}
			if charged > 1 {
				m.fail("S-19: %s goes, and is no idle node, as another one", slotUID[i])
			}
		}
	}
}

// loses judges the removal of a machine that was lost.
func (m *moment) loses(i int) {
	b := &m.boxes[i]
	ago := m.now.Sub(b.lost) + noticed
	switch {
	case ago < lostFor:
		m.fail("S-43: %s goes %s after it was lost", slotUID[i], ago)
	case b.work && ago < workFor:
		m.fail("S-43: %s goes %s after it was lost at work", slotUID[i], ago)
	}
	together, first := 0, b.lost
	for k := range m.boxes {
		o := &m.boxes[k]
		if o.lost == 0 || o.known || o.untold || max(o.lost, b.lost).Sub(min(o.lost, b.lost)) >= lossFor {
			continue
		}
		together++
		first = min(first, o.lost)
		if k != i && o.out != 0 && m.now.Sub(o.out) < lossFor {
			m.fail("S-43: %s goes %s after another one that was lost with it", slotUID[i], m.now.Sub(o.out))
		}
	}
	if together > 1 && m.now.Sub(first)+noticed < lossFor {
		m.fail("S-43: %s goes %s after %d were lost together", slotUID[i], m.now.Sub(first), together)
	}
}

// sound judges what the processes hold possible, and what may be done to Node objects.
func (m *moment) sound() {
	for p := range m.ps {
		ps := &m.ps[p]
		if !ps.up || !ps.looked {
			continue // it asks and does nothing yet
		}
		view := ps.At(m.now)
		for i := range m.boxes {
			b := &m.boxes[i]
			if b.state == 0 || m.now.Sub(b.changed) < noticed && b.by != int8(p) {
				continue
			}
			excused := b.by != int8(p) && !m.settled(p, b)
			may := view.May(pool, slotUID[i])
			if may != 0 && !may.Has(b.state) && !(b.state == fleet.Leaving && may == fleet.Gone) && !excused {
				m.fail("soundness: %s is %04b, process %d holds %04b possible", slotUID[i], b.state, p, may)
			}
			if b.alive() && !excused && view.MayDeleteNode(pool, slotUID[i]) == nil {
				m.fail("S-14: the Node object of %s may go, and it is %04b", slotUID[i], b.state)
			}
		}
	}
}

// calm has all go well for 40 minutes, and a person acknowledge what was lost.
func (m *moment) calm() {
	m.now++
	if !m.ps[0].up {
		m.rise(0, 0)
	}
	for i := range m.boxes {
		for m.boxes[i].op != fleet.NoVerb {
			m.end(i, succeedsAlone)
		}
	}
	if m.growing > 0 {
		m.fill(m.growing, int(m.growBy), m.growAt)
	}
	m.capLies = m.now.Add(-stale)
	for range 2 {
		m.watch(5, 4*time.Minute, fresh)
		for p := range m.leads {
			m.merge(p)
			m.save(p)
		}
		m.merge(0)
		m.acknowledge()
	}
	m.list(0, fresh, 0)
}

// live judges that nothing is refused for good: after calm an idle node may go, a lost machine and one that never became a node, the Node
// object of a machine that is gone; one that is off may be started; and the group may grow.
func (m moment) live() string {
	m.calm()
	view, lim := m.ps[0].At(m.now), m.limits()
	lim.Unregistered = 1000
	here, alive := m.count(func(b *box) bool { return b.state == fleet.Here }), m.count((*box).alive)
	ready := m.count((*box).ready)
	if to := max(m.capacity, alive) + 1; here < m.max && to-(alive-here) <= m.max {
		if r := view.MayGrow(pool, to, 1, lim); r != nil {
			m.fail("liveness: no growth to %d: %+v", to, *r)
		}
	}
	for i := range m.boxes {
		b := &m.boxes[i]
		var r *fleet.Refusal
		kind := "a Node object"
		switch {
		case b.state == 0 || b.doubt || b.ready() && (b.work || ready <= m.min) || b.state == fleet.Here && here <= m.min || b.state == fleet.Gone && !b.object:
			continue
		case b.state == fleet.Gone:
			r = view.MayDeleteNode(pool, slotUID[i])
		case b.state == fleet.IsOff:
			if kind = "one that is off"; here < m.max {
				r = view.MayStart(pool, []fleet.UID{slotUID[i]}, lim)
			}
		default:
			kind = "a machine"
			r = view.MayRemove(pool, fleet.Delete, m.targets([]int{i}), lim)
		}
		if r != nil {
			m.fail("liveness: %s, %s: %+v", slotUID[i], kind, *r)
		}
	}
	return m.broken
}
