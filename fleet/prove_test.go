package fleet_test

import (
	"fmt"
	"time"

	"sluice.dev/sluice/fleet"
)

// What the search goes by, as the contract has it; none of it is taken from the package.
const (
	slots   = 3 // machines of a world at most
	clock   = fleet.Instant(1_800_000_000_000)
	tick    = 20 * time.Minute
	lostFor = 20 * time.Minute // a lost machine stays so long
	workFor = time.Hour        // and so long when it worked
)

// box is a machine as it is, and what was told of it.
type box struct {
	state, was       fleet.Set     // now, and before the last change; 0 while it is not made
	created, changed fleet.Instant // its state
	lies             fleet.Instant // when lists began to be wrong about it last
	since            fleet.Instant // its node is Ready, or is not
	lost             fleet.Instant // since when it is no Ready node though nobody wanted that
	out              fleet.Instant // when it was removed after it was lost
	charged          fleet.Instant // when it was removed though it was no idle node
	by               int8          // who changed it last: a process that knows, or -1
	op               fleet.Verb    // an operation of the cloud that has not ended
	opBy             int8
	opAt             fleet.Instant // as [fleet.Asked.At], never for somebody else's
	heard            bool          // the process knows that the cloud is at it
	unsure           fleet.Verb    // the last write that had no answer
	unsureAt         fleet.Instant
	joined           bool // its node was Ready since the machine was started
	object, silent   bool // there is a Node object; its kubelet does not report
	untold           bool // and nobody has noticed
	work, doubt      bool
	known            bool // a person acknowledged the loss
	wanted           bool // its end, by sluice or the cloud
	told             [2]fleet.State
	shown            [2]fleet.Instant // when each process had it last in a list
}

func (b *box) alive() bool   { return b.state == fleet.Here || b.state == fleet.IsOff }
func (b *box) reports() bool { return b.object && b.joined && !b.silent }
func (b *box) ready() bool   { return b.state == fleet.Here && b.reports() }

// process is one that leads, or believes so.
type process struct {
	fleet.Ledger
	up, looked, whole  bool
	began, read, wrote fleet.Instant
	capacity           int
}

// saved is a record in its ConfigMap.
type saved struct {
	bytes  []byte
	ledger fleet.Ledger
	by     int
}

// moment is all there is at one time: the truth, what each process holds of it, and the record.
type moment struct {
	*earth
	now         fleet.Instant
	boxes       [slots]box
	ps          [2]process
	capacity    int
	wasCapacity int
	resized     fleet.Instant // the capacity, last
	capLies     fleet.Instant // since when it is told wrongly
	forgot      fleet.Instant // when a record was lost last, or an older one came back
	growing     int           // a growth that the cloud is at, 0 for none
	growBy      int8
	growAt      fleet.Instant
	record      *saved
	older       *saved
	faults      int
	path        []event // a moment that is stored has its own
	broken      string
	refused     bool // the package refuses what was to happen
}

func (m *moment) fail(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
	}
}

var (
	slotUID = [slots]fleet.UID{"a", "b", "c"}
	slotID  = [slots]string{"0", "1", "2"}
)

// begin is the first moment of a world: its machines are nodes that have been Ready for two hours, and the processes have watched them for
// as long.
func (w *earth) begin() *moment {
	m := &moment{earth: w, now: clock, capacity: w.ready + w.off, faults: w.faults}
	began := m.now.Add(-2 * time.Hour)
	for i := range w.leads {
		m.ps[i] = process{Ledger: fleet.New(fleet.Usual(), began), up: true, looked: true, began: began}
	}
	for i := range w.ready + w.off {
		b := &m.boxes[i]
		*b = box{state: fleet.Here, created: began, changed: began, lies: began, by: -1}
		if i >= w.ready {
			b.state = fleet.IsOff
		} else {
			b.joined, b.object, b.since = true, true, began
		}
	}
	m.wasCapacity, m.resized = m.capacity, began
	for p := range w.leads {
		l := &m.ps[p].Ledger
		*l = l.Observe(began+1, m.answer(p, fresh, 0, began+1))
		*l = l.Observe(began+2, fleet.Nodes{Group: pool, At: began + 2, Seen: m.nodes(began + 2)})
	}
	m.watch(3, 4*time.Minute, fresh)
	m.faults += len(w.seed)
	for _, e := range w.seed {
		if next, _ := m.after(e); next != nil {
			m = next
		} else {
			m.fail("the seed of %s does not happen: %v", w.name, e)
		}
	}
	m.faults, m.path = w.faults, nil
	return m
}

// How a list may be.
const (
	fresh  = iota
	aged   // as it was before the last changes
	empty  // lacks all machines
	lacks  // lacks one
	cut    // not whole
	zero   // lacks all, and says that the capacity is 0
	low    // says a lower capacity
	absurd // says a negative one
)

// mayLie says whether a list may be wrong about a machine now, and has it begin: for ten minutes, then lists are right for as long.
func (m *moment) mayLie(b *box) bool {
	if b.lies == 0 || m.now.Sub(b.lies) >= 2*stale {
		b.lies = m.now
	}
	return m.now.Sub(b.lies) < stale
}

var shows = map[fleet.Set]fleet.State{fleet.Here: fleet.Running, fleet.IsOff: fleet.Off, fleet.Leaving: fleet.Deleting}

// answer is a list, and what the process was told.
func (m *moment) answer(p, kind, which int, asked fleet.Instant) fleet.Listed {
	o := fleet.Listed{Group: pool, Asked: asked, Counted: !m.uncounted, Capacity: m.capacity, Whole: kind != cut}
	if m.uncounted {
		o.Capacity = 0
	}
	for i := range m.boxes {
		b := &m.boxes[i]
		state := b.state
		lie := kind == aged && b.state != 0 && m.now.Sub(b.changed) < stale || kind == empty || kind == zero || kind == lacks && i == which
		if lie && b.state != 0 && b.state != fleet.Gone || kind == aged && lie {
			if m.mayLie(b) {
				if state = 0; kind == aged {
					state = b.was
				}
			}
		}
		said := kind != cut && state != 0 && state != fleet.Gone
		if said {
			o.Machines = append(o.Machines, fleet.Sighted{UID: slotUID[i], ID: slotID[i], State: shows[state], Created: b.created})
			b.shown[p] = asked
		}
		b.told[p] = fleet.Unlisted
		if said {
			b.told[p] = shows[state]
			if b.unsure == fleet.Park && state == b.state && state == fleet.IsOff {
				b.unsure, b.unsureAt = fleet.NoVerb, 0
			}
		}
	}
	said := m.capacity
	switch {
	case kind == aged && m.now.Sub(m.resized) < stale:
		said = m.wasCapacity
	case kind == zero:
		said = 0
	case kind == low:
		said = max(0, m.capacity-1)
	case kind == absurd:
		said = -1
	}
	if said >= 0 && said != m.capacity && (m.capLies == 0 || m.now.Sub(m.capLies) >= 2*stale) {
		m.capLies = m.now
	}
	if said < 0 || said == m.capacity || m.now.Sub(m.capLies) < stale {
		o.Capacity = said
	}
	if m.uncounted {
		o.Capacity = 0
	}
	ps := &m.ps[p]
	ps.capacity = o.Capacity
	if ps.whole = o.Whole && o.Capacity >= 0; ps.whole {
		ps.read = asked
	}
	return o
}

// list has a process ask the cloud. What it sees for the first time it records at once.
func (m *moment) list(p, kind, which int) {
	m.now++
	o := m.answer(p, kind, which, m.now)
	ps := &m.ps[p]
	strange := false
	for _, s := range o.Machines {
		strange = strange || ps.At(m.now).May(pool, s.UID) == 0
	}
	ps.Ledger = ps.Observe(m.now, o)
	if strange {
		m.save(p)
	}
}

// watch lets so many lists come, each so much later than the one before, of one kind.
func (m *moment) watch(n int, each time.Duration, kind int) {
	for range n {
		m.pass(each)
		for p := range m.ps {
			if m.ps[p].up {
				m.list(p, kind, 0)
			}
		}
	}
}

// pass lets time pass. A process that begins lists the nodes before, that a kubelet is silent is noticed within a minute, and what was
// accepted has its effect within ten.
func (m *moment) pass(d time.Duration) {
	for p := range m.ps {
		m.look(p)
	}
	if m.growing > 0 && m.now.Add(d).Sub(m.growAt) >= stale {
		m.fill(m.growing, int(m.growBy), m.growAt)
	}
	for i := range m.boxes {
		if b := &m.boxes[i]; (b.op == fleet.Park || b.op == fleet.Start) && m.now.Add(d).Sub(b.opAt) >= stale {
			m.end(i, succeedsAlone)
		}
	}
	first := min(d, noticed)
	m.now = m.now.Add(first)
	for i := range m.boxes {
		if b := &m.boxes[i]; b.untold {
			b.untold = false
			m.tell(i)
		}
	}
	m.now = m.now.Add(d - first)
}

func (m *moment) seen(i int, at fleet.Instant) fleet.NodeSeen {
	b := &m.boxes[i]
	o := fleet.NodeSeen{Group: pool, UID: slotUID[i], At: at, Created: b.created, Ready: b.reports() || b.untold, Since: b.since, Work: b.work, Ambiguous: b.doubt}
	if !b.work {
		o.Idle, o.Ended = b.created, true
	}
	return o
}

func (m *moment) nodes(at fleet.Instant) (all []fleet.NodeSeen) {
	for i := range m.boxes {
		if m.boxes[i].object {
			all = append(all, m.seen(i, at))
		}
	}
	return all
}

// tell has the processes that watch see the node.
func (m *moment) tell(i int) {
	b := &m.boxes[i]
	for p := range m.ps {
		ps := &m.ps[p]
		switch {
		case !ps.up || !ps.looked:
		case b.object:
			ps.Ledger = ps.Observe(m.now, m.seen(i, m.now))
		default:
			ps.Ledger = ps.Observe(m.now, fleet.NodeGone{Group: pool, UID: slotUID[i], At: m.now})
		}
	}
}

// node has a node change. It is lost when it does not report any more, and nobody asked for that.
func (m *moment) node(i int, change func(*box)) {
	b := &m.boxes[i]
	was := b.reports()
	change(b)
	if b.reports() != was {
		b.since = m.now
	}
	switch {
	case b.reports():
		b.lost, b.known, b.out = 0, false, 0
	case was && !b.wanted && !m.unresolved(b) && !m.young(0, b):
		b.lost = m.now
	}
	if !b.untold {
		m.tell(i)
	}
}

// unresolved says whether a write that would end the machine may have had its effect, as far as anybody knows.
func (m *moment) unresolved(b *box) bool {
	return (b.unsure == fleet.Delete || b.unsure == fleet.Park) && max(m.ps[0].read, m.ps[1].read).Sub(b.unsureAt) <= stale
}

// become has a machine change its state. One that does not run has a silent kubelet.
func (m *moment) become(i int, state fleet.Set, by int) {
	b := &m.boxes[i]
	alive, made := b.alive(), b.state == 0
	b.was, b.state, b.changed, b.by = b.state, state, m.now, int8(by)
	if m.now.Sub(b.lies) >= 2*stale {
		b.lies = m.now
	}
	if b.alive() != alive {
		by := map[bool]int{true: 1, false: -1}[b.alive()]
		m.resize(m.capacity + by)
		if m.growing > 0 && !made {
			m.growing += by
		}
	}
	switch state {
	case fleet.Here:
		b.wanted = false
	case fleet.Leaving:
		b.wanted = true
	default:
		b.wanted, b.untold = true, false
		m.node(i, func(b *box) { b.silent = true })
		b.joined = false
	}
}

func (m *moment) resize(to int) {
	m.wasCapacity, m.capacity, m.resized = m.capacity, max(0, to), m.now
}

// make has the cloud make a machine; it is not when there is no more room in this world.
func (m *moment) make(by int, asked fleet.Instant) bool {
	for i := range m.boxes {
		if b := &m.boxes[i]; b.state == 0 {
			*b = box{created: m.now, lies: asked}
			m.become(i, fleet.Here, by)
			b.was = 0
			return true
		}
	}
	return false
}

func (m *moment) count(so func(*box) bool) (n int) {
	for i := range m.boxes {
		if so(&m.boxes[i]) {
			n++
		}
	}
	return n
}

// save has a process write the record.
func (m *moment) save(p int) {
	bytes := m.ps[p].Record(m.now)
	l, err := fleet.Recorded(bytes)
	if err != nil {
		m.fail("a record that was written cannot be read: %v", err)
	}
	m.older, m.record = m.record, &saved{bytes, l, p}
	if !m.restores {
		m.older = nil
	}
}

// merge has a process take in the record, and says whether it had news.
func (m *moment) merge(p int) bool {
	if m.record == nil || m.record.by == p {
		return false
	}
	l, news, err := m.ps[p].Merge(m.record.bytes, m.now)
	if err != nil {
		m.fail("the record cannot be read: %v", err)
	}
	m.ps[p].Ledger = l
	for q := range m.ps {
		m.ps[p].wrote = max(m.ps[p].wrote, m.ps[q].wrote) // each write is recorded
	}
	return news
}
