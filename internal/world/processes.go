package world

import (
	"bytes"
	"context"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/plan/memory"
)

// processes are those of sluice: the one that leads, the rival besides, and what awaits the one that takes over next.
type processes struct {
	main  process
	rival *rival // nil when there is none

	saved legacy        // of the last whole cycle, or ahead of a growth
	skew  time.Duration // how far the clock of the next process is ahead
	kill  kill
}

// process is the process that leads: its life and lease, its clock, what it knows, and when its loop turns. The next one takes its place.
type process struct {
	sluice   *app.Autoscaler // nil before the first passage of time
	provider *azure.Provider
	book     *ledger.Book
	notes    *notes
	breakers memory.Breakers // as its last cycle leaves them
	told     told
	reading  func() time.Time // its clock

	ctx    context.Context // until it ends
	stop   context.CancelFunc
	life   context.Context    // of what it does while it leads
	hold   context.CancelFunc // ends that
	held   bool               // its lease has ended, and nobody else has it
	leads  time.Time          // when its lease ends; zero while it renews it
	killed string             // what it did last, when it was killed and has no successor yet

	pace *app.Pace
	due  time.Time // of the next cycle, if nothing happens before
	stir app.Stir  // since the last cycle
}

// legacy is what a process leaves to the next one in the status ConfigMap.
type legacy struct {
	operations []byte // in flight
	learned    cluster.Lessons
	breakers   memory.Breakers
}

// started says whether a process of sluice has begun to lead.
func (p *processes) started() bool { return p.main.sluice != nil }

// end ends all of them.
func (p *processes) end() {
	if p.main.stop != nil {
		p.main.stop()
	}
	if p.rival != nil {
		p.rival.stop()
	}
}

// legacy is what sluice would leave now.
func (p *processes) legacy(now time.Time) legacy {
	return legacy{p.main.notes.cycle(p.saved.operations, now), p.main.sluice.Learned(), p.main.breakers}
}

// ahead is what a process writes there before a growth: it does not wait for the cycle's end.
func (p *processes) ahead(n *notes) func(context.Context) error {
	return func(context.Context) error {
		err := n.keep(p.saved.operations, true)
		p.saved.operations = n.wrote
		return err
	}
}

// hearAnswers has loops turn for answers of Azure that no cycle waited for.
func (p *processes) hearAnswers(now time.Time) (stirred bool) {
	select {
	case <-p.main.provider.Triggers():
		stirred = true
	default:
	}
	if p.rival == nil {
		return stirred
	}
	select {
	case <-p.rival.provider.Triggers():
		p.rival.due = now
	default:
	}
	return stirred
}

// reads is the clock that a process reads which begins now; the next one has a right one again.
func (p *processes) reads(on *simClock) func() time.Time {
	skew := p.skew
	p.skew = 0
	return func() time.Time { return on.now().Add(skew) }
}

// turnsAt is when the next cycle is due, by the rules of app.Autoscaler.Run; zero while none is.
func (p *process) turnsAt(timing app.Timing) time.Time {
	if p.held {
		return time.Time{}
	}
	if due, stirred := p.stir.Due(timing); stirred {
		return due
	}
	return p.due
}

// leaseEnds is when the process's lease ends by the process's own clock; zero while it renews it.
func (p *process) leaseEnds(now time.Time) time.Time {
	if p.leads.IsZero() {
		return p.leads
	}
	return p.leads.Add(p.reading().Sub(now))
}

// Notes are what one process knows of the operations in the status ConfigMap, where each process that leads writes its own.
type notes struct {
	provider *azure.Provider
	wrote    []byte    // last, or read when it began
	at       time.Time // of the last cycle that wrote
}

// keep puts the process's operations there, in place of those that are. Those of another process it heeds first; ahead of a growth it then writes nothing.
func (n *notes) keep(there []byte, ahead bool) error {
	if !bytes.Equal(there, n.wrote) {
		n.wrote = there
		if err := n.provider.MergeOperations(there); err != nil && ahead {
			return err
		}
	}
	n.wrote = n.provider.SaveOperations()
	return nil
}

// cycle has the process write at the end of a cycle, once a minute or when it knows something else, and returns what is there then.
func (n *notes) cycle(there []byte, now time.Time) []byte {
	if now.Sub(n.at) < time.Minute && bytes.Equal(n.provider.SaveOperations(), n.wrote) {
		return there
	}
	_ = n.keep(there, false)
	n.at = now
	return n.wrote
}
