package economics

import "math"

// Expander chooses among what single groups could do, as cluster-autoscaler's expander of that name. The lowest score wins; of
// equals the first group by name, where cluster-autoscaler draws one.
type Expander struct {
	Name  string
	score func(kinds []Kind, o option, draw uint64) float64
}

// Expanders are those of cluster-autoscaler. Its price expander has no prices on Azure; here it has the list's, and weighs the cost of
// the machines against that of what the pods ask for, without the corrections for preferred sizes that other clouds have. Priority stands for
// an operator who ranks the groups by what a core costs.
var Expanders = []Expander{
	{"random", func(_ []Kind, o option, draw uint64) float64 { return float64(mix(draw ^ uint64(o.kind+1)<<32)) }},
	{"most-pods", func(_ []Kind, o option, _ uint64) float64 { return -float64(o.pods) }},
	{"least-waste", leastWaste},
	{"least-nodes", func(_ []Kind, o option, _ uint64) float64 { return float64(len(o.opened)) }},
	{"price", func(kinds []Kind, o option, _ uint64) float64 { return o.cost(kinds) / worth(kinds, o.placed) }},
	{"priority", func(kinds []Kind, o option, _ uint64) float64 {
		return kinds[o.kind].PriceUSDPerHour / float64(kinds[o.kind].Machine.Milli)
	}},
}

// even is the difference of scores that is none.
const even = 1e-9

// choose is the option that the expander keeps, -1 of none.
func (e Expander) choose(kinds []Kind, options []option, draw uint64) int {
	best, low, equals := -1, math.Inf(1), uint64(0)
	for i, o := range options {
		s := e.score(kinds, o, draw)
		switch {
		case best < 0 || s < low-even:
			best, low, equals = i, s, 1
		case s < low+even:
			if equals++; mix(draw<<8|uint64(i))%equals == 0 {
				best = i
			}
		}
	}
	return best
}

// leastWaste is the share of CPU plus the share of memory that nobody asks for, of the capacity of the machines to add.
func leastWaste(kinds []Kind, o option, _ uint64) float64 {
	var asked Vector
	for _, d := range o.placed {
		asked = asked.Plus(d.Asks.Times(d.Count))
	}
	have := kinds[o.kind].Machine.Times(len(o.opened))
	return 2 - float64(asked.Milli)/float64(have.Milli) - float64(asked.MiB)/float64(have.MiB)
}

func (o option) cost(kinds []Kind) float64 {
	return float64(len(o.opened)) * kinds[o.kind].PriceUSDPerHour
}

// worth is what the pods' resources would cost by the piece, at the cheapest price of each kind of machine that takes them.
func worth(kinds []Kind, demands []Demand) float64 {
	var sum float64
	for _, d := range demands {
		least := math.Inf(1)
		for i := range kinds {
			if kinds[i].Takes(d.Asks) {
				least = min(least, kinds[i].PriceUSDPerHour*portion(d.Asks, kinds[i].Room))
			}
		}
		sum += float64(d.Count) * least
	}
	return sum
}

// portion is the largest share of a machine that a pod asks for, of any resource.
func portion(asks, room Vector) float64 {
	p := max(float64(asks.Milli)/float64(room.Milli), float64(asks.MiB)/float64(room.MiB))
	if asks.GPU > 0 {
		p = max(p, float64(asks.GPU)/float64(room.GPU))
	}
	return p
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a number drawn
// from a seed.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
