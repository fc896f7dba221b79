// Package ledger keeps the one [fleet.Ledger] of a process: those who hear something of machines write it there, and those who decide ask it.
package ledger

import (
	"cmp"
	"sync"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
)

// Book is a ledger that several write to. A nil book takes nothing in.
type Book struct {
	now func() time.Time

	mu     sync.Mutex
	ledger fleet.Ledger
	last   fleet.Instant     // that was given out
	seen   *cluster.Snapshot // whose nodes it has; nil for none
	watch  func([]fleet.Observation)
}

// New is the book of a process that begins.
func New(h fleet.Horizon, now func() time.Time) *Book {
	began := fleet.At(now())
	return &Book{now: now, ledger: fleet.New(h, began), last: began}
}

// Watch has a judge told of all that is written into the book from now on, but for nodes. It must not ask the book.
func (b *Book) Watch(reported func([]fleet.Observation)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch = reported
}

// Horizon is the usual one with the policy's times.
func Horizon(p *policy.Policy) fleet.Horizon {
	h := fleet.Usual()
	h.Provision, h.Window, h.Loss = p.Growth.Node.ProvisionTime, p.Removal.Emptied.Window, cmp.Or(p.Removal.Lost, h.Loss)
	return h
}

// Instant is now, and after every instant that it was before: questions and writes are told apart, and ordered, by it.
func (b *Book) Instant() fleet.Instant {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = max(b.last+1, fleet.At(b.now()))
	return b.last
}

// Now is now, and not before an instant that was given out.
func (b *Book) Now() fleet.Instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at()
}

// Observe writes into the book.
func (b *Book) Observe(all ...fleet.Observation) {
	if b == nil || len(all) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger = b.ledger.Observe(b.at(), all...)
	if b.watch != nil {
		b.watch(all)
	}
}

// at is now, and not before what was given out. Book.mu is held.
func (b *Book) at() fleet.Instant { return max(b.last, fleet.At(b.now())) }

// View is what the book says now; nil of a nil book.
func (b *Book) View() *fleet.View {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.At(b.at())
}

// Ledger is what the book says now; the zero value of a nil book.
func (b *Book) Ledger() fleet.Ledger {
	if b == nil {
		return fleet.Ledger{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger
}

// Record is what the process that comes after this one has to know; see [fleet.Ledger.Record].
func (b *Book) Record() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.Record(b.at())
}

// Merge takes in the record of another process; see [fleet.Ledger.Merge].
func (b *Book) Merge(record []byte) (news bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger, news, err = b.ledger.Merge(record, b.at())
	return news, err
}

// Spell has a group have this name; see [fleet.Ledger.Spelled].
func (b *Book) Spell(id cluster.GroupID) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger = b.ledger.Spelled(fleet.GroupID(id))
}
