package packing

import "math"

// prices are what pods are worth: a solution of the dual of a relaxed problem. They steer the choice of machines, and prove bounds.
type prices struct {
	// pod is by kind: no machine of any group can hold pods of more worth than it costs (in the relaxed problem). So every plan costs
	// at least the sum over all pods.
	pod []float64
	// weight is groups x dims: how scarce a dimension is on the group's machines; the weights of a group add up to 1.
	weight []float64
	// total is the sum of pod over all pods: a bound.
	total float64
}

// Rounds of [fluid]: at least, at most, and the work (kinds x groups x dims) between; so many times more with tolls; those that look at all
// groups before each kind keeps to its nearest ones; and how many are near.
const (
	fluidLeast = 40
	fluidMost  = 300
	fluidWork  = 3_000_000
	fluidTolls = 4
	fluidAll   = 8
	fluidNear  = 6
)

// rounds is how many rounds of [fluid] the instance is worth.
func (in *instance) rounds() int {
	return max(fluidLeast, min(fluidMost, fluidWork/max(1, in.kinds*in.groups*in.dims)))
}

// fluid prices pods as if they were water: a machine of group g may be filled to the brim in every dimension by parts of pods. The
// dual of that linear program gives each group weights w over dimensions; a pod is then worth
//
//	min over groups g that take it of cost(g) * sum over d of w(g,d) * request(d)/offer(g,d)
//
// and every choice of weights proves a bound. The weights rise by multiplicative steps: a dimension of which the pods that are cheapest on
// the group ask more than of the others becomes scarcer. The best prices of all rounds are returned. With tolls, which may be nil, machines
// cost these as well, and they rise with the weights until the bound says that no plan is cheaper than the one they know of.
func fluid(in *instance, count []int, rounds int, t *tolls) prices {
	w := make([]float64, in.groups*in.dims)
	for i := range w {
		w[i] = 1 / float64(max(1, in.dims))
	}
	best := prices{pod: make([]float64, in.kinds), weight: make([]float64, len(w)), total: -1}
	pod := make([]float64, in.kinds)
	rate := make([]float64, len(w)) // of one unit of a dimension on a group
	demand := make([]float64, len(w))
	near := make([]int32, 0, in.kinds*fluidNear)
	price := in.price
	for round := range rounds {
		all := round < fluidAll || round%fluidAll == 0 || round == rounds-1
		var total float64
		if t != nil {
			price, total = t.dear, -t.debt
		}
		for i := range w {
			rate[i] = float64(price[i/in.dims]*w[i]) * in.inverse[i]
			demand[i] = 0
		}
		remember := all && round >= fluidAll-1
		if remember {
			near = near[:0]
		}
		for c := range in.kinds {
			var g int
			switch {
			case all:
				pod[c], g = in.cheapest(c, rate)
				if remember {
					near = in.nearest(near, c, rate)
				}
			default:
				pod[c], g = math.Inf(1), -1
				for _, h := range near[c*fluidNear : (c+1)*fluidNear] {
					if v := in.rated(c, int(h), rate); v < pod[c] {
						pod[c], g = v, int(h)
					}
				}
			}
			n := float64(count[c])
			total += float64(n * pod[c])
			for d := range in.dims {
				demand[g*in.dims+d] += float64(n*in.share[c*in.dims+d]) * in.inverse[g*in.dims+d]
			}
		}
		if all && total > best.total {
			best.total = total
			copy(best.pod, pod)
			copy(best.weight, w)
		}
		if t != nil {
			if best.total >= t.cost {
				break
			}
			t.move(in, w, demand)
		}
		step := 0.9 / math.Sqrt(1+float64(round)/4)
		for g := range in.groups {
			ascend(w[g*in.dims:(g+1)*in.dims], demand[g*in.dims:(g+1)*in.dims], step)
		}
	}
	return best
}

// rated is what a pod of the kind is worth on the group.
func (in *instance) rated(c, g int, rate []float64) float64 {
	var v float64
	for d, r := range in.share[c*in.dims : (c+1)*in.dims] {
		v += float64(r * rate[g*in.dims+d])
	}
	return v
}

// cheapest is the least of [instance.rated] over the groups that take the kind, and the first group that has it.
func (in *instance) cheapest(c int, rate []float64) (float64, int) {
	least, of := math.Inf(1), -1
	for g := range in.groups {
		if in.takes[c].Has(g) {
			if v := in.rated(c, g, rate); v < least {
				least, of = v, g
			}
		}
	}
	return least, of
}

// nearest appends the fluidNear groups on which the kind is cheapest; where fewer take it, the last repeats.
func (in *instance) nearest(to []int32, c int, rate []float64) []int32 {
	var worth [fluidNear]float64
	var group [fluidNear]int32
	n := 0
	for g := range in.groups {
		if !in.takes[c].Has(g) {
			continue
		}
		v := in.rated(c, g, rate)
		i := n
		if n == fluidNear {
			if v >= worth[n-1] {
				continue
			}
			i = n - 1
		} else {
			n++
		}
		for ; i > 0 && worth[i-1] > v; i-- {
			worth[i], group[i] = worth[i-1], group[i-1]
		}
		worth[i], group[i] = v, int32(g)
	}
	for i := n; i < fluidNear; i++ {
		group[i] = group[n-1]
	}
	return append(to, group[:]...)
}

// ascend moves weights towards the dimensions that are asked for most. Groups that nobody asks keep theirs.
func ascend(w, demand []float64, step float64) {
	var most, mean float64
	for d, x := range demand {
		most = max(most, x)
		mean += float64(w[d] * x)
	}
	if most == 0 {
		return
	}
	var sum float64
	for d, x := range demand {
		w[d] = max(1e-6, w[d]*(1+float64(step*(x-mean))/most))
		sum += w[d]
	}
	for d := range w {
		w[d] /= sum
	}
}
