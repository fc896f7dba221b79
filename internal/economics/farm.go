package economics

import (
	"container/heap"
	"slices"
	"time"

	"sluice.dev/sluice/internal/traces"
)

// Farm is a simulated cluster on a clock of its own: machines that boot, a scheduler, pods that run their time. An [Autoscaler]
// looks at it and changes it by its verbs. Everything is deterministic: equal inputs, equal farm.
type Farm struct {
	Now      time.Duration
	Kinds    []Kind
	Machines []*Machine // that are booting or serve, in the order in which they were requested
	Waiting  *queue     // pods that fit no machine that is there

	settings Settings
	events   events
	seq      int
	changed  bool // something happened that an autoscaler may want to act on
	fresh    bool // a pod began to wait
	dirty    []*Machine
	left     int // pods that have not finished
	deleting int // machines
	finished int
	born     int // machines ever requested
	total    Totals
	used     float64 // core-hours that pods ran to their end
}

// Settings are what a replay assumes.
type Settings struct {
	Boot   func(machine int) time.Duration // from a machine's request until its node is Ready
	Delete time.Duration                   // from the request to delete a machine until it is gone and no longer billed
	Pack   bool                            // the scheduler prefers the fullest node (MostAllocated) instead of the emptiest
	Window time.Duration                   // least time between two looks of the autoscaler that are due to changes
}

// Autoscaler decides over a farm.
type Autoscaler interface {
	// Look decides at the farm's time and says when to look again even if nothing changes; zero for never.
	Look(f *Farm) (again time.Duration)
	// Heeds says whether the changes since the last look are worth one: pod is whether one of them is a pod that began to wait.
	Heeds(pod bool) bool
}

// Machine is one machine of a farm.
type Machine struct {
	ID      int // in the order of requests
	Kind    int // index into the farm's kinds
	Asked   time.Duration
	Ready   bool
	Barred  bool // takes no pods: it is cordoned
	Shunned bool // takes pods only when no other does (a soft taint)
	Gone    bool // it is being deleted, or was
	Free    Vector
	Pods    []*Run

	empty  time.Duration // since when it has held no pod, while it holds none
	spell  Spell
	turned time.Duration // since when it is that
}

// Run is a pod of the workload on its way.
type Run struct {
	*traces.Pod
	Index   int
	On      *Machine      // nil while it waits
	Since   time.Duration // it runs, or waits
	left    time.Duration
	attempt int
}

// NewFarm is an empty farm to which the pods will come.
func NewFarm(kinds []Kind, pods []traces.Pod, s Settings) *Farm {
	f := &Farm{Kinds: kinds, Waiting: newQueue(), settings: s, left: len(pods)}
	for i := range pods {
		r := &Run{Pod: &pods[i], Index: i, left: pods[i].Run}
		f.at(pods[i].At, func() { f.arrive(r) })
	}
	return f
}

// Replay turns the clock until every pod has finished and every machine has gone, and says what that cost.
func (f *Farm) Replay(by Autoscaler) Totals {
	var again, last time.Duration
	looked := false
	for f.left > 0 || len(f.Machines) > 0 || f.deleting > 0 {
		next := time.Duration(-1)
		if len(f.events) > 0 {
			next = f.events[0].t
		}
		if f.changed && by.Heeds(f.fresh) {
			due := f.Now
			if looked {
				due = max(due, last+f.settings.Window)
			}
			if next < 0 || due < next {
				next = due
			}
		}
		if again > 0 && (next < 0 || again < next) {
			next = again
		}
		if next < 0 {
			break // pods wait for machines that nobody requests
		}
		f.Now = max(f.Now, next)
		for len(f.events) > 0 && f.events[0].t <= f.Now {
			heap.Pop(&f.events).(event).do()
		}
		f.schedule()
		due := f.changed && by.Heeds(f.fresh) && (!looked || f.Now >= last+f.settings.Window)
		if due || again > 0 && f.Now >= again {
			f.changed, f.fresh = false, false
			looked, last = true, f.Now
			f.total.Looks++
			again = by.Look(f)
			f.schedule()
		}
	}
	f.total.Unfinished = f.left
	return f.total.settled(f)
}

// at does something at a time to come; what is due at the same time is done in the order of these calls.
func (f *Farm) at(t time.Duration, do func()) {
	f.seq++
	heap.Push(&f.events, event{t, f.seq, do})
}

func (f *Farm) arrive(r *Run) {
	r.Since = f.Now
	if m := f.best(r.Asks, f.Machines); m != nil {
		f.start(r, m)
		return
	}
	f.wait(r)
}

func (f *Farm) wait(r *Run) {
	f.Waiting.push(r)
	f.changed, f.fresh = true, true
}

func (f *Farm) start(r *Run, m *Machine) {
	if len(m.Pods) == 0 {
		f.changed = true
	}
	m.Free = m.Free.Minus(r.Asks)
	m.Pods = append(m.Pods, r)
	f.turn(m)
	r.On = m
	f.total.Waited += f.Now - r.Since
	r.Since = f.Now
	r.attempt++
	attempt := r.attempt
	f.at(f.Now+r.left, func() {
		if r.On == m && r.attempt == attempt {
			f.finish(r)
		}
	})
}

func (f *Farm) finish(r *Run) {
	f.leave(r)
	f.left--
	f.finished++
	f.used += hours(r.Run) * float64(r.Asks.Milli) / 1000
	f.total.Turnaround += f.Now - r.At
}

// leave takes a pod off its machine, which the scheduler will look at.
func (f *Farm) leave(r *Run) {
	m := r.On
	r.On = nil
	m.Free = m.Free.Plus(r.Asks)
	m.Pods = slices.Delete(m.Pods, slices.Index(m.Pods, r), slices.Index(m.Pods, r)+1)
	f.turn(m)
	f.dirty = append(f.dirty, m)
	if len(m.Pods) == 0 {
		m.empty = f.Now
	}
	if len(m.Pods) == 0 || r.Evictable {
		f.changed = true
	}
}

// Grow requests machines of a kind.
func (f *Farm) Grow(kind, count int) {
	f.total.Requests++
	for range count {
		f.born++
		m := &Machine{ID: f.born, Kind: kind, Asked: f.Now, empty: f.Now, turned: f.Now, Free: f.Kinds[kind].Room}
		f.Machines = append(f.Machines, m)
		f.at(f.Now+f.settings.Boot(m.ID), func() {
			if !m.Gone {
				m.Ready = true
				f.turn(m)
				f.dirty = append(f.dirty, m)
				f.changed = true
			}
		})
	}
	f.total.Peak = max(f.total.Peak, len(f.Machines))
}

// Delete removes a machine, which is billed until the cloud has deleted it. Batch pods on it are killed and start again from their beginning;
// services go on elsewhere.
func (f *Farm) Delete(m *Machine) {
	m.Gone, m.Barred = true, true
	for len(m.Pods) > 0 {
		f.Evict(m.Pods[0])
	}
	f.Machines = slices.Delete(f.Machines, slices.Index(f.Machines, m), slices.Index(f.Machines, m)+1)
	f.pay(m)
	f.deleting++
	f.at(f.Now+f.settings.Delete, func() {
		f.deleting--
		f.changed = true
	})
	f.changed = true
}

// Evict takes a pod off its machine; it waits for another one.
func (f *Farm) Evict(r *Run) {
	f.total.Evictions++
	ran := f.Now - r.Since
	if r.Evictable {
		r.left -= ran
	} else {
		f.total.Killed++
		f.total.LostCoreHours += hours(ran) * float64(r.Asks.Milli) / 1000
	}
	f.leave(r)
	r.attempt++
	r.Since = f.Now
	if m := f.best(r.Asks, f.Machines); m != nil {
		f.start(r, m)
		return
	}
	f.wait(r)
}

// Release lets a machine that was barred take pods again.
func (f *Farm) Release(m *Machine) {
	m.Barred = false
	f.turn(m)
	f.dirty = append(f.dirty, m)
}

func hours(d time.Duration) float64 { return d.Hours() }

// event is something that happens at a time.
type event struct {
	t   time.Duration
	seq int
	do  func()
}

// events is a heap by time, then by order.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].t < e[j].t || e[i].t == e[j].t && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
