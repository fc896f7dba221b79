package fleet_test

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
)

var (
	prove  = flag.Duration("prove", 0, "how long to search all orders of events; without it, a few states of each world")
	proven = flag.String("proven", "", "the worlds alone whose names contain this")
)

// enough is how long a search has to take for each event to have happened, or been refused.
const enough = 4 * time.Minute

// few are the states of a world that each run of the tests reaches.
const few = 30_000

// earth is a small world: what there is at its beginning, and what may happen.
type earth struct {
	name       string
	boxes      int // machines at most
	ready, off int // at the beginning
	min, max   int
	leads      int // processes
	faults     int
	uncounted  bool // the cloud keeps no number of machines
	restores   bool // an older record may come back
	kinds      []letter
	seed       []event
}

// letter is a kind of events with its arguments.
type letter struct {
	kind int
	args []int
}

// finder tells states apart: machines may change their names, and times count by their order and the minutes between them.
type finder struct {
	group    fleet.Facts
	machines [slots]fleet.Facts
	sorted   []fleet.Instant
	all      []fleet.Instant
	hashes   [slots]uint64
}

func mix(h, w uint64) uint64 {
	h = (h ^ w) * 0x9E3779B97F4A7C15
	return h ^ bits.RotateLeft64(h, 29) ^ h>>32
}

// recent is a time, never for one that is older.
func recent(now, at fleet.Instant, d time.Duration) fleet.Instant {
	if now.Sub(at) >= d {
		return 0
	}
	return at
}

// matters is the machine with what makes no difference any more left out.
func (b box) matters(now fleet.Instant) *box {
	b.lies, b.charged, b.out = recent(now, b.lies, 2*stale), recent(now, b.charged, budgetFor), recent(now, b.out, lossFor)
	if b.by >= 0 {
		b.changed = recent(now, b.changed, stale)
		if b.unsure == fleet.NoVerb {
			for p, at := range b.shown {
				b.shown[p] = min(1, at)
			}
		}
	}
	if b.op == fleet.NoVerb {
		b.opAt, b.opBy = 0, 0
		if now.Sub(b.changed) >= stale {
			b.was = 0
		}
	}
	return &b
}

const oldest = 100 // minutes after which it does not matter how old something is

func (f *finder) code(now, at fleet.Instant, order []fleet.Instant) uint64 {
	if at == 0 {
		return 0
	}
	age := int64(now.Sub(at)+30*time.Second) / int64(time.Minute)
	i, _ := slices.BinarySearch(order, at)
	return uint64(min(age, oldest)+1)<<16 | uint64(i)
}

func (f *finder) hash(h uint64, x *fleet.Facts, now fleet.Instant, order []fleet.Instant) uint64 {
	for _, w := range x.Words {
		h = mix(h, w)
	}
	for _, t := range x.Times {
		h = mix(h, f.code(now, t, order))
	}
	return h
}

// key is the same for states that are alike.
func (f *finder) key(m *moment) uint64 {
	g := &f.group
	g.Reset()
	resized, wasCapacity := recent(m.now, m.resized, stale), m.wasCapacity
	if resized == 0 {
		wasCapacity = 0
	}
	g.Words = append(g.Words, uint64(m.faults), uint64(m.capacity)<<16|uint64(wasCapacity), uint64(m.growing)<<8|uint64(uint8(m.growBy)))
	g.Times = append(g.Times, m.now, resized, recent(m.now, m.capLies, 2*stale), recent(m.now, m.forgot, stale), m.growAt)
	for p := range m.leads {
		ps := &m.ps[p]
		g.Flag(ps.up, ps.looked, ps.whole)
		g.Words = append(g.Words, uint64(ps.capacity))
		g.Times = append(g.Times, ps.began, ps.read, ps.wrote)
		g.Group(ps.Ledger, pool)
	}
	for _, r := range []*saved{m.record, m.older} {
		g.Flag(r != nil)
		if r != nil {
			g.Words = append(g.Words, uint64(r.by))
			g.Group(r.ledger, pool)
		}
	}
	f.sorted = ordered(f.sorted[:0], g.Times)
	for i := range m.earth.boxes {
		x := &f.machines[i]
		x.Reset()
		if m.boxes[i].state == 0 {
			f.hashes[i] = 0
			continue
		}
		b := m.boxes[i].matters(m.now)
		x.Words = append(x.Words, uint64(b.state)|uint64(b.was)<<8|uint64(uint8(b.by))<<16|uint64(b.op)<<24|uint64(uint8(b.opBy))<<32|uint64(b.unsure)<<40, uint64(b.told[0])|uint64(b.told[1])<<8)
		x.Flag(b.heard, b.joined, b.object, b.silent, b.untold, b.work, b.doubt, b.known, b.wanted)
		x.Times = append(x.Times, b.created, b.changed, b.lies, b.since, b.lost, b.out, b.charged, b.opAt, b.unsureAt, b.shown[0], b.shown[1])
		for p := range m.leads {
			x.Machine(m.ps[p].Ledger, pool, slotUID[i])
		}
		for _, r := range []*saved{m.record, m.older} {
			if r != nil {
				x.Machine(r.ledger, pool, slotUID[i])
			}
		}
		f.all = ordered(append(f.all[:0], f.sorted...), x.Times)
		f.hashes[i] = f.hash(1, x, m.now, f.all)
	}
	h := f.hash(2, g, m.now, f.sorted)
	slices.Sort(f.hashes[:m.earth.boxes])
	for _, x := range f.hashes[:m.earth.boxes] {
		h = mix(h, x)
	}
	return h
}

// ordered adds times to those that are sorted, each once.
func ordered(sorted, times []fleet.Instant) []fleet.Instant {
	for _, t := range times {
		if t == 0 {
			continue
		}
		if i, ok := slices.BinarySearch(sorted, t); !ok {
			sorted = slices.Insert(sorted, i, t)
		}
	}
	return sorted
}

// search goes through a world, breadth first.
type search struct {
	*earth
	events []event
	seen   [64]struct {
		sync.Mutex
		keys map[uint64]struct{}
	}
	fired   []int64 // how often each event happened
	refused []int64 // or was refused
	lives   int64
	states  int
	depth   int // to which every order of events was tried
	closed  bool
	broken  []*moment
}

// enter says whether a state is new.
func (s *search) enter(key uint64) bool {
	x := &s.seen[key>>58]
	x.Lock()
	defer x.Unlock()
	if _, ok := x.keys[key]; ok {
		return false
	}
	x.keys[key] = struct{}{}
	return true
}

// sampled is one in how many states from which calm is played.
const sampled = 8

// entry is a state that is not searched from yet: by what it follows another one. Ten take the room of one state.
type entry struct {
	from *moment
	by   event
}

// moment is the state.
func (x entry) moment() *moment {
	if x.by.kind == happening {
		return x.from // the first one
	}
	m, _ := x.from.after(x.by)
	m.path = append(slices.Clip(x.from.path), x.by)
	return m
}

// run searches until so many states were reached, or time is over.
func (s *search) run(most int, until time.Time) {
	s.events = s.alphabet()
	s.fired, s.refused = make([]int64, len(s.events)), make([]int64, len(s.events))
	for i := range s.seen {
		s.seen[i].keys = map[uint64]struct{}{}
	}
	first := s.begin()
	if first.broken != "" {
		s.broken = append(s.broken, first)
		return
	}
	level := []entry{{first, event{kind: happening}}}
	s.enter(new(finder).key(first))
	s.states = 1
	for len(level) > 0 {
		next, whole := s.step(level, most, until)
		s.states += len(next)
		if len(s.broken) > 0 || !whole {
			return
		}
		s.depth++
		level = next
	}
	s.closed = true
}

// step is all that may follow after the states of a level, and whether none was left out.
func (s *search) step(level []entry, most int, until time.Time) (next []entry, whole bool) {
	var all sync.Mutex
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	whole = true
	taken := 0
	const share = 64
	for range workers {
		group.Go(func() {
			var f finder
			fired, refused := make([]int64, len(s.events)), make([]int64, len(s.events))
			var mine []entry
			var broken []*moment
			lives := int64(0)
			for {
				all.Lock()
				next, mine = append(next, mine...), mine[:0]
				s.broken, broken = append(s.broken, broken...), broken[:0]
				from := taken
				over := s.states+len(next) > most || !until.IsZero() && time.Now().After(until)
				if from >= len(level) || over || len(s.broken) > 0 {
					whole = whole && from >= len(level)
					for i := range fired {
						s.fired[i] += fired[i]
						s.refused[i] += refused[i]
					}
					s.lives += lives
					all.Unlock()
					return
				}
				taken = min(from+share, len(level))
				some := level[from:taken]
				all.Unlock()
				for i, x := range some {
					m := x.moment()
					some[i] = entry{}
					for k, e := range s.events {
						n, no := m.after(e)
						if n == nil {
							if no {
								refused[k]++
							}
							continue
						}
						fired[k]++
						key := f.key(n)
						if n.broken == "" && !s.enter(key) {
							continue
						}
						if n.sound(); n.broken == "" && key%sampled == 0 {
							lives++
							n.broken = n.live()
						}
						if n.broken != "" {
							n.path = append(slices.Clip(m.path), e)
							broken = append(broken, n)
						}
						mine = append(mine, entry{m, e})
					}
				}
			}
		})
	}
	group.Wait()
	return next, whole
}

// TestProve tries every order of events in small worlds, breadth first, as far as there is time. It says of each how far it came.
func TestProve(t *testing.T) {
	most, left := few, *prove
	if *prove > 0 {
		most = math.MaxInt
	}
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	tried := slices.DeleteFunc(slices.Clone(worlds), func(w *earth) bool { return !strings.Contains(w.name, *proven) })
	for i, w := range tried {
		begun := time.Now()
		s := search{earth: w}
		var until time.Time
		if *prove > 0 {
			until = begun.Add(left / time.Duration(len(tried)-i))
		}
		s.run(most, until)
		took := time.Since(begun)
		left -= took
		ending := ""
		if s.closed {
			ending = ", closed"
		}
		say(t, "%-26s %2d events, %d faults: every order to depth %d%s; %9d states, calm from %7d of them, %5.1f s", w.name, len(s.events), w.faults, s.depth, ending, s.states, s.lives, took.Seconds())
		if len(s.broken) > 0 {
			for k, m := range s.broken[:min(3, len(s.broken))] {
				t.Errorf("%s, %d of %d: %s\n  %s", w.name, k+1, len(s.broken), m.broken, m.story())
			}
			return
		}
		var words []string
		for k, e := range s.events {
			if words = append(words, e.name()); s.fired[k]+s.refused[k] == 0 && *prove >= enough {
				t.Errorf("%s: %v never happened, nor was it refused", w.name, e)
			}
		}
		say(t, "  %s", strings.Join(slices.Compact(words), "; "))
	}
}

func say(t *testing.T, format string, args ...any) {
	if *prove > 0 {
		fmt.Fprintf(os.Stdout, format+"\n", args...)
		return
	}
	t.Logf(format, args...)
}

// story is how a moment came about.
func (m *moment) story() string {
	var all []string
	for _, e := range slices.Concat(m.seed, m.path) {
		all = append(all, e.String())
	}
	return strings.Join(all, "; ")
}
