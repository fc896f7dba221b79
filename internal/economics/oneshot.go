package economics

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sluice.dev/sluice/internal/traces"
)

// Instance is a set of pods that wait in a cluster without machines: what is the cheapest way to serve them?
type Instance struct {
	Family  string
	Name    string
	Kinds   []Kind
	Demands []Demand
	Pods    int
	LeftOut int // pods that no kind takes: they are in no demand
}

// Answer is what a method buys.
type Answer struct {
	Count    []int // machines by kind
	Unplaced int   // pods that some kind takes and that have no place
}

// Cost is what the answer costs in USD an hour.
func (a Answer) Cost(kinds []Kind) float64 {
	var sum float64
	for i, n := range a.Count {
		sum += float64(n) * kinds[i].PriceUSDPerHour
	}
	return sum
}

// NewInstance is the instance of these pods.
func NewInstance(family, name string, kinds []Kind, pods []traces.Pod) Instance {
	in := Instance{Family: family, Name: name, Kinds: kinds}
	for _, d := range Demands(pods) {
		if !slices.ContainsFunc(kinds, func(k Kind) bool { return k.Takes(d.Asks) }) {
			in.LeftOut += d.Count
			continue
		}
		in.Demands = append(in.Demands, d)
		in.Pods += d.Count
	}
	return in
}

// burst is how long after a moment pods still count as one burst.
const burst = time.Minute

// Moments are instances at seeded moments of a workload, each at the creation of some pod: the burst of pods that begins there, and all
// pods that would run then if each had started at once.
func Moments(workload string, kinds []Kind, pods []traces.Pod, count int) []Instance {
	var out []Instance
	for i := range count {
		t := pods[mix(uint64(i))%uint64(len(pods))].At
		var arriving, standing []traces.Pod
		for _, p := range pods {
			if p.At >= t && p.At < t+burst {
				arriving = append(arriving, p)
			}
			if p.At <= t && p.At+p.Run > t {
				standing = append(standing, p)
			}
		}
		name := fmt.Sprintf("%s at %s", workload, t.Round(time.Second))
		for _, in := range []Instance{
			NewInstance(workload+" bursts", name, kinds, arriving), NewInstance(workload+" standing", name, kinds, standing),
		} {
			if in.Pods > 0 {
				out = append(out, in)
			}
		}
	}
	return out
}

// Method is a way to answer an instance.
type Method struct {
	Name     string
	Answer   func(Instance) Answer
	Expander bool // one of cluster-autoscaler's
}

// Methods are the ways that are compared: sluice's plan, each of cluster-autoscaler's expanders, and first-fit over one group and over all.
func Methods() []Method {
	out := []Method{
		{Name: "sluice's plan", Answer: Plan},
		{Name: "packing alone", Answer: Pack},
		{Name: "one group at a time", Answer: oneGroup},
		{Name: "first fit over all groups", Answer: jointFirstFit},
	}
	for _, e := range Expanders {
		out = append(out, Method{"expander " + e.Name, e.answer, true})
	}
	return out
}

// answer grows one group a loop, as cluster-autoscaler does, until every pod has a place.
func (e Expander) answer(in Instance) Answer { return byOptions(in, e.choose) }

// oneGroup is first-fit on one group at a time: each time the group whose machines cost least for what they hold.
func oneGroup(in Instance) Answer {
	return byOptions(in, func(kinds []Kind, options []option, _ uint64) int {
		best, low := -1, math.Inf(1)
		for i, o := range options {
			if s := o.cost(kinds) / worth(kinds, o.placed); s < low {
				best, low = i, s
			}
		}
		return best
	})
}

// byOptions adds machines of the group chosen until every pod has a place. Room that is left on machines bought earlier is used first.
func byOptions(in Instance, choose func([]Kind, []option, uint64) int) Answer {
	a := Answer{Count: make([]int, len(in.Kinds))}
	left := slices.Clone(in.Demands)
	var coming bins
	for loop := uint64(1); len(left) > 0; loop++ {
		var rest []Demand
		for _, d := range left {
			if n := coming.fill(in.Kinds, d.Asks, d.Count); n > 0 {
				rest = append(rest, Demand{d.Asks, n})
			}
		}
		left = rest
		var options []option
		for i := range in.Kinds {
			if o := estimate(in.Kinds, i, left, min(mostPerChoice, in.Kinds[i].Max-a.Count[i])); o.pods > 0 {
				options = append(options, o)
			}
		}
		i := choose(in.Kinds, options, loop)
		if i < 0 {
			break
		}
		a.Count[options[i].kind] += len(options[i].opened)
		coming = append(coming, options[i].opened...)
		left = without(left, options[i].placed)
	}
	for _, d := range left {
		a.Unplaced += d.Count
	}
	return a
}

// jointFirstFit takes pods by size, the largest first; each goes to the first machine that takes it, or to a new one of the kind
// on which its share costs least.
func jointFirstFit(in Instance) Answer {
	a := Answer{Count: make([]int, len(in.Kinds))}
	largest := slices.MaxFunc(in.Kinds, func(x, y Kind) int { return int(x.Room.Milli - y.Room.Milli) })
	var open bins
	for _, d := range largestFirst(in.Demands, largest.Room) {
		left := open.fill(in.Kinds, d.Asks, d.Count)
		for left > 0 {
			kind, least := -1, math.Inf(1)
			for i := range in.Kinds {
				k := &in.Kinds[i]
				if c := k.PriceUSDPerHour * portion(d.Asks, k.Room); k.Takes(d.Asks) && a.Count[i] < k.Max && c < least {
					kind, least = i, c
				}
			}
			if kind < 0 {
				a.Unplaced += left
				break
			}
			a.Count[kind]++
			room := in.Kinds[kind].Room
			n := d.Asks.CountIn(room, left)
			open = append(open, bin{kind, room.Minus(d.Asks.Times(n))})
			left -= n
		}
	}
	return a
}
