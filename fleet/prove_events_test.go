package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/fleet"
)

// What may happen.
const (
	lists    = iota // the cloud answers; arg is how
	growth          // arg is to how many, and what becomes of it
	deletion        // of one machine; arg is what becomes of it
	both            // of this machine and the next one
	parking
	starting
	ends     // an operation of the cloud ends; arg is how
	grown    // the growth that the cloud is at ends; arg is how
	joins    // a kubelet reports: for the first time, or again
	silences // it does not; arg 1: and nobody has noticed
	unlinks  // a Node object goes
	works
	rests
	doubted   // two machines could be this node
	foreign   // somebody else deletes, stops or starts a machine; arg is which
	makes     // somebody else makes one
	records   // a process writes the record
	kills     // a process ends
	begins    // one begins; arg is with which record
	looks     // it lists its nodes
	says      // a person acknowledges the losses
	passes    // time; arg is how much, and what is seen meanwhile
	happening // their number
)

// What becomes of a write.
const (
	accepted = iota
	done
	refused
	unsent       // no answer, no effect
	unknownWrite // no answer, though it is accepted
	fates
)

// How an operation ends.
const (
	succeeds       = iota // and its process hears of it
	succeedsAlone         // and nobody hears of it
	fails                 //
	failsUnheard          //
	operationsEnds        // their number
)

// How much time passes.
const (
	minutes  = iota // one
	ticks           // 20 minutes without a list
	watched         // 20 minutes with lists that are right
	mistaken        // 20 minutes with lists: they are empty in the first ten, and right then
	hours           // one, without a list
)

// event is one of them.
type event struct{ kind, box, arg, p uint8 }

var words = [...]string{
	lists: "list", growth: "grow", deletion: "delete", both: "delete two from", parking: "park", starting: "start", ends: "operation ends", grown: "growth ends",
	joins: "reports", silences: "falls silent", unlinks: "Node object goes", works: "work begins", rests: "work ends", doubted: "ambiguous",
	foreign: "somebody else", makes: "somebody makes a machine", records: "record written", kills: "killed", begins: "begins", looks: "nodes listed",
	says: "acknowledged", passes: "passes",
}

var args = [...][]string{
	lists: {"right", "old", "empty", "lacks", "partial", "empty, capacity 0", "capacity too low", "capacity negative"},
	ends:  {"done", "done, unheard", "failed", "failed, unheard"}, grown: {"done", "done, unheard", "failed", "failed, unheard"},
	silences: {"", "unnoticed"}, foreign: {"deletes", "stops", "starts"}, begins: {"with its record", "without a record", "with an older record"},
	passes: {"a minute", "20 minutes", "20 minutes, lists right", "20 minutes, lists empty at first", "an hour"},
}

var became = [...]string{"accepted", "done", "refused", "lost", "accepted, answer lost"}

// of says whether the event is about one machine.
func (e event) of() bool {
	switch e.kind {
	case lists:
		return e.arg == lacks
	case deletion, both, parking, starting, ends, joins, silences, unlinks, works, rests, doubted, foreign:
		return true
	}
	return false
}

// name is the event without its machine.
func (e event) name() string {
	s := words[e.kind]
	switch e.kind {
	case growth:
		s += fmt.Sprintf(" to %d: %s", e.arg/fates, became[e.arg%fates])
	case deletion, both, parking, starting:
		s += ": " + became[e.arg]
	default:
		if int(e.kind) < len(args) && args[e.kind] != nil {
			s += " " + args[e.kind][e.arg]
		}
	}
	if e.p > 0 {
		s = "other leader: " + s
	}
	return strings.TrimSpace(s)
}

func (e event) String() string {
	if e.of() {
		return e.name() + " [" + string(slotUID[e.box]) + "]"
	}
	return e.name()
}

// fault says whether an event uses up one of the faults of a history.
func (e event) fault() bool {
	switch e.kind {
	case lists:
		return e.arg != fresh
	case growth:
		return e.arg%fates >= unsent
	case deletion, both, parking, starting:
		return e.arg >= unsent
	case ends, grown:
		return e.arg >= fails
	case foreign, makes, kills, doubted:
		return true
	case begins:
		return e.arg > 0
	case passes:
		return e.arg == mistaken
	}
	return false
}

// can says whether the event can ever happen to its machine: those that are nodes at the beginning stay so where nothing ends that, and new
// ones never are where nothing reports, nor is one that was deleted before the beginning.
func (w *earth) can(e event) bool {
	has := func(kinds ...int) bool {
		return slices.ContainsFunc(w.kinds, func(l letter) bool { return slices.Contains(kinds, l.kind) })
	}
	node := int(e.box) < w.ready
	gone := slices.ContainsFunc(w.seed, func(was event) bool { return was.kind == deletion && was.box == e.box && was.arg == done })
	switch e.kind {
	case joins, silences, works, rests, doubted:
		if gone && !has(growth) {
			return false
		}
	}
	switch e.kind {
	case joins:
		return !node || has(silences, unlinks, parking, foreign) || w.seed != nil
	case silences, works, rests, doubted:
		return node || has(joins)
	}
	return true
}

// alphabet are all events of the world.
func (w *earth) alphabet() (all []event) {
	for p := range w.leads {
		for _, kind := range w.kinds {
			if p > 0 && kind.kind != lists && kind.kind != growth && kind.kind != deletion && kind.kind != starting {
				continue
			}
			for _, arg := range kind.args {
				if p > 0 && kind.kind == lists && arg != fresh && arg != aged {
					continue
				}
				e := event{kind: uint8(kind.kind), arg: uint8(arg), p: uint8(p)}
				if !e.of() {
					all = append(all, e)
					continue
				}
				for i := range w.boxes {
					if e.box = uint8(i); w.can(e) {
						all = append(all, e)
					}
				}
			}
		}
	}
	return all
}

// after is the moment after an event, nil when it cannot happen now; and whether that is because the package refuses it.
func (m *moment) after(e event) (_ *moment, refused bool) {
	if e.fault() && m.faults == 0 {
		return nil, false
	}
	next := *m
	n := &next
	n.now++
	if e.fault() {
		n.faults--
	}
	if !n.happen(e, int(e.box), int(e.arg), int(e.p)) {
		return nil, n.refused
	}
	return n, false
}

// spend uses up a fault, if there is one.
func (m *moment) spend() bool {
	m.faults--
	return m.faults >= 0
}

// happen has it happen, and says whether it could.
func (m *moment) happen(e event, i, arg, p int) bool {
	b, ps := &m.boxes[i], &m.ps[p]
	switch e.kind {
	case lists:
		if !ps.up || arg == lacks && b.state == 0 {
			return false
		}
		m.list(p, arg, i)
	case growth, deletion, both, parking, starting:
		return ps.up && m.write(e, p)
	case ends:
		return m.end(i, arg)
	case grown:
		if m.growing == 0 || m.growBy < 0 && arg%2 == 0 {
			return false
		}
		answer := fleet.Answered{Group: pool, Asked: m.growAt, At: m.now, Answer: fleet.Done}
		if arg >= fails {
			answer.Answer = fleet.Refused
		} else {
			m.fill(m.growing, int(m.growBy), m.growAt)
		}
		if arg%2 == 0 && m.growBy >= 0 {
			m.hear(int(m.growBy), answer)
		}
		m.growing = 0
	case joins:
		if b.state != fleet.Here || b.reports() {
			return false
		}
		m.node(i, func(b *box) { b.object, b.joined, b.silent, b.untold = true, true, false, false })
	case silences:
		if !b.reports() {
			return false
		}
		if b.state == fleet.Here && !m.spend() {
			return false
		}
		m.node(i, func(b *box) { b.silent, b.untold = true, arg == 1 })
	case unlinks:
		if !b.object {
			return false
		}
		if b.state != fleet.Gone && !m.spend() {
			return false
		}
		m.node(i, func(b *box) { b.object, b.silent, b.untold = false, true, false })
	case works, rests:
		if b.work == (e.kind == works) || !b.ready() {
			return false
		}
		m.node(i, func(b *box) { b.work = e.kind == works })
	case doubted:
		if b.doubt || !b.ready() {
			return false
		}
		m.node(i, func(b *box) { b.doubt = true })
	case foreign:
		to := []fleet.Set{fleet.Leaving, fleet.IsOff, fleet.Here}[arg]
		if !b.alive() || b.state == to {
			return false
		}
		b.op, b.opAt, b.opBy, b.heard = fleet.NoVerb, 0, -1, false
		if to == fleet.Leaving {
			b.op = fleet.Delete
		}
		m.become(i, to, -1)
	case makes:
		return m.make(-1, m.now)
	case records:
		if !ps.up {
			return false
		}
		m.merge(p)
		m.save(p)
	case kills:
		if !ps.up {
			return false
		}
		*ps = process{}
	case begins:
		return m.rise(p, arg)
	case looks:
		return m.look(p)
	case says:
		if !m.ps[0].up || m.count(func(b *box) bool { return b.lost != 0 && !b.known }) == 0 {
			return false
		}
		m.acknowledge()
	case passes:
		switch arg {
		case minutes:
			m.pass(time.Minute)
		case ticks:
			m.pass(tick)
		case watched:
			m.watch(5, 4*time.Minute, fresh)
		case mistaken:
			m.pass(time.Minute)
			m.watch(4, 3*time.Minute, empty)
			m.watch(2, 3*time.Minute+30*time.Second, fresh)
		case hours:
			m.pass(time.Hour)
		}
	}
	return true
}

// acknowledge has a person say that the losses are known.
func (m *moment) acknowledge() {
	for p := range m.ps {
		if ps := &m.ps[p]; ps.up {
			ps.Ledger = ps.Observe(m.now, fleet.Acknowledged{Group: pool, At: m.now})
		}
	}
	for i := range m.boxes {
		m.boxes[i].known = m.boxes[i].known || m.boxes[i].lost != 0
	}
}

// rise has a process begin.
func (m *moment) rise(p, arg int) bool {
	ps := &m.ps[p]
	if ps.up {
		return false
	}
	record := m.record
	switch arg {
	case 1:
		record = nil
	case 2:
		if record = m.older; record == nil {
			return false
		}
	}
	*ps = process{Ledger: fleet.New(fleet.Usual(), m.now), up: true, began: m.now}
	for i := range m.boxes {
		m.boxes[i].told[p], m.boxes[i].shown[p] = fleet.Unlisted, 0
	}
	if arg > 0 {
		m.forget()
	}
	m.record = record
	if record == nil {
		return true
	}
	l, _, err := ps.Merge(record.bytes, m.now)
	if err != nil {
		m.fail("the record cannot be read: %v", err)
	}
	ps.Ledger = l
	return true
}

// look has a process that began list its nodes.
func (m *moment) look(p int) bool {
	ps := &m.ps[p]
	if !ps.up || ps.looked {
		return false
	}
	ps.looked = true
	ps.Ledger = ps.Observe(m.now, fleet.Nodes{Group: pool, At: m.now, Seen: m.nodes(m.now)})
	return true
}

// forget has what was written before count as somebody else's doing: no process knows of it.
func (m *moment) forget() {
	m.forgot = m.now
	for i := range m.boxes {
		m.boxes[i].by = -1
	}
	m.growBy = -1
}

// hear has a process hear what became of a write.
func (m *moment) hear(p int, answer fleet.Answered) {
	if ps := &m.ps[p]; ps.up {
		ps.Ledger = ps.Observe(m.now, answer)
	}
}

// end has an operation of the cloud end. One about two machines that fails has still ended the other one.
func (m *moment) end(i, arg int) bool {
	b := &m.boxes[i]
	if b.op == fleet.NoVerb || !b.heard && arg%2 == 0 {
		return false
	}
	answer := fleet.Answered{Group: pool, Asked: b.opAt, At: m.now, Answer: fleet.Done}
	by, verb, hand := int(b.opBy), b.op, -1
	heard := arg%2 == 0
	if heard && m.ps[by].up && b.by >= 0 {
		hand = by
	}
	several := m.count(func(o *box) bool { return o.opAt != 0 && o.opAt == b.opAt && o.op != fleet.NoVerb }) > 1
	for k := range m.boxes {
		o := &m.boxes[k]
		if o != b && (o.opAt == 0 || o.opAt != answer.Asked) || o.op == fleet.NoVerb {
			continue
		}
		if o.op, o.heard = fleet.NoVerb, false; arg >= fails && (several || !heard) {
			o.unsure, o.unsureAt = verb, o.opAt
		}
		switch {
		case verb == fleet.Delete && (arg < fails || o != b):
			m.become(k, fleet.Gone, map[bool]int{true: int(o.by), false: hand}[arg < fails])
		case verb == fleet.Park && arg < fails:
			m.become(k, fleet.IsOff, int(o.by))
		case arg < fails:
		case verb == fleet.Park:
			o.wanted = false
		default:
			back := map[fleet.Verb]fleet.Set{fleet.Delete: fleet.Here, fleet.Start: fleet.IsOff}[verb]
			if verb == fleet.Delete && o.was == fleet.IsOff {
				back = fleet.IsOff
			}
			m.become(k, back, hand)
		}
	}
	if arg >= fails {
		answer.Answer = fleet.Refused
	}
	if heard {
		m.hear(by, answer)
	}
	return true
}
