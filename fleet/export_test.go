package fleet

import (
	"reflect"
	"slices"
	"testing"
)

// Facts are what a ledger holds, for tests that tell whether two ledgers are alike: times apart from all else, since those are compared by
// their order. Whose a machine is (Owed, Ours) is none of them: no predicate rests on it.
type Facts struct {
	Times []Instant
	Words []uint64
}

// Reset makes it empty.
func (f *Facts) Reset() { f.Times, f.Words = f.Times[:0], f.Words[:0] }

// Flag adds a truth.
func (f *Facts) Flag(all ...bool) {
	var w uint64
	for i, b := range all {
		if b {
			w |= 1 << i
		}
	}
	f.Words = append(f.Words, w)
}

// Group adds what the ledger holds of a group, but for its machines.
func (f *Facts) Group(l Ledger, id GroupID) {
	f.Times = append(f.Times, l.began, l.since)
	f.latch(l.latch)
	g := l.groups[id]
	if g == nil {
		f.Words = append(f.Words, 0)
		return
	}
	f.latch(g.latch)
	f.Times = append(f.Times, g.asked, g.read, g.earlier, g.wrote, g.looked, g.settled)
	f.Flag(g.whole, g.counted)
	f.Words = append(f.Words, uint64(g.capacity), uint64(len(g.grants)))
	for _, r := range g.grants {
		f.Times = append(f.Times, r.At, r.Lacked)
		f.Words = append(f.Words, uint64(r.From)<<16|uint64(r.To), uint64(r.Reply), uint64(len(r.Token)))
		f.Flag(r.Again)
	}
}

func (f *Facts) latch(t latch) {
	f.Times = append(f.Times, t.From)
	f.Words = append(f.Words, uint64(t.Lost)<<16|uint64(t.Of))
}

// Machine adds what the ledger holds of a machine.
func (f *Facts) Machine(l Ledger, id GroupID, uid UID) {
	g := l.groups[id]
	if g == nil {
		f.Words = append(f.Words, 0)
		return
	}
	m := g.machine(uid)
	if m == nil {
		f.Words = append(f.Words, 0)
		return
	}
	c, n := &m.cloud, &m.node
	f.Words = append(f.Words, 1|uint64(c.State)<<8|uint64(c.Verb)<<16|uint64(c.Reply)<<24)
	f.Flag(c.ID != "", c.Again, c.Shown, c.Watched, n.Ready, n.Object, n.Work, n.Ended, n.Ambiguous)
	f.Times = append(f.Times, c.Created, c.Turned, c.Up, c.Absent, c.Word, c.Back, c.Gone, c.VerbAt, c.Power,
		n.At, n.Joined, n.Silent, n.Idle, n.Charged, n.LostOut, n.Known)
}

// Recorded is the ledger that a record has.
func Recorded(record []byte) (Ledger, error) {
	r := reader{rest: slices.Clone(record), now: 1 << 62}
	l, _, err := r.ledger()
	return l, err
}

// TestFactsHaveEveryField holds the facts above to what a ledger is made of: two ledgers that differ in a field must not be taken for the
// same.
func TestFactsHaveEveryField(t *testing.T) {
	for _, x := range []struct {
		of any
		n  int
	}{{Ledger{}, 5}, {group{}, 14}, {grant{}, 8}, {latch{}, 3}, {machine{}, 3}, {cloudSide{}, 17}, {nodeSide{}, 12}} {
		if n := reflect.TypeOf(x.of).NumField(); n != x.n {
			t.Errorf("%T has %d fields, and Facts knows of %d: add what is new", x.of, n, x.n)
		}
	}
}
