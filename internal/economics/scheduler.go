package economics

import "math"

// schedule binds waiting pods, the oldest first, to machines that have room since the last time. All other machines have
// refused them before, so that a turn costs what changed.
func (f *Farm) schedule() {
	if len(f.dirty) == 0 {
		return
	}
	dirty := f.dirty
	f.dirty = nil
	missed := map[Vector]bool{}
	for {
		r := f.Waiting.oldest(missed)
		if r == nil {
			return
		}
		m := f.best(r.Asks, dirty)
		if m == nil {
			missed[r.Asks] = true
			continue
		}
		f.Waiting.pop(r.Asks)
		f.start(r, m)
	}
}

// best is the machine that the scheduler chooses for a pod, nil when none takes it. It scores as kube-scheduler's NodeResourcesFit
// and NodeResourcesBalancedAllocation do, with equal weights over CPU and memory; a soft taint outweighs both, as TaintToleration's
// weight of 3 does. Of equals it takes the machine requested first.
func (f *Farm) best(asks Vector, among []*Machine) *Machine {
	var best *Machine
	top := math.Inf(-1)
	for _, m := range among {
		k := &f.Kinds[m.Kind]
		if !m.Ready || m.Barred || !asks.In(m.Free) || (asks.GPU > 0) != (k.Machine.GPU > 0) {
			continue
		}
		if s := f.score(m, asks); s > top {
			best, top = m, s
		}
	}
	return best
}

func (f *Farm) score(m *Machine, asks Vector) float64 {
	room, free := f.Kinds[m.Kind].Room, m.Free.Minus(asks)
	cpu, mem := 1-float64(free.Milli)/float64(room.Milli), 1-float64(free.MiB)/float64(room.MiB)
	s := (cpu + mem) / 2
	if !f.settings.Pack {
		s = 1 - s
	}
	s += 1 - math.Abs(cpu-mem)/2
	if m.Shunned {
		s -= 3
	}
	return s
}

// queue holds waiting pods by what they ask for, each in the order in which they began to wait.
type queue struct {
	by    map[Vector][]*Run
	order []Vector // of the first pod that ever asked so
	count int
}

func newQueue() *queue { return &queue{by: map[Vector][]*Run{}} }

func (q *queue) push(r *Run) {
	if _, known := q.by[r.Asks]; !known {
		q.order = append(q.order, r.Asks)
	}
	q.by[r.Asks] = append(q.by[r.Asks], r)
	q.count++
}

func (q *queue) pop(asks Vector) {
	q.by[asks] = q.by[asks][1:]
	q.count--
}

// oldest is the pod that waits longest, of those whose like are not passed over; nil when there is none.
func (q *queue) oldest(pass map[Vector]bool) *Run {
	var oldest *Run
	if q.count == 0 {
		return nil
	}
	for _, asks := range q.order {
		if rs := q.by[asks]; len(rs) > 0 && !pass[asks] && (oldest == nil || rs[0].Since < oldest.Since) {
			oldest = rs[0]
		}
	}
	return oldest
}

// Demands counts the waiting pods that ask for the same.
func (q *queue) Demands() []Demand {
	var out []Demand
	for _, asks := range q.order {
		if n := len(q.by[asks]); n > 0 {
			out = append(out, Demand{asks, n})
		}
	}
	return out
}

// All are the waiting pods, those that ask for the same together.
func (q *queue) All() []*Run {
	var out []*Run
	for _, asks := range q.order {
		out = append(out, q.by[asks]...)
	}
	return out
}
