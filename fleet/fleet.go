// Package fleet is the one ledger of machines: whether each is there, coming, off, leaving or gone, whether a node speaks for it, and how
// old an answer about it may be. It is a fold over observations, and predicates that say which writes the safety contract allows. It is
// pure: every observation brings its own time, and the package reads no clock.
//
// A machine has two sides. The cloud's side is the set of what may be true of it; one element is certainty:
//
//	evidence                                    may be             until
//	listed creating, running or failed          here               the next list
//	listed deallocated                          off                the next list; a Ready node: here
//	listed deleting, or its deletion accepted,  leaving, gone      a list asked a horizon later has it; the operation fails; its kubelet
//	or an answer says that it is not there                         reports a horizon later
//	a whole list lacks it                       and leaving, gone  a list has it
//	that, and the cloud said that it leaves     gone               a list asked a horizon later has it; its kubelet reports
//	lacked and silent for a horizon             gone               the same
//	its deletion sent, no answer                and leaving, gone  an answer; a list asked a horizon later has it
//	deallocation or start sent or accepted,     here, off          a list shows the change, or was asked a horizon later
//	or it failed after that
//	its deletion failed, but a list that may    anything           a list has it otherwise, or was asked a horizon later
//	be older has it as being deleted
//	a deletion of several failed, or a second   and leaving, gone  a list asked a horizon after it was sent has it
//	one after one without an answer
//
// A kubelet that reports excludes off and gone. The node's side is its life: see [Life].
//
// The law that its tests hold: what is true of a machine is always in the set that the ledger holds possible.
package fleet

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// UID is the cloud's unique id of a machine (vmId). It is the only key: instance ids and names may be used again.
type UID string

// GroupID names a node group, as [sluice.dev/sluice/cluster.GroupID] does.
type GroupID string

// Instant is a time in milliseconds since 1970, UTC. The zero value is never.
type Instant int64

// String is the instant in UTC, to the second.
func (i Instant) String() string { return i.Time().Truncate(time.Second).Format(time.RFC3339) }

// At is the instant of a time; never for a zero time.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time is the time of an instant, UTC; zero for never.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add is the instant so much later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub is how much later i is.
func (i Instant) Sub(earlier Instant) time.Duration {
	return time.Duration(i-earlier) * time.Millisecond
}

// Horizon says how old what is known may be, and how far memory reaches. Staleness of a list and its lack of a machine last at most List
// together.
type Horizon struct {
	List      time.Duration // what a list or a capacity shows, and until a write shows in one
	Node      time.Duration // that a node is Ready, and an answer on which a write rests
	Provision time.Duration // from a machine's start to its Ready node
	Window    time.Duration // over which the removal budget counts; 0 for no budget
	Burst     time.Duration // in which nodes lose their work together
	Loss      time.Duration // over which losses count as one event
}

// Usual is the horizon with the cloud's and the policy's usual times.
func Usual() Horizon {
	return Horizon{List: 10 * time.Minute, Node: time.Minute, Provision: 15 * time.Minute, Window: 10 * time.Minute, Burst: 10 * time.Minute, Loss: time.Hour}
}

// Ledger is what is known of all machines. It is a value: Observe leaves the one that it is called on as it was, and shares with it what
// did not change.
type Ledger struct {
	horizon Horizon
	began   Instant // this process reads lists and watches nodes since then
	since   Instant // charges and losses are known since then
	groups  map[GroupID]*group
	latch   latch // of all groups together
}

// New is an empty ledger of a process that began then.
func New(h Horizon, began Instant) Ledger {
	return Ledger{horizon: h, began: began, since: began}
}

// IsZero says that nobody keeps the ledger.
func (l Ledger) IsZero() bool { return l.began == 0 && l.groups == nil }

// Since is from when on charges and losses are known: the process's beginning, or an earlier one's by its record.
func (l Ledger) Since() Instant { return l.since }

// Knows says whether the ledger has a machine of that id in the group.
func (l Ledger) Knows(id GroupID, uid UID) bool {
	g := l.groups[id]
	return g != nil && g.machine(uid) != nil
}

// Settled says whether it is certain what each machine of the group is, and no growth may show yet: further lists would tell nothing of
// either.
func (l Ledger) Settled(id GroupID) bool {
	g := l.groups[id]
	if g == nil {
		return true
	}
	for i := range g.machines {
		if s := g.machines[i].may(); s&(s-1) != 0 {
			return false
		}
	}
	return len(g.grants) == 0
}

// Groups are the groups that the ledger knows, sorted.
func (l Ledger) Groups() []GroupID { return slices.Sorted(maps.Keys(l.groups)) }

// group is what is known of one group. A group that a ledger holds is never changed.
type group struct {
	id       GroupID
	asked    Instant // when the newest answer was asked for
	read     Instant // when the newest whole one was asked for
	earlier  Instant // when the process before this one, whose record was merged, asked for its newest whole one; to the minute
	whole    bool    // the newest answer was whole
	counted  bool    // the cloud keeps a number of machines for it; an availability set has none
	capacity int     // that number
	wrote    Instant // the last write to it, by anybody who writes to the record
	looked   Instant // when all its nodes were listed last, by this process
	grants   []grant // growths whose effect a list may not show yet
	settled  Instant // the last growth that is none of them any more
	latch    latch
	machines []machine // by UID
	copied   bool      // machines are this group's own: it is being changed
}

// find is where the machine is, or would be.
func (g *group) find(uid UID) (int, bool) {
	return slices.BinarySearchFunc(g.machines, uid, func(m machine, uid UID) int { return strings.Compare(string(m.uid), string(uid)) })
}

// machine is a machine of a group that may be read, nil for one that is not known.
func (g *group) machine(uid UID) *machine {
	if i, ok := g.find(uid); ok {
		return &g.machines[i]
	}
	return nil
}

// change is a machine of the group that may be changed; it is added when it is not known.
func (g *group) change(uid UID) *machine {
	g.own()
	i, ok := g.find(uid)
	if !ok {
		g.machines = slices.Insert(g.machines, i, machine{uid: uid})
	}
	return &g.machines[i]
}

func (g *group) own() {
	if !g.copied {
		g.machines, g.copied = slices.Clone(g.machines), true
	}
}
