package plan

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// queue is the pods that wait, with what they are called and which demand each is of. From cycle to cycle only those are looked at that came.
type queue struct {
	verdicts []Verdict // by the pods that wait, in their order: only their subjects count
	of       []int32   // by the same: the number of the demand
	keys     []demandKey
	numbers  map[demandKey]int32 // of keys
	single   []bool              // of keys: no other one is of a class with the same content
	classes  map[cluster.Key]int32
	lone     []bool  // of keys: nothing about the class says that its pods are of a gang
	sizes    []sizes // of keys: see [decision.size]
	hopeful  int     // pods that the scheduler has made room for
}

// demandKey is what pods have in common that are one demand.
type demandKey struct {
	class  *cluster.Class
	judged bool
}

func keyOf(p *cluster.Pod) demandKey {
	return demandKey{p.Class, p.Unschedulable() || p.AwaitsCapacity()}
}

// turn turns from the pods that waited at the last snapshot, nil when there was none, to those that wait now. There is to be room for so many
// further verdicts.
func (q *queue) turn(last, s *cluster.Snapshot, further int) {
	var gone, come []*cluster.Pod
	if last != nil {
		gone, come = s.PendingSince(last)
	}
	if last == nil || len(gone)+len(come) > len(s.Pending) || len(q.keys) > 2*len(s.Pending)+mostClasses {
		q.begin(s.Pending, further)
		return
	}
	before, now := last.Pending, s.Pending
	verdicts, of := make([]Verdict, len(now), len(now)+further), make([]int32, len(now))
	i, j := 0, 0
	for j < len(now) || i < len(before) {
		k := 0
		for i+k < len(before) && j+k < len(now) && before[i+k] == now[j+k] {
			k++
		}
		copy(verdicts[j:j+k], q.verdicts[i:])
		copy(of[j:j+k], q.of[i:])
		i, j = i+k, j+k
		switch {
		case len(gone) > 0 && i < len(before) && before[i] == gone[0]:
			q.count(gone[0], -1)
			i, gone = i+1, gone[1:]
		case len(come) > 0 && j < len(now) && now[j] == come[0]:
			q.count(come[0], 1)
			verdicts[j].Subject, of[j] = reason.Ref{Kind: reason.KindPod, Name: come[0].String()}, q.number(keyOf(come[0]))
			q.sizes[of[j]].grown = grown{}
			j, come = j+1, come[1:]
		}
	}
	q.verdicts, q.of = verdicts, of
}

// begin takes all pods up.
func (q *queue) begin(pods []*cluster.Pod, further int) {
	*q = queue{verdicts: make([]Verdict, len(pods), len(pods)+further), of: make([]int32, len(pods)), numbers: map[demandKey]int32{}, classes: map[cluster.Key]int32{}}
	var last demandKey
	for i, p := range pods {
		q.verdicts[i].Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
		if key := keyOf(p); i > 0 && key == last {
			q.of[i] = q.of[i-1]
		} else {
			q.of[i], last = q.number(key), key
		}
		q.count(p, 1)
	}
}

func (q *queue) count(p *cluster.Pod, n int) {
	if p.Nominated() != "" {
		q.hopeful += n
	}
}

func (q *queue) number(key demandKey) int32 {
	n, ok := q.numbers[key]
	if !ok {
		n = int32(len(q.keys))
		q.keys, q.lone = append(q.keys, key), append(q.lone, !key.class.OfGang())
		q.sizes = append(q.sizes, sizes{})
		first, known := q.classes[key.class.Key]
		if q.single = append(q.single, !known); known {
			q.single[first] = false
		} else {
			q.classes[key.class.Key] = n
		}
		q.numbers[key] = n
	}
	return n
}

// demands are the pods that wait by what they have in common, but for those that have their verdict. These are asked for only where some pod has a
// nomination, or some may be settled otherwise.
func (q *queue) demands(some bool, settled func(i int) bool) []*demand {
	by, own := make([]*demand, len(q.keys)), make([]demand, 0, len(q.keys))
	all := make([]*demand, 0, len(q.keys))
	of := q.of
	if some = some || q.hopeful > 0; some {
		of = slices.Clone(q.of)
		for i := range of {
			if settled(i) {
				of[i] = -1
			}
		}
	}
	for i, number := range of {
		if number < 0 {
			continue
		}
		dm := by[number]
		if dm == nil {
			own = append(own, demand{of: q.keys[number].class, eldest: i, judged: q.keys[number].judged, number: int(number) + 1, lone: q.lone[number]})
			dm = &own[len(own)-1]
			by[number] = dm
			all = append(all, dm)
		}
		dm.many++
	}
	places := make([]int, len(of)) // of all demands, one after the other
	for _, dm := range all {
		dm.pods, places = places[:0:dm.many], places[dm.many:]
	}
	for i, number := range of {
		if number < 0 {
			continue
		}
		dm := by[number]
		dm.pods = append(dm.pods, i)
		q.verdicts[i].Outcome, q.verdicts[i].Because = "", nil
	}
	return all
}
