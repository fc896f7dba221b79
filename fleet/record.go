package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// recordVersion begins every record.
const recordVersion = 2

// Record is what another process has to know of the ledger, as bytes: writes and growths that may not show yet, charges, losses, and each
// machine for which no Ready node speaks. It is the same for as long as none of that changes.
func (l Ledger) Record(now Instant) []byte {
	w := writer{from: l.newest(now), began: l.began}
	w.number(recordVersion)
	w.number(uint64(w.from))
	w.instant(l.since)
	w.latch(l.latch)
	w.number(uint64(len(l.groups)))
	for _, id := range l.Groups() {
		g := l.groups[id]
		w.text(string(id))
		w.instant(g.wrote)
		w.instant(wholeMinute(cmp.Or(g.read, g.earlier)))
		w.latch(g.latch)
		w.number(uint64(len(g.grants)))
		for _, r := range g.grants {
			w.grant(r)
		}
		kept := slices.DeleteFunc(slices.Clone(g.machines), func(m machine) bool { return g.calm(&m, now, l.horizon) })
		w.machines(kept)
	}
	return w.Bytes()
}

// wholeMinute is the beginning of the minute.
func wholeMinute(i Instant) Instant { return i - i%Instant(time.Minute/time.Millisecond) }

// newest is the last instant of those that a record has, or the full minute.
func (l Ledger) newest(now Instant) Instant {
	last := max(l.since, l.latch.From, wholeMinute(now))
	for _, g := range l.groups {
		last = max(last, g.wrote, g.latch.From)
		for _, r := range g.grants {
			last = max(last, r.At, r.Lacked)
		}
		for i := range g.machines {
			if m := &g.machines[i]; !g.calm(m, now, l.horizon) {
				for _, t := range m.times() {
					last = max(last, *t)
				}
			}
		}
	}
	return last
}

// calm says whether a Ready node says all there is to say of the machine: that its work was taken away, it does not. Of a group without a
// number the next process has to know each machine, since no capacity tells it what a list leaves out.
func (g *group) calm(m *machine, now Instant, h Horizon) bool {
	c, n := &m.cloud, &m.node
	return g.counted && n.Ready && (n.Idle == 0 || n.Ended) && c.Verb == NoVerb && c.Word == 0 && c.Absent == 0 && !within(n.Charged, now, h.Window) && !within(n.LostOut, now, h.Loss)
}

// ErrRecord says that a record cannot be read.
var ErrRecord = errors.New("the record of machines cannot be read")

// Spelled is the ledger in which the group has this name, where it was known by another letter case: to the cloud that is one group, and a
// process may spell it differently than the one before. A group that is known by this name already keeps what it has.
func (l Ledger) Spelled(id GroupID) Ledger {
	known := l.known(id)
	if known == id {
		return l
	}
	g := *l.groups[known]
	g.id, g.copied = id, false
	l.groups = maps.Clone(l.groups)
	delete(l.groups, known)
	l.groups[id] = &g
	return l
}

// known is how the ledger spells the name of a group; as it is given for one that the ledger does not have.
func (l Ledger) known(id GroupID) GroupID {
	if l.groups[id] != nil {
		return id
	}
	for _, known := range l.Groups() {
		if strings.EqualFold(string(known), string(id)) {
			return known
		}
	}
	return id
}

// Merge is the ledger that knows what a record says as well. News says that the record has a write that the ledger did not know: another
// process writes, and nothing may be sent that was decided without it. Times after now count as now. An error leaves the ledger as it was.
func (l Ledger) Merge(record []byte, now Instant) (_ Ledger, news bool, err error) {
	r := reader{rest: record, now: now}
	said, written, err := r.ledger()
	if err != nil {
		return l, false, err
	}
	e := l.edit()
	switch {
	case len(l.groups) == 0 && l.since == l.began:
		e.since = min(l.since, said.since) // this process goes on from where the other ended
	default:
		e.since = max(l.since, min(said.since, written))
	}
	for id, theirs := range said.groups {
		g := e.group(l.known(id))
		news = news || theirs.wrote > g.wrote
		g.wrote, g.earlier = max(g.wrote, theirs.wrote), max(g.earlier, theirs.earlier)
		g.latch = g.latch.join(theirs.latch)
		for _, r := range theirs.grants {
			if r.At <= g.settled {
				continue // this process's lists have shown it since
			}
			i := slices.IndexFunc(g.grants, func(mine grant) bool { return mine.At == r.At && mine.To == r.To && mine.Token == r.Token })
			if i < 0 {
				g.grants = append(g.grants, r)
				news = news || within(r.At, now, l.horizon.List)
				continue
			}
			mine := &g.grants[i]
			mine.Reply, mine.Again, mine.Owed = max(mine.Reply, r.Reply), mine.Again || r.Again, min(mine.Owed, r.Owed)
			if r.Lacked != 0 && (mine.Lacked == 0 || r.Lacked < mine.Lacked) {
				mine.Lacked = r.Lacked
			}
		}
		for _, m := range theirs.machines {
			news = news || g.unknownWrite(m, now, l.horizon)
			m.cloud.Watched = m.cloud.Watched && l.began.Sub(written) <= l.horizon.Provision
			g.learn(m, l.horizon)
		}
	}
	e.latch = e.latch.join(said.latch)
	return e.end(now), news, nil
}

// unknownWrite says whether a record has a write to a machine, not long ago, that the ledger does not know. What it has asked for itself
// since hides none.
func (g *group) unknownWrite(said machine, now Instant, h Horizon) bool {
	mine, at := g.machine(said.uid), said.cloud.VerbAt
	return said.cloud.Verb != NoVerb && within(at, now, h.List) && (mine == nil || mine.cloud.VerbAt < at)
}

// learn takes in what a record says of a machine. What this process has seen itself since then holds: its own nodes, and its newest whole
// list, which is taken in once more.
func (g *group) learn(said machine, h Horizon) {
	was := g.machine(said.uid)
	if was == nil {
		was = &machine{uid: said.uid}
	}
	m := join(*was, said)
	if g.looked != 0 {
		m.node = was.node.recall(said.node)
	}
	if m == *was {
		return
	}
	listed, state := was.cloud.State != Unlisted && was.cloud.Absent == 0, was.cloud.State
	*g.change(said.uid) = m
	i, _ := g.find(said.uid)
	switch {
	case g.read == 0:
	case listed:
		g.found(i, Sighted{ID: m.cloud.ID, State: state, Created: m.cloud.Created}, g.read, h)
	default:
		g.lack(i, g.read, false, h)
	}
}

// recall is a node as this process sees it, with what a record says of its past.
func (n nodeSide) recall(k nodeSide) nodeSide {
	if !n.Object && n.Joined == 0 && k.Joined != 0 { // it was a node, and has no Node object now
		n.Silent, n.Work = cmp.Or(k.Silent, k.At), true
	}
	if n.Idle != 0 && k.Idle != 0 && !k.Ended { // this process has not seen how its work went
		n.Idle, n.Ended = k.Idle, false
	}
	n.Joined = earliest(n.Joined, k.Joined)
	n.Charged, n.LostOut, n.Known = max(n.Charged, k.Charged), max(n.LostOut, k.LostOut), max(n.Known, k.Known)
	return n
}

func (t latch) join(o latch) latch {
	if !t.holds() || o.holds() && o.From < t.From {
		t, o = o, t
	}
	t.Lost = max(t.Lost, o.Lost)
	return t
}

// join is what two processes know of a machine together. What was taken back is a time, so that an older word does not come back. What
// lists lack is each process's own, as is the state that they show unless a write has changed it.
func join(a, b machine) machine {
	m := a
	c, o := &m.cloud, b.cloud
	if c.State == Unlisted || o.Power > c.Power {
		c.ID, c.State, c.Turned = o.ID, o.State, o.Turned
	}
	c.Created, c.Up = earliest(c.Created, o.Created), max(c.Up, o.Up)
	c.Power, c.Watched, c.Ours = max(c.Power, o.Power), c.Watched || o.Watched, c.Ours || o.Ours
	c.Word, c.Back = max(c.Word, o.Word), max(c.Back, o.Back)
	if c.Gone = earliest(c.Gone, o.Gone); c.Gone <= c.Back {
		c.Gone = 0
	}
	c.merge(&o)
	n, k := &m.node, b.node
	if k.At > n.At {
		joined, charged, out := n.Joined, n.Charged, n.LostOut
		*n = k
		n.Joined, n.Charged, n.LostOut = joined, charged, out
	}
	n.Joined = earliest(n.Joined, k.Joined)
	n.Charged, n.LostOut = max(n.Charged, k.Charged), max(n.LostOut, k.LostOut)
	n.Known = max(n.Known, k.Known)
	n.Work = n.Work || k.Work
	if !n.Ready && n.Joined != 0 && n.Silent == 0 {
		n.Silent = cmp.Or(k.Silent, n.At)
	}
	return m
}

// merge takes in the write that another process has asked for last. What it has settled, or was refused, settles no write of this one.
func (c *cloudSide) merge(o *cloudSide) {
	again := o.Verb == c.Verb && o.VerbAt != c.VerbAt // a refusal of the later one says nothing about the earlier
	unknownWrite := func(c *cloudSide) bool { return c.Verb == Delete && c.Reply == Sent }
	switch {
	case o.Verb == NoVerb:
	case c.Verb == NoVerb && c.VerbAt > o.VerbAt && o.Reply != Sent, unknownWrite(o) && c.Verb != Delete && c.Verb != NoVerb, o.VerbAt > c.VerbAt && !(unknownWrite(c) && o.Verb != Delete):
		c.Verb, c.VerbAt, c.Reply, c.Again, c.Shown = o.Verb, o.VerbAt, o.Reply, again || o.Again, o.Shown
	case again:
		c.Again = true
	case o.VerbAt == c.VerbAt && o.Verb == c.Verb:
		c.Reply, c.Again, c.Shown = max(c.Reply, o.Reply), c.Again || o.Again, c.Shown || o.Shown
	}
}

// earliest is the earlier of two instants, of which never counts as none.
func earliest(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// writer writes a record. Instants are counted back from the time of the record.
type writer struct {
	bytes.Buffer
	from  Instant
	began Instant
}

func (w *writer) number(n uint64) { w.Write(binary.AppendUvarint(w.AvailableBuffer(), n)) }

func (w *writer) instant(i Instant) {
	if i == 0 {
		w.number(0)
		return
	}
	w.number(uint64(max(0, w.from-i)) + 1)
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.WriteString(s)
}

func (w *writer) latch(t latch) {
	w.instant(t.From)
	if t.holds() {
		w.number(uint64(t.Lost))
		w.number(uint64(t.Of))
	}
}

func (w *writer) grant(r grant) {
	w.instant(r.At)
	w.number(uint64(r.From))
	w.number(uint64(r.To))
	w.text(r.Token)
	w.number(uint64(r.Reply))
	w.flags(r.Again)
	w.number(uint64(max(0, r.Owed)))
	w.instant(r.Lacked)
}

func (w *writer) flags(all ...bool) {
	var bits uint64
	for i, set := range all {
		if set {
			bits |= 1 << i
		}
	}
	w.number(bits)
}

// machines writes them behind the instants that they have, newest first: each is written once, for machines share most of them.
func (w *writer) machines(all []machine) {
	all = slices.Clone(all)
	for i := range all {
		if c, n := &all[i].cloud, &all[i].node; n.Ended || !n.Ready && c.Verb == NoVerb {
			n.Idle = 0 // it matters of what loses its work together with others, and goes
		}
	}
	var at []Instant
	for i := range all {
		for _, t := range all[i].times() {
			if *t != 0 {
				at = append(at, min(*t, w.from))
			}
		}
	}
	slices.SortFunc(at, func(a, b Instant) int { return cmp.Compare(b, a) })
	at = slices.Compact(at)
	w.number(uint64(len(at)))
	newer := w.from
	for _, t := range at {
		w.number(uint64(newer - t))
		newer = t
	}
	w.number(uint64(len(all)))
	for i := range all {
		w.machine(&all[i], at)
	}
}

// machine writes the fields that are not zero, behind a mask of them.
func (w *writer) machine(m *machine, at []Instant) {
	w.uid(m.uid)
	c, n := &m.cloud, &m.node
	w.text(c.ID)
	w.number(uint64(c.State) | uint64(c.Verb)<<3 | uint64(c.Reply)<<6)
	working := n.Work || n.Ready || !n.Object && n.Joined != 0 // what a node does after its record, nobody knows
	w.flags(c.Again, c.Shown, n.Ready, n.Object, working, n.Ambiguous, c.Watched || c.Created >= w.began, c.Ours)
	times := m.times()
	var mask uint64
	for i, t := range times {
		if *t != 0 {
			mask |= 1 << i
		}
	}
	w.number(mask)
	for _, t := range times {
		if *t != 0 {
			i, _ := slices.BinarySearchFunc(at, min(*t, w.from), func(a, b Instant) int { return cmp.Compare(b, a) })
			w.number(uint64(i))
		}
	}
}

// times are the instants of a machine that a record has, in its order.
func (m *machine) times() [16]*Instant {
	c, n := &m.cloud, &m.node
	return [...]*Instant{
		&c.Created, &c.Turned, &c.Up, &c.Absent, &c.Word, &c.Back, &c.Gone, &c.VerbAt, &c.Power,
		&n.At, &n.Joined, &n.Silent, &n.Charged, &n.LostOut, &n.Known, &n.Idle,
	}
}

// uid writes a UID: 16 bytes behind a zero where it is a UUID of lower case, and else its text, which is never empty.
func (w *writer) uid(uid UID) {
	if len(uid) != 36 {
		w.text(string(uid))
		return
	}
	out := make([]byte, 1, 17)
	for i := 0; i < 36; {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if uid[i] != '-' {
				w.text(string(uid))
				return
			}
			i++
			continue
		}
		hi, lo := nibble(uid[i]), nibble(uid[i+1])
		if hi < 0 || lo < 0 {
			w.text(string(uid))
			return
		}
		out = append(out, byte(hi<<4|lo))
		i += 2
	}
	w.Write(out)
}

func nibble(b byte) int { return bytes.IndexByte([]byte("0123456789abcdef"), b) }

// reader reads a record.
type reader struct {
	rest []byte
	from Instant
	now  Instant
	err  error
}

func (r *reader) fail() {
	r.err, r.rest = ErrRecord, nil
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// few is a number of things that follow, each of a byte at least.
func (r *reader) few() int {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) instant() Instant {
	n := r.number()
	if n == 0 {
		return 0
	}
	return max(1, min(r.now, r.from-Instant(n-1)))
}

func (r *reader) text() string {
	n := r.few()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) uid() UID {
	if len(r.rest) < 17 || r.rest[0] != 0 {
		return UID(r.text())
	}
	x := hex.EncodeToString(r.rest[1:17])
	r.rest = r.rest[17:]
	return UID(x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:])
}

func (r *reader) latch() (t latch) {
	if t.From = r.instant(); t.holds() {
		t.Lost, t.Of = int(r.number()), int(r.number())
	}
	return t
}

func (r *reader) grant() (g grant) {
	g.At, g.From, g.To, g.Token, g.Reply = r.instant(), int(r.number()), int(r.number()), r.text(), Reply(r.number())
	g.Again, g.Owed, g.Lacked = r.number()&1 != 0, int(r.number()), r.instant()
	return g
}

// instants are those that machines share.
func (r *reader) instants() []Instant {
	at := make([]Instant, r.few())
	age := Instant(0)
	for i := range at {
		age += Instant(r.number())
		at[i] = max(1, min(r.now, r.from-age))
	}
	return at
}

func (r *reader) machine(at []Instant) (m machine) {
	c, n := &m.cloud, &m.node
	m.uid, c.ID = r.uid(), r.text()
	kinds, flags := r.number(), r.number()
	c.State, c.Verb, c.Reply = State(kinds&7), Verb(kinds>>3&7), Reply(kinds>>6&3)
	c.Again, c.Shown, n.Ready, n.Object, n.Work, n.Ambiguous = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0, flags&16 != 0, flags&32 != 0
	c.Watched, c.Ours = flags&64 != 0, flags&128 != 0
	mask := r.number()
	for i, t := range m.times() {
		if mask&(1<<i) == 0 {
			continue
		}
		k := r.number()
		if k >= uint64(len(at)) {
			r.fail()
			return m
		}
		*t = at[k]
	}
	return m
}

// ledger reads all of it, and when it was written.
func (r *reader) ledger() (l Ledger, written Instant, err error) {
	if r.number() != recordVersion {
		return l, 0, ErrRecord
	}
	r.from = Instant(r.number())
	written = min(r.from, r.now)
	l.since = r.instant()
	l.latch = r.latch()
	l.groups = map[GroupID]*group{}
	for range r.few() {
		g := &group{id: GroupID(r.text()), wrote: r.instant(), earlier: r.instant(), latch: r.latch()}
		for range r.few() {
			g.grants = append(g.grants, r.grant())
		}
		at := r.instants()
		for range r.few() {
			g.machines = append(g.machines, r.machine(at))
		}
		slices.SortFunc(g.machines, func(a, b machine) int { return bytes.Compare([]byte(a.uid), []byte(b.uid)) })
		l.groups[g.id] = g
	}
	if len(r.rest) > 0 {
		r.fail()
	}
	return l, written, r.err
}
